"""One follower of the bus measurement: a process of its own, the standard library alone.

It does what it is told on stdin, one JSON object a line, and prints one JSON object for each: how many
requests were answered, in how many seconds, and (with one request under way at a time) how long each took.
Between two orders it heartbeats once a second and takes what is forwarded to it.
"""

import json
import os
import select
import socket
import sys
import time
from collections.abc import Callable
from typing import Any

from stores.process_birth import ProcessBirth

IDLE_BEAT_S = 1.0
LONGEST_ORDER_S = 30.0
CAPABILITIES = ["duplex-v1", "durable-follower-admission-v1"]
SENT_NS = "sent-ns "
"""How a forwarded text says when it was written, on the clock that all processes share."""


class BenchFollower:
    """One connection and what is measured on it."""

    def __init__(self, path: str, secret: str, name: str) -> None:
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.connect(path)
        self._socket.settimeout(LONGEST_ORDER_S)
        self._secret, self._name = secret, name
        self._instance = f"{os.getpid()}:{time.time_ns() // 1_000_000}"
        self._generation = ""
        self._target: dict[str, int] = {}
        self._numbers = 0
        self._rest = b""
        self._beats = 0
        self.forwarded: list[float] = []

    # -- lines ----------------------------------------------------------------------------------

    def line(self, kind: str, **more: Any) -> bytes:
        """A request with the next id."""
        self._numbers += 1
        said = {"kind": kind, "requestId": f"{self._name}:{self._numbers}", "auth": self._secret}
        if kind != "follower.register":
            said |= {
                "instanceId": self._instance,
                "registrationGeneration": self._generation,
                "sentAtMs": time.time_ns() // 1_000_000,
            }
        return json.dumps({**said, **more}, separators=(",", ":")).encode() + b"\n"

    def heartbeat(self) -> bytes:
        """I am here."""
        return self.line("follower.heartbeat")

    def call(self) -> bytes:
        """A typing sign: one in two seconds goes to Telegram, the gateway itself answers the others."""
        body = {**self._target, "action": "typing"}
        return self.line("follower.callApi", method="call", args=["sendChatAction", body])

    def registration(self) -> bytes:
        """Give me my thread, as after each change of leader."""
        self._generation = f"{self._name}:generation-{self._numbers}"
        registration = {
            "instanceId": self._instance,
            "connectedAtMs": time.time_ns() // 1_000_000,
            "profileKey": f"manual:{self._name}",
            "threadName": self._name,
            "pid": os.getpid(),
            "processBirthId": ProcessBirth.current().wire,
            "registrationGeneration": self._generation,
            "protocol": {
                "protocolVersion": 2,
                "runtimeBuild": "bench",
                "capabilities": CAPABILITIES,
            },
        }
        return self.line("follower.register", registration=registration)

    def say(self, lines: bytes) -> None:
        """Send lines; raises BlockingIOError or TimeoutError when nobody takes them."""
        self._socket.sendall(lines)

    def close(self) -> None:
        """Leave without a word."""
        self._socket.close()

    def patience(self, seconds: float) -> None:
        """From now on wait no longer than this for the socket."""
        self._socket.settimeout(seconds)

    def answers(self) -> list[bytes]:
        """At least one answer; forwards that come meanwhile are taken."""
        while True:
            chunk = self._socket.recv(1 << 16)
            if not chunk:
                raise SystemExit("the leader ended the connection")
            *lines, self._rest = (self._rest + chunk).split(b"\n")
            found = [line for line in lines if b'"kind":"leader.forward' not in line]
            for line in lines:
                if b'"kind":"leader.forward' in line:
                    self._take(json.loads(line))
            if found:
                return found
            if lines:
                return []

    def _take(self, forward: dict[str, Any]) -> None:
        delivery = forward["delivery"]
        receipt = {
            "deliveryId": delivery["deliveryId"],
            "sourceUpdateId": delivery["sourceUpdateId"],
        }
        ack = {"kind": "bus.ack", "requestId": forward["requestId"], "ok": True, "result": receipt}
        text = forward["message"].get("text", "")
        if text.startswith(SENT_NS):
            sent = int(text.removeprefix(SENT_NS))
            self.forwarded.append((time.monotonic_ns() - sent) / 1_000)
        self._socket.sendall(json.dumps(ack, separators=(",", ":")).encode() + b"\n")

    # -- orders ---------------------------------------------------------------------------------

    def register(self) -> None:
        """Register for the first time; raises AssertionError when the leader refuses."""
        self._socket.sendall(self.registration())
        lines: list[bytes] = []
        while not lines:
            lines = self.answers()
        ack = json.loads(lines[0])
        assert ack["ok"], ack
        self._target = {"chat_id": ack["result"]["chatId"]}
        if "threadId" in ack["result"]:
            self._target["message_thread_id"] = ack["result"]["threadId"]

    def ask(self, request: Callable[[], bytes], seconds: float, window: int) -> dict[str, Any]:
        """Keep so many requests under way for so long."""
        while self._beats:
            self._beats -= len(self.answers())
        took: list[float] = []
        began = time.monotonic_ns()
        end = began + int(seconds * 1e9)
        answered, open_requests = 0, window
        sent = time.monotonic_ns()
        self._socket.sendall(b"".join(request() for _ in range(window)))
        while open_requests:
            count = len(self.answers())
            now = time.monotonic_ns()
            answered += count
            open_requests -= count
            if window == 1 and count:
                took.append((now - sent) / 1_000)
            if now < end and count:
                sent = time.monotonic_ns()
                self._socket.sendall(b"".join(request() for _ in range(count)))
                open_requests += count
        return {"answered": answered, "took_us": took, "span_ns": [began, time.monotonic_ns()]}

    def take(self, count: int) -> dict[str, Any]:
        """Take so many forwards."""
        self.forwarded.clear()
        began = time.monotonic()
        while len(self.forwarded) < count and time.monotonic() < began + LONGEST_ORDER_S:
            self.idle(select.select([self._socket], [], [], IDLE_BEAT_S)[0])
        return {"answered": len(self.forwarded), "took_us": self.forwarded}

    def idle(self, readable: list[Any]) -> None:
        """Nothing was ordered: take what came, or say that we are here."""
        if self._socket in readable:
            self._beats -= len(self.answers())
        elif not readable:
            self._beats += 1
            self._socket.sendall(self.heartbeat())

    def thread(self) -> dict[str, Any]:
        """Where it speaks."""
        return {"thread_id": self._target.get("message_thread_id")}

    def fileno(self) -> int:
        """For select."""
        return self._socket.fileno()


def main(path: str, secret: str, name: str) -> None:
    """Obey until stdin ends."""
    follower = BenchFollower(path, secret, name)
    requests = {
        "heartbeat": follower.heartbeat,
        "call": follower.call,
        "register": follower.registration,
    }
    if name != "floor":
        follower.register()
    print(json.dumps(follower.thread()), flush=True)
    while True:
        timeout = None if name == "floor" else IDLE_BEAT_S
        readable, _, _ = select.select([sys.stdin, follower._socket], [], [], timeout)
        if sys.stdin not in readable:
            follower.idle(readable)
            continue
        order = json.loads(sys.stdin.readline() or "null")
        if order is None:
            return
        if order["do"] == "take":
            done = follower.take(order["count"])
        else:
            done = follower.ask(requests[order["do"]], order["seconds"], order["window"])
        print(json.dumps(done), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
