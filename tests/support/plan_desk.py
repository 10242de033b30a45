"""A plan and its I/O object on one asyncio loop, without a mailbox around them.

What the plan sends is kept, and may be answered by the test at once; wakeups take their real time.
"""

import asyncio
import re
from collections.abc import Callable
from typing import Any

from actors.clock import system_now
from actors.plans.effects import Perform, Reply, Send, WakeAfter
from messages.envelope import Envelope


class PlanDesk:
    """Hand it messages; look at `said` and `replies`."""

    def __init__(
        self, plan: Any, io: Any, answer: Callable[[Any], Any] = lambda body: None
    ) -> None:
        self.plan = plan
        self.io = io
        self.said: list[Any] = []
        self.replies: dict[str, Any] = {}
        self._answer = answer
        self._letters = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._wakeups: dict[str, asyncio.TimerHandle] = {}

    def hear(self, body: Any, message_id: str = "", deadline: int | None = None) -> None:
        """A message arrives."""
        self._letters += 1
        name = re.sub(r"(?<!^)(?=[A-Z])", "_", body.KIND).lower()
        message_id = message_id or str(self._letters)
        envelope = Envelope(body, message_id, "desk", deadline=deadline)
        self._step(f"on_{name}", envelope)

    async def close(self) -> None:
        """End everything that is under way."""
        for pending in (*self._tasks, *self._wakeups.values()):
            pending.cancel()
        await self.io.close()

    def _step(self, handler: str, *arguments: Any) -> None:
        self.plan, effects = getattr(self.plan, handler)(*arguments, system_now())
        for effect in effects:
            match effect:
                case Send(body=body):
                    self.said.append(body)
                    answer = self._answer(body)
                    if answer is not None:
                        asyncio.get_running_loop().call_soon(self.hear, answer)
                case Reply(command_id=command_id, body=body):
                    self.replies[command_id] = body
                case Perform():
                    self._start(self._perform(effect))
                case WakeAfter(reason=reason, delay_ms=delay_ms):
                    self._wake_after(reason, delay_ms)

    def _wake_after(self, reason: str, delay_ms: int) -> None:
        if reason in self._wakeups:
            self._wakeups[reason].cancel()
        self._wakeups[reason] = asyncio.get_running_loop().call_later(
            delay_ms / 1_000, self._step, f"on_wakeup_{reason}"
        )

    def _start(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _perform(self, effect: Perform) -> None:
        value = await getattr(self.io, f"perform_{effect.operation}")(**effect.arguments)
        self._step(f"on_performed_{effect.operation}", effect.operation_id, value)
