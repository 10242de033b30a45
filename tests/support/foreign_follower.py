"""A follower of another make: written from the contract alone, with the standard library and nothing of ours.

It speaks protocol 1: one connection a request, one JSON object a line, and a socket of its own on which the
leader forwards to it. What it is told it answers with the exact receipt, or as the test says.
"""

import contextlib
import json
import os
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROTOCOL = {
    "protocolVersion": 1,
    "runtimeBuild": "foreign 1",
    "capabilities": ["durable-follower-admission-v1"],
}
WAIT_S = 30.0
Answer = Callable[[dict[str, Any]], dict[str, Any] | None]


def receipt(request: dict[str, Any]) -> dict[str, Any] | None:
    """Taken: the receipt names exactly this delivery; anything else is simply agreed to."""
    ack: dict[str, Any] = {"kind": "bus.ack", "requestId": request["requestId"], "ok": True}
    if "delivery" in request:
        delivery = request["delivery"]
        ack["result"] = {
            "deliveryId": delivery["deliveryId"], "sourceUpdateId": delivery["sourceUpdateId"],
        }
    return ack


class ForeignFollower:
    """One peer; `heard` is what the leader sent to its socket, oldest first."""

    def __init__(
        self, leader: str, secret: str, directory: Path, name: str, pid: int | None = None
    ) -> None:
        self.leader, self.secret = leader, secret
        self.pid = os.getpid() if pid is None else pid
        self.instance = f"{self.pid}:{time.time_ns() // 1_000_000}"
        self.profile = f"manual:foreign-{name}"
        self.name = name
        self.generation = ""
        self.result: dict[str, Any] = {}
        self.heard: list[dict[str, Any]] = []
        self.answer: Answer = receipt
        self._requests = 0
        self._path = directory / f"{name}-{time.time_ns() % 1_000_000}.sock"
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._listener.bind(str(self._path))
        self._listener.listen()
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def __enter__(self) -> "ForeignFollower":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def close(self) -> None:
        """Listen no more."""
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        self._thread.join(5)
        self._path.unlink(missing_ok=True)

    # -- to the leader --------------------------------------------------------------------------

    def next_id(self) -> str:
        """A request id that was not used before."""
        self._requests += 1
        return f"{self.instance}:{self._requests}"

    def registration(self, **changed: Any) -> dict[str, Any]:
        """A register request with a new generation, which is its request id too."""
        generation = self.next_id()
        registration = {
            "instanceId": self.instance,
            "connectedAtMs": time.time_ns() // 1_000_000,
            "profileKey": self.profile,
            "threadName": self.name,
            "pid": self.pid,
            "busSocketPath": str(self._path),
            "registrationGeneration": generation,
            "protocol": PROTOCOL,
            **changed,
        }
        return {
            "kind": "follower.register", "requestId": generation, "auth": self.secret,
            "registration": registration,
        }

    def register(self, **changed: Any) -> dict[str, Any]:
        """Register; an ok ack makes its generation this follower's."""
        request = self.registration(**changed)
        ack = self.say(request)
        if ack["ok"]:
            self.generation, self.result = request["requestId"], ack["result"]
        return ack

    def ask(self, kind: str, **fields: Any) -> dict[str, Any]:
        """One request of this registration, and its ack."""
        return self.say(self.request(kind, **fields))

    def request(self, kind: str, **fields: Any) -> dict[str, Any]:
        """A request of this registration."""
        return {
            "kind": kind,
            "requestId": self.next_id(),
            "auth": self.secret,
            "instanceId": self.instance,
            "registrationGeneration": self.generation,
            "sentAtMs": time.time_ns() // 1_000_000,
            **fields,
        }

    def call(self, method: str, **body: Any) -> dict[str, Any]:
        """A Bot API call in the own thread."""
        place = {"chat_id": self.result["chatId"], "message_thread_id": self.result["threadId"]}
        return self.ask("follower.callApi", method="call", args=[method, {**place, **body}])

    def say(self, request: dict[str, Any]) -> dict[str, Any]:
        """Connect, write one line, read one line, close."""
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
            peer.settimeout(WAIT_S)
            peer.connect(self.leader)
            peer.sendall(json.dumps(request).encode() + b"\n")
            with peer.makefile("rb") as lines:
                return json.loads(lines.readline())

    # -- from the leader ------------------------------------------------------------------------

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self._listener.accept()
            except OSError:
                return
            with peer, contextlib.suppress(OSError, ValueError):
                self._hear(peer)

    def _hear(self, peer: socket.socket) -> None:
        peer.settimeout(WAIT_S)
        with peer.makefile("rb") as lines:
            for line in lines:
                request = json.loads(line)
                self.heard.append(request)
                answer = self.answer(request)
                if answer is not None:
                    peer.sendall(json.dumps(answer).encode() + b"\n")
