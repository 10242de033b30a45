"""The smallest actors that show what the floor promises; only the floor's tests start them."""

import json
import os
import signal
import time

from thespian.actors import Actor, ChildActorExited, PoisonMessage, ThespianWatch, WatchMessage

from actors.transport import MessageTooLarge
from actors.tree_channel import line, tree_channel


class Echo(Actor):
    """Sends every dict back; says its pid; grows a child."""

    child = None

    def receiveMessage(self, message, sender):
        match message:
            case {"want": "pid"}:
                self.send(sender, {"pid": os.getpid()})
            case {"want": "child"}:
                self.child = self.createActor(Echo)
                self.send(self.child, {"want": "pid"})
                self.asker = sender
            case {"want": "child's answer", **rest}:
                self.asker = sender
                self.send(self.child, rest)
            case {"want": "oversize", "size": size}:
                try:
                    self.send(sender, {"body": b"x" * size})
                except MessageTooLarge as refusal:
                    self.send(sender, {"refused": refusal.size})
            case PoisonMessage():
                self.poisoned = True
            case dict():
                self.send(self.asker if sender == self.child else sender, message)


class Bereaved(Actor):
    """Kills its children, the second while it hears of the first; tells how many ends it heard of."""

    def receiveMessage(self, message, sender):
        match message:
            case {"children": number}:
                self.asker, self.pids, self.heard, self.asked = sender, [], 0, False
                for _ in range(number):
                    self.send(self.createActor(Echo), {"want": "pid"})
                self.awaited = number
            case {"pid": pid}:
                self.pids.append(pid)
                if len(self.pids) == self.awaited:
                    self._kill_one()
            case ChildActorExited():
                self.heard += 1
                if self.pids:
                    self._kill_one()
            case {"want": "heard"}:
                self.send(sender, {"heard": self.heard})

    def _kill_one(self):
        pid = self.pids.pop()
        os.kill(pid, signal.SIGKILL)
        # Dead, and not yet noticed by anybody.
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        if not self.asked:
            self.asked = True
            self.send(self.asker, {"killed": True})


class Ping(Actor):
    """Plays ping-pong with a child and tells the rounds per second."""

    def receiveMessage(self, message, sender):
        match message:
            case {"rounds": rounds, "size": size}:
                self.asker, self.rounds, self.done = sender, rounds, 0
                self.ball = {"ball": b"x" * size}
                self.other = self.createActor(Echo)
                self.send(self.other, self.ball)
            case {"ball": _}:
                if not self.done:
                    self.began = time.perf_counter()
                self.done += 1
                if self.done > self.rounds:
                    per_second = self.rounds / (time.perf_counter() - self.began)
                    self.send(self.asker, {"per_second": per_second})
                else:
                    self.send(self.other, self.ball)


class Crossing(Actor):
    """Two of these shower each other with numbers at the same time and count what arrives."""

    def receiveMessage(self, message, sender):
        match message:
            case {"shower": count}:
                self.asker, self.seen, self.count = sender, set(), count
                self.other = self.createActor(Crossing)
                self.send(self.other, {"answer": count})
                for number in range(count):
                    self.send(self.other, {"number": number})
            case {"answer": count}:
                self.asker, self.seen, self.count = None, set(), count
                for number in range(count):
                    self.send(sender, {"number": number})
            case {"number": number}:
                self.seen.add(number)
                if len(self.seen) == self.count:
                    if self.asker is None:
                        self.send(sender, {"seen": self.count})
                    else:
                        self.own = True
                        self.finish()
            case {"seen": _}:
                self.others = True
                self.finish()

    own = others = False

    def finish(self):
        if self.own and self.others:
            self.send(self.asker, {"all": self.count})


class FloorLeader(Actor):
    """A Leader with one child and one grandchild that reports and obeys on the tree channel."""

    pids: list[int] = []

    def receiveMessage(self, message, sender):
        match message:
            case {"kind": "ConfigureLeader", "body": {"settings": settings}}:
                self.channel = tree_channel()
                self.channel.send(line("configured", settings))
                self.child = self.createActor(Echo)
                self.send(self.child, {"want": "pid"})
                self.send(self.child, {"want": "child"})
            case {"pid": pid}:
                self.pids = [*self.pids, pid]
                if len(self.pids) == 2:
                    self.channel.send(line("serving", {"pids": self.pids}))
            case WatchMessage():
                for command in map(json.loads, self.channel.recv(4096).splitlines()):
                    self.obey(command)
        return ThespianWatch([self.channel.fileno()])

    def obey(self, command):
        match command:
            case {"name": "stop"}:
                self.channel.send(line("stopped", {}))
            case {"name": "ignore stops"}:
                self.obey = lambda command: None
                self.channel.send(line("ignoring", {}))
            case {"name": "echo", "body": body}:
                self.channel.send(line("echoed", body))
