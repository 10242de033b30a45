"""What a plan may ask for: frozen values, performed by the base actor and by nobody else.

They are performed in the order of `RANK`: every Write first, so that nothing is visible before it is
durable; then children, then what others see, then wakeups, and stops last.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any


@dataclasses.dataclass(frozen=True, slots=True)
class Write:
    """Call `store.method(**arguments)`; all Writes of a step share one transaction of their database."""

    store: str
    method: str
    arguments: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class StartChild:
    """Start the actor of this key; `incarnation` tells its lives apart."""

    key: str
    incarnation: int


@dataclasses.dataclass(frozen=True, slots=True)
class Send:
    """Say `body` to the peer `to`.

    `message_id` is None for one made by the base. A command (a kind with answers) is sent again with
    the same id while it is unanswered and `resend` is set; at its deadline, in milliseconds from now, the
    plan is told that it went unanswered.
    """

    to: str
    body: Any
    message_id: str | None = None
    deadline_ms: int = 10_000
    resend: bool = True


@dataclasses.dataclass(frozen=True, slots=True)
class Reply:
    """Answer the command of this message id."""

    command_id: str
    body: Any


@dataclasses.dataclass(frozen=True, slots=True)
class Perform:
    """Do something slow beside the mailbox; the result comes back as `on_performed_<operation>`."""

    operation: str
    operation_id: str
    arguments: Mapping[str, Any]


@dataclasses.dataclass(frozen=True, slots=True)
class Notify:
    """Record an event in the log; `fields` are scalars."""

    action: str
    fields: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    level: str = "INFO"


@dataclasses.dataclass(frozen=True, slots=True)
class WakeAfter:
    """Wake the plan in `delay_ms`; a later wakeup of the same reason replaces this one."""

    reason: str
    delay_ms: int


@dataclasses.dataclass(frozen=True, slots=True)
class Introduce:
    """Tell the children `to` the present addresses of `keys` and of this actor."""

    to: tuple[str, ...]
    keys: tuple[str, ...]


@dataclasses.dataclass(frozen=True, slots=True)
class StopChild:
    """Ask the child of this key to exit; a plan that must be sure kills it after a deadline of its own."""

    key: str


@dataclasses.dataclass(frozen=True, slots=True)
class KillChild:
    """SIGKILL the child of this key: it is stuck, stopped, or had its time to exit."""

    key: str


Effect = (
    Write
    | StartChild
    | Introduce
    | Send
    | Reply
    | Perform
    | Notify
    | WakeAfter
    | StopChild
    | KillChild
)
Effects = tuple[Effect, ...]

RANK: Mapping[type, int] = {
    Write: 0,
    StartChild: 1,
    Introduce: 2,
    Send: 2,
    Reply: 2,
    Perform: 2,
    Notify: 2,
    WakeAfter: 3,
    StopChild: 4,
    KillChild: 4,
}


def in_order(effects: Effects) -> list[Effect]:
    """The effects in the order in which they are performed; equal ranks keep the plan's order."""
    return sorted(effects, key=lambda effect: RANK[type(effect)])


@dataclasses.dataclass(frozen=True, slots=True)
class Now:
    """The instant of a decision: `wall` for people and Telegram, `boot` for ages and deadlines (ms)."""

    wall: int
    boot: int
