"""A deterministic stage: real actors without Thespian's processes, one thread, one clock.

It stands in for what an actor knows of Thespian, its `_myRef` (`address`, `actor_send`, `createActor`,
`wakeupAfter`, `_child_procs`), and promises: messages are pickled on the way, so nothing is shared;
they arrive in the order in which they were sent, until a fault rule of the test says otherwise; wakeups
arrive when the test moves the clock; an actor that dies takes the messages under way to it along, and
its parent hears of it.

A test that ends must have seen everything: a handler that raised, an unknown kind, a dead letter, a
handler that blocked, or a fault rule that never fired fails it, unless it was expected.
"""

import dataclasses
import heapq
import importlib
import itertools
import os
import pickle
import signal
from collections.abc import Mapping
from typing import Any

from thespian.actors import ActorExitRequest, ChildActorExited, WatchMessage

from messages.actor import ConfigureChild, PeersIntroduced
from messages.envelope import Envelope
from tests.support.fault_rules import Fault, FaultRules, Rule
from tests.support.handler_watch import HandlerWatch
from tests.support.loop_script import LoopScript
from tests.support.manual_clock import ManualClock
from tests.support.peer import UNBORN, Peer, Script
from tests.support.stage_log import StageLog
from tests.support.stage_part import FIRST_PID, KilledHere, Part, StageAddress

LONGEST_PLAY = 5_000
"""More deliveries than this without an end are two actors talking in circles."""


@dataclasses.dataclass
class Flight:
    """A message under way."""

    sender: StageAddress
    target: StageAddress
    pickled: bytes
    kind: str


@dataclasses.dataclass
class Role:
    """Whoever is created for one class, played by the test: one peer for each life."""

    script: Mapping[str, Script]
    peers: list[Peer] = dataclasses.field(default_factory=list)

    @property
    def peer(self) -> Peer:
        """The one that lives now, or lived last."""
        return self.peers[-1]

    def of(self, key: str) -> Peer:
        """The last one that was configured with this key."""
        return [peer for peer in self.peers if peer.key == key][-1]


class Stage:
    """One play. Use it as a context: at the end it complains about what nobody expected."""

    def __init__(self, clock: ManualClock | None = None) -> None:
        self.clock = clock or ManualClock()
        self.log = StageLog()
        self.numbers = itertools.count(1)
        self.operations: dict[str, Any] = {}
        self.rules = FaultRules()
        self.vanished: list[str] = []
        self._players: dict[int, Part | Peer] = {}
        self._cast: dict[str, Role] = {}
        self._under_way: list[Flight] = []
        self._held: list[Flight] = []
        self._later: list[tuple[int, int, Flight]] = []
        self._order = itertools.count()
        self._playing: Part | None = None
        self.director = self.peer("director")

    def __enter__(self) -> "Stage":
        self.log.open()
        return self

    def __exit__(self, kind: Any, failure: Any, trace: Any) -> None:
        self.log.close()
        for player in self._players.values():
            if isinstance(player, Part):
                player.put_away()
        if kind is None:
            complaints = self.log.complaints()
            complaints += [f"never fired: {rule}" for rule in self.rules.idle()]
            assert not complaints, "\n".join(complaints)

    # -- casting --------------------------------------------------------------------------------

    def start(
        self,
        actor_class: type,
        key: str,
        settings: Mapping[str, Any] | None = None,
        *,
        incarnation: int = 1,
        peers: tuple[Peer, ...] = (),
        operations: Mapping[str, Any] | None = None,
        io: Any = None,
    ) -> Part:
        """Create a real actor, configure it and let it know these peers."""
        part = self.create(actor_class, parent=self.director)
        self.operations = dict(operations or {})
        if io is not None:
            part.actor.make_io = lambda settings: io
        first = ConfigureChild(key=key, incarnation=incarnation, settings=dict(settings or {}))
        self.director.tell(part, first, key=key, incarnation=incarnation)
        self.run()
        if peers:
            self.introduce(part, *peers)
        return part

    def create(self, actor_class: Any, parent: Any = None) -> Part | Peer:
        """Create an actor and say nothing to it yet."""
        if isinstance(actor_class, str):
            role = self._cast.get(actor_class)
            if role is not None:
                player = self.peer(UNBORN, role.script)
                player.parent = parent
                role.peers.append(player)
                return player
            module, _, name = actor_class.rpartition(".")
            actor_class = getattr(importlib.import_module(module), name)
        self.log.hook()
        part = Part(self, parent, actor_class)
        self._players[part.address.number] = part
        return part

    def peer(self, key: str, script: Mapping[str, Script] | None = None) -> Peer:
        """A peer that the test plays."""
        player = Peer(self, key, dict(script or {}))
        self._give_address(player)
        return player

    def cast(self, class_name: str, script: Mapping[str, Script] | None = None) -> Role:
        """Whenever an actor creates a child of this class, let the test play it."""
        role = Role(dict(script or {}))
        self._cast[class_name] = role
        return role

    def introduce(self, part: Part, *peers: Any) -> None:
        """Tell an actor where these peers live."""
        known = {
            player.key: {"incarnation": _incarnation(player), "address": player.address}
            for player in peers
        }
        self.director.tell(part, PeersIntroduced(peers=known), deadline_ms=None)
        self.run()

    def replace(self, peer: Peer) -> None:
        """The peer was killed and lives again at another address, as the next incarnation."""
        self._players.pop(peer.address.number)
        peer.incarnation += 1
        self._give_address(peer)

    def _give_address(self, peer: Peer) -> None:
        peer.address = StageAddress(next(self.numbers))
        peer.pid = FIRST_PID + peer.address.number
        self._players[peer.address.number] = peer

    # -- playing --------------------------------------------------------------------------------

    def ask(self, part: Part, body: Any, **more: Any) -> Envelope | None:
        """The director asks; the answer, None when there is none (yet)."""
        command_id = self.director.tell(part, body, **more)
        self.run()
        return self.director.answers.get(command_id)

    def run(self) -> None:
        """Deliver until nothing is under way."""
        for _ in range(LONGEST_PLAY):
            if not self.deliver_one():
                return
        raise AssertionError(f"after {LONGEST_PLAY} deliveries there is no end")

    def deliver_one(self) -> bool:
        """Deliver the next message; False when there is none."""
        if not self._under_way:
            self._under_way, self._held = self._held, []
        if not self._under_way:
            return False
        flight = self._under_way.pop(0)
        player = self._players.get(flight.target.number)
        if player is not None and self.rules.firing(
            flight.kind, player.key, Fault.KILL_RECEIVER
        ):
            self.kill(player)
        self._deliver(flight)
        return True

    def advance(self, milliseconds: int) -> None:
        """Let time pass; what becomes due on the way is delivered at its instant."""
        self.run()
        end = self.clock.boot + milliseconds
        while self._later and self._later[0][0] <= end:
            due, _, flight = heapq.heappop(self._later)
            self.clock.move(max(0, due - self.clock.boot))
            self._under_way.append(flight)
            self.run()
        self.clock.move(end - self.clock.boot)

    def kill(self, player: Part | Peer) -> None:
        """SIGKILL: no handler runs, the messages under way to it vanish, the parent hears of it."""
        self._end(player, killed=True)
        if player is self._playing:
            raise KilledHere()

    def end(self, part: Part) -> None:
        """Ask an actor to exit, and let it."""
        self.send(self.director.address, part.address, ActorExitRequest())
        self.run()

    def player_at(self, address: Any) -> Part | Peer:
        """Whoever lives, or lived, there."""
        return self._players[address.number]

    def signal_process(self, pid: int, number: int) -> None:
        """What an actor does to its children."""
        assert number == signal.SIGKILL
        for player in list(self._players.values()):
            if player.pid == pid:
                self.kill(player)

    # -- faults ---------------------------------------------------------------------------------

    def drop(self, kind: str | None = None, to: str | None = None, **more: Any) -> Rule:
        """Lose a message."""
        return self.rules.add(Rule(Fault.DROP, kind, to, **more))

    def duplicate(self, kind: str | None = None, to: str | None = None, **more: Any) -> Rule:
        """Deliver a message twice."""
        return self.rules.add(Rule(Fault.DUPLICATE, kind, to, **more))

    def delay(self, delay_ms: int, kind: str | None = None, to: str | None = None, **more: Any) -> Rule:
        """Deliver a message later."""
        return self.rules.add(Rule(Fault.DELAY, kind, to, delay_ms=delay_ms, **more))

    def reorder(self, kind: str | None = None, to: str | None = None, **more: Any) -> Rule:
        """Let the next message to the same receiver overtake it."""
        return self.rules.add(Rule(Fault.REORDER, kind, to, **more))

    def kill_sender(self, kind: str | None = None, to: str | None = None, **more: Any) -> Rule:
        """Kill whoever is about to send it."""
        return self.rules.add(Rule(Fault.KILL_SENDER, kind, to, **more))

    def kill_receiver(self, kind: str | None = None, to: str | None = None, **more: Any) -> Rule:
        """Kill whoever is about to hear it."""
        return self.rules.add(Rule(Fault.KILL_RECEIVER, kind, to, **more))

    # -- under way ------------------------------------------------------------------------------

    def send(self, sender: StageAddress, target: Any, message: Any) -> None:
        """Put a message on its way, as the rules will have it; of a bundle each envelope by itself."""
        if isinstance(message, list):
            for plain in message:
                self.send(sender, target, plain)
            return
        kind = _kind(message)
        receiver = self._players.get(target.number)
        to = receiver.key if receiver is not None else "?"
        if self.rules.firing(kind, to, Fault.KILL_SENDER):
            self.kill(self._players[sender.number])
            return
        flight = Flight(sender, target, pickle.dumps(message), kind)
        rule = self.rules.firing(
            kind, to, Fault.DROP, Fault.DUPLICATE, Fault.DELAY, Fault.REORDER
        )
        if rule is None:
            self._under_way.append(flight)
            self._release_held(target)
        elif rule.fault is Fault.DUPLICATE:
            self._under_way += [flight, flight]
        elif rule.fault is Fault.DELAY:
            self._push(self.clock.boot + rule.delay_ms, flight)
        elif rule.fault is Fault.REORDER:
            self._held.append(flight)
        else:
            self.vanished.append(kind)

    def send_at(
        self, due: int, sender: StageAddress, target: StageAddress, message: Any
    ) -> None:
        """Put a message on its way when the clock says so."""
        self._push(due, Flight(sender, target, pickle.dumps(message), _kind(message)))

    def announce(self, part: Part, fileno: int = LoopScript.fileno) -> None:
        """Something waits on the loop of this actor, or on another descriptor that it watches."""
        ready = WatchMessage([fileno])
        flight = Flight(part.address, part.address, pickle.dumps(ready), "WatchMessage")
        self._under_way.append(flight)

    def _push(self, due: int, flight: Flight) -> None:
        heapq.heappush(self._later, (due, next(self._order), flight))

    def _release_held(self, target: StageAddress) -> None:
        released = [flight for flight in self._held if flight.target == target]
        self._held = [flight for flight in self._held if flight.target != target]
        self._under_way += released

    def _deliver(self, flight: Flight) -> None:
        player = self._players.get(flight.target.number)
        if isinstance(player, Peer):
            player.receive(pickle.loads(flight.pickled), flight.sender)
        elif player is not None and player.alive:
            self._play(player, pickle.loads(flight.pickled), flight)
        elif player is None or player.killed or flight.kind in ("WakeupMessage", "WatchMessage"):
            self.vanished.append(flight.kind)
        else:
            self.log.write(
                "stage.dead_letter", "ERROR", False, {"kind": flight.kind, "to": player.key}
            )

    def _play(self, part: Part, message: Any, flight: Flight) -> None:
        self._playing = part
        watch = HandlerWatch()
        try:
            part.actor.receiveMessage(message, flight.sender)
        except KilledHere:
            pass
        finally:
            self._playing = None
        # Stores are opened while a child is configured; nobody waits for its answers yet.
        if flight.kind != "ConfigureChild" and watch.blocked():
            self._slow(part, flight.kind, watch.elapsed_ms())
        if isinstance(message, ActorExitRequest) and part.alive:
            self._end(part, killed=False)

    def _slow(self, part: Part, kind: str, milliseconds: int) -> None:
        action = "stage.slow_handler"
        if os.environ.get("STAGE_SLOW_HANDLERS") == "warn":
            action += "_seen"
        self.log.write(action, "ERROR", False, {"to": part.key, "kind": kind, "ms": milliseconds})

    def _end(self, player: Part | Peer, killed: bool) -> None:
        if isinstance(player, Part):
            if not player.alive:
                return
            player.alive, player.killed = False, killed
            # The kernel ends children with their parent, and Thespian asks them to exit.
            for child in list(self._players.values()):
                if getattr(child, "parent", None) is player:
                    self._end(child, killed)
            player.put_away()
        else:
            self._players.pop(player.address.number, None)
        parent = getattr(player, "parent", None)
        if parent is not None:
            self.send(player.address, parent.address, ChildActorExited(player.address))


def _kind(message: Any) -> str:
    if isinstance(message, dict):
        return str(message.get("kind"))
    return type(message).__name__


def _incarnation(player: Part | Peer) -> int:
    return player.actor.incarnation if isinstance(player, Part) else player.incarnation
