"""A stand-in for a leader's endpoint: a real Unix socket, real lines, and answers as the test says.

By default it answers like a leader with one follower. A test replaces the answer to a kind with a
function of the request that returns an Ack, None (never answer) or DROP (close the connection).
"""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from actors.bus_line import LineReader
from messages.bus import Ack, Envelope, dump, forward, parse_line
from messages.bus_protocol import OURS

DROP = object()

Answer = Callable[[Any], Any]


class ScriptedLeader:
    """Listens from `async with` on; what it heard is in `received`."""

    def __init__(self, directory: Path, secret: str = "s" * 43) -> None:
        self.path = str(directory / f"leader-{os.urandom(4).hex()}.sock")
        self.secret = secret
        self.target: dict[str, Any] = {
            "chatId": 5, "threadId": 6, "slot": "B", "threadName": "api · echo"
        }
        self.received: list[Any] = []
        self.answers: dict[str, Answer] = {
            "follower.register": lambda request: Ack(
                request_id=request.request_id, ok=True, result=self.target, protocol=OURS
            ),
            "follower.heartbeat": lambda request: Ack(
                request_id=request.request_id, ok=True, result={"eligibleElectionSlots": ["B"]}
            ),
            "follower.disconnect": lambda request: Ack(request_id=request.request_id, ok=True),
            "follower.callApi": lambda request: Ack(
                request_id=request.request_id, ok=True, result={"message_id": 77}
            ),
        }
        self._writers: set[asyncio.StreamWriter] = set()
        self._pushed: dict[str, asyncio.Future[Ack]] = {}
        self._pushes = 0

    async def __aenter__(self) -> "ScriptedLeader":
        self._server = await asyncio.start_unix_server(self._serve, self.path)
        return self

    async def __aexit__(self, *_: Any) -> None:
        self._server.close()
        self.drop()

    def heard(self, kind: str) -> list[Any]:
        """The requests of this kind, oldest first."""
        return [one for one in self.received if one.KIND == kind]

    def answer(self, kind: str, *answers: Any) -> None:
        """Answer the next requests of a kind like this, and the ones after as before."""
        usual, queue = self.answers[kind], list(answers)

        def scripted(request: Any) -> Any:
            if not queue:
                return usual(request)
            following = queue.pop(0)
            return following(request) if callable(following) else following

        self.answers[kind] = scripted

    def drop(self) -> None:
        """Close every connection, like a leader that was killed."""
        for writer in list(self._writers):
            writer.transport.abort()
        self._writers.clear()

    async def push(self, envelope: Envelope) -> Ack:
        """Send a request down the newest connection; returns its answer."""
        answer = asyncio.get_running_loop().create_future()
        self._pushed[envelope.request_id] = answer
        next(reversed(list(self._writers))).write(dump(envelope))
        return await asyncio.wait_for(answer, 5)

    async def forward(self, update_id: int = 9, **changes: Any) -> Ack:
        """Forward a message to the follower that registered last."""
        registration = self.heard("follower.register")[-1].registration
        self._pushes += 1
        fields: dict[str, Any] = {
            "request_id": f"f{self._pushes}",
            "auth": self.secret,
            "instance_id": registration.instance_id,
            "generation": registration.registration_generation,
            "binding_key": registration.profile_key,
            "update_id": update_id,
            "carrier": {"text": "hi"},
            "now": 1,
        }
        return await self.push(forward("leader.forwardMessage", **{**fields, **changes}))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        lines = LineReader(reader)
        try:
            while isinstance(line := await lines.next(), bytes):
                self._hear(parse_line(line), writer)
        except ConnectionError:
            pass
        finally:
            self._writers.discard(writer)
            writer.transport.abort()

    def _hear(self, envelope: Any, writer: asyncio.StreamWriter) -> None:
        if isinstance(envelope, Ack):
            self._pushed.pop(envelope.request_id).set_result(envelope)
            return
        self.received.append(envelope)
        answer = self.answers[envelope.KIND](envelope)
        if answer is DROP:
            writer.transport.abort()
        elif answer is not None:
            writer.write(dump(answer))
