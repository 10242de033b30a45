"""The list of Bot API calls in the order they came, for tests that prove who called what and when.

In memory, the last ten thousand. The token is never part of it.
"""

from __future__ import annotations

import time
from collections import Counter, deque
from dataclasses import dataclass, field
from typing import Any

MOST_CALLS = 10_000
_LONGEST_VALUE = 8_192


@dataclass(slots=True)
class Call:
    """One call; `ok` is None while it is under way."""

    seq: int
    method: str
    params: dict[str, str]
    peer_port: int | None
    began_at: int
    began_monotonic: int
    overlapped: list[int]
    ended_at: int | None = None
    ended_monotonic: int | None = None
    ok: bool | None = None
    error_code: int | None = None
    description: str | None = None
    outcome: str = "running"

    def end(
        self,
        outcome: str,
        error_code: int | None = None,
        description: str | None = None,
    ) -> None:
        """`outcome` is "answered", "dropped" (by a fault) or "gone" (the caller went away)."""
        if self.ended_at is not None:
            return
        self.ended_at, self.ended_monotonic = _wall_ms(), _monotonic_ms()
        self.outcome = outcome
        self.ok = outcome == "answered" and error_code is None
        self.error_code, self.description = error_code, description

    def shown(self) -> dict[str, Any]:
        return {
            "seq": self.seq,
            "method": self.method,
            "params": self.params,
            "peer_port": self.peer_port,
            "at_ms": self.began_at,
            "at_monotonic_ms": self.began_monotonic,
            "ended_at_ms": self.ended_at,
            "ended_at_monotonic_ms": self.ended_monotonic,
            "overlapped": self.overlapped,
            "outcome": self.outcome,
            "ok": self.ok,
            "error_code": self.error_code,
            "description": self.description,
        }


@dataclass
class CallLog:
    calls: deque[Call] = field(default_factory=lambda: deque(maxlen=MOST_CALLS))
    counts: Counter[str] = field(default_factory=Counter)
    last_seq: int = 0
    _running: list[Call] = field(default_factory=list)

    def begin(self, method: str, params: dict[str, str], peer_port: int | None) -> Call:
        """`overlapped` names the calls of the same method that had not ended by now."""
        self._running = [each for each in self._running if each.ended_at is None]
        self.last_seq += 1
        self.counts[method] += 1
        call = Call(
            seq=self.last_seq,
            method=method,
            params={name: value[:_LONGEST_VALUE] for name, value in params.items()},
            peer_port=peer_port,
            began_at=_wall_ms(),
            began_monotonic=_monotonic_ms(),
            overlapped=[each.seq for each in self._running if each.method == method],
        )
        self.calls.append(call)
        self._running.append(call)
        return call

    def since(self, seq: int, method: str = "") -> list[dict[str, Any]]:
        wanted = method.lower()
        return [
            call.shown()
            for call in self.calls
            if call.seq > seq and wanted in ("", call.method.lower())
        ]


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


def _monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000
