"""What the FollowerRegistry decides: who is registered, and what each request on the bus gets.

Order of checks (leader.md 2): response or request, secret, then by kind: a registration is checked for
compatibility and generation and goes through the follower's mutation; everything else needs a live entry
with exactly that generation. Relays and API calls are in files of their own; this one holds the state.
"""

import dataclasses
import hmac
from collections.abc import Mapping
from typing import Any

from actors.plans import api_calls, relaying
from actors.plans.bus_request import Asked, BusRequest, Waiting
from actors.plans.effects import (
    Effects,
    Introduce,
    Notify,
    Now,
    Perform,
    Reply,
    Send,
    StartChild,
    WakeAfter,
    Write,
)
from actors.plans.relays import RELAY_DEADLINE_MS, Relay
from actors.plans.roster import Follower, Roster
from messages.actor import CommandFailed, ConfigureChild
from messages.bus import (
    Ack,
    AckError,
    CallApi,
    Describe,
    Disconnect,
    Heartbeat,
    Register,
    Registration,
    Target,
)
from messages.bus_protocol import OURS, agreed, compatibility
from messages.bus_texts import INCOMPATIBLE_PROTOCOL, M
from messages.follower_mutation import MutateFollower
from messages.follower_registry import (
    EndpointClosed,
    EndpointOpened,
    FollowerRegistered,
    FollowerRetired,
    FollowersDescribed,
    FollowerUnreachable,
    OwnFollowerRegistered,
    RegistryListening,
)
from messages.leader import DescribeInstance

MUTATION_DEADLINE_MS = 60_000
DESCRIBE_DEADLINE_MS = 1_200
RELAY_TICK_MS = 1_000
MUTATION = "follower_mutation"
FORGET_EVERY_MS = 3_600_000
FORGET_AFTER_MS = 30 * 24 * 3_600_000
REMEMBERED_MESSAGES = 20_000


@dataclasses.dataclass(frozen=True)
class FollowerRegistryPlan:
    """The roster, the endpoint's state, and what is under way."""

    settings: Mapping[str, Any]
    secret: str
    roster: Roster = Roster()
    open: bool = False
    waiting: Mapping[str, Waiting] = dataclasses.field(default_factory=dict)
    relays: Mapping[str, Relay] = dataclasses.field(default_factory=dict)
    mutations: Mapping[str, int] = dataclasses.field(default_factory=dict)
    lives: int = 0

    # -- the endpoint ---------------------------------------------------------------------------

    def on_listen_for_own(
        self, envelope: Any, path: str, now: Now
    ) -> tuple["FollowerRegistryPlan", Effects]:
        """Bind the socket; only the leading instance's own process is admitted yet."""
        plan = dataclasses.replace(self, open=False)
        return plan, (Perform("listen", envelope.message_id, {"path": path}),)

    def on_performed_listen(
        self, command_id: str, path: Any, now: Now
    ) -> tuple["FollowerRegistryPlan", Effects]:
        """It is bound, or cannot be."""
        if not isinstance(path, str):
            failed = CommandFailed(reason="internal", text="the endpoint cannot be bound")
            return self, (Reply(command_id, failed),)
        listening = Reply(command_id, RegistryListening(endpoint=path))
        return self, (listening, WakeAfter("forget", FORGET_EVERY_MS))

    def on_wakeup_forget(self, now: Now) -> tuple["FollowerRegistryPlan", Effects]:
        """Forget the owners of old messages."""
        arguments = {
            "older_than_ms": now.wall - FORGET_AFTER_MS,
            "keep_newest": REMEMBERED_MESSAGES,
            "epoch": self.settings["epoch"],
        }
        forget = Write("message_ownership", "prune", arguments)
        return self, (forget, WakeAfter("forget", FORGET_EVERY_MS))

    def on_open_endpoint(self, envelope: Any, now: Now) -> tuple["FollowerRegistryPlan", Effects]:
        """Every process with the secret is welcome."""
        plan = dataclasses.replace(self, open=True)
        return plan, (Reply(envelope.message_id, EndpointOpened()),)

    def on_close_endpoint(self, envelope: Any, now: Now) -> tuple["FollowerRegistryPlan", Effects]:
        """Nobody is."""
        plan = dataclasses.replace(self, open=False)
        return plan, (Perform("close_endpoint", envelope.message_id, {}),)

    def on_performed_close_endpoint(
        self, command_id: str, _: Any, now: Now
    ) -> tuple["FollowerRegistryPlan", Effects]:
        """All connections are dropped."""
        return self, (Reply(command_id, EndpointClosed()),)

    # -- requests -------------------------------------------------------------------------------

    def on_bus_request(
        self, request: BusRequest, message_owner: str | None, now: Now
    ) -> tuple["FollowerRegistryPlan", Effects]:
        """One new request, after framing and ledger."""
        envelope = request.envelope
        if isinstance(envelope, Ack):
            return relaying.answered(self, request, envelope, now)
        if not hmac.compare_digest((envelope.auth or "").encode(), self.secret.encode()):
            return self, self.refused(request.asked, M.UNAUTHORIZED)
        match envelope:
            case Register(registration=registration):
                return self._register(request, registration, now)
            case Describe():
                return self._describe_instance(request)
            case Heartbeat() | Disconnect() | CallApi():
                return self._fenced(request, message_owner, now)
        return self, self.refused(request.asked, M.NOT_HANDLED)

    def _fenced(
        self, request: BusRequest, message_owner: str | None, now: Now
    ) -> tuple["FollowerRegistryPlan", Effects]:
        envelope = request.envelope
        follower = self.roster.get(envelope.instance_id)
        if follower is None:
            return self, self.refused(request.asked, M.UNKNOWN_FOLLOWER)
        if follower.generation != envelope.registration_generation:
            return self, self.refused(request.asked, M.STALE_GENERATION)
        plan = self.refreshed(follower.instance_id, now)
        match envelope:
            case Heartbeat():
                roster = {"eligibleElectionSlots": plan.roster.eligible_slots()}
                return plan, plan.acked(request.asked, roster)
            case Disconnect():
                return plan._disconnect(request, follower)
        return api_calls.begin(plan, request, follower, message_owner)

    def refreshed(self, instance_id: str, now: Now) -> "FollowerRegistryPlan":
        """The same with this follower heard of just now."""
        roster = self.roster.changed(instance_id, heartbeat_at=now.boot)
        return dataclasses.replace(self, roster=roster)

    def retargeted(self, instance_id: str, target: Target) -> "FollowerRegistryPlan":
        """The same with this follower in another thread."""
        return dataclasses.replace(self, roster=self.roster.changed(instance_id, target=target))

    def acked(self, asked: Asked, result: Any = None) -> Effects:
        """The positive answer to a request."""
        ack = Ack(request_id=asked.request_id, ok=True, result=result)
        return (Perform("reply", asked.request_id, {"asked": asked, "ack": ack}),)

    def refused(
        self, asked: Asked, text: str, error: AckError | None = None, **more: Any
    ) -> Effects:
        """The negative answer to a request."""
        ack = Ack(request_id=asked.request_id, ok=False, message=text, error=error, **more)
        return (Perform("reply", asked.request_id, {"asked": asked, "ack": ack}),)

    # -- registration ---------------------------------------------------------------------------

    def _register(
        self, request: BusRequest, registration: Registration, now: Now
    ) -> tuple["FollowerRegistryPlan", Effects]:
        ours = agreed(OURS, registration.protocol)
        reason = compatibility(OURS, registration.protocol)
        if reason is not None:
            text = M.INCOMPATIBLE.format(reason=reason.value)
            error = AckError(code=INCOMPATIBLE_PROTOCOL)
            return self, self.refused(request.asked, text, error, protocol=ours)
        if not registration.registration_generation:
            return self, self.refused(request.asked, M.GENERATION_REQUIRED, protocol=ours)
        own = self._is_own(registration, request.peer_pid)
        if not own and not self.open:
            return self, self.refused(request.asked, M.NOT_OPEN_YET, protocol=ours)
        binding_key = registration.profile_key or f"manual:{registration.instance_id}"
        generation = registration.registration_generation
        waiting = Waiting(
            purpose="register",
            asked=request.asked,
            connection=request.connection,
            registration=registration,
        )
        arguments = {
            "binding_key": binding_key,
            "instance_id": registration.instance_id,
            "thread_name": registration.thread_name or _generated_name(registration),
            "place": registration.cwd or "",
            "carried_slot": registration.slot,
            "own": own,
        }
        command_id = f"register/{registration.instance_id}/{generation}"
        return self.mutate(binding_key, "register", arguments, command_id, waiting)

    def _is_own(self, registration: Registration, peer_pid: int | None) -> bool:
        owner = self.settings["owner"]
        same_process = peer_pid is None or peer_pid == owner["pid"]
        return registration.instance_id == owner["instance_id"] and same_process

    def mutate(
        self,
        binding_key: str,
        operation: str,
        arguments: Mapping[str, Any],
        command_id: str,
        waiting: Waiting,
    ) -> tuple["FollowerRegistryPlan", Effects]:
        """Queue a change of one follower with its mutation actor, started where there is none."""
        key = f"{MUTATION}:{binding_key}"
        plan = self.expecting(command_id, waiting)
        effects: list[Any] = []
        if key not in plan.mutations:
            lives = plan.lives + 1
            first = ConfigureChild(key=key, incarnation=lives, settings=dict(self.settings))
            effects = [
                StartChild(key, lives),
                Send(key, first, f"configure/{key}/{lives}", resend=False),
                Introduce(to=(key,), keys=("target_provisioner",)),
            ]
            plan = dataclasses.replace(
                plan, mutations={**plan.mutations, key: lives}, lives=lives
            )
        command = MutateFollower(operation=operation, arguments=dict(arguments))
        effects.append(Send(key, command, command_id, MUTATION_DEADLINE_MS))
        return plan, tuple(effects)

    def on_child_configured(self, envelope: Any, now: Now) -> tuple["FollowerRegistryPlan", Effects]:
        """A mutation actor is ready; its commands were queued behind its configuration."""
        return self, ()

    def on_child_exited(self, key: str, now: Now) -> tuple["FollowerRegistryPlan", Effects]:
        """A mutation actor died: what it had not answered goes to a new one, with the same ids."""
        mutations = {other: life for other, life in self.mutations.items() if other != key}
        plan = dataclasses.replace(self, mutations=mutations)
        if not any(one.purpose in _MUTATING for one in self.waiting.values()):
            return plan, ()
        lives = plan.lives + 1
        first = ConfigureChild(key=key, incarnation=lives, settings=dict(self.settings))
        plan = dataclasses.replace(plan, mutations={**mutations, key: lives}, lives=lives)
        return plan, (
            Notify("registry.mutation_replaced", {"child": key}, "WARNING"),
            StartChild(key, lives),
            Send(key, first, f"configure/{key}/{lives}", resend=False),
            Introduce(to=(key,), keys=("target_provisioner",)),
        )

    def expecting(self, command_id: str, waiting: Waiting) -> "FollowerRegistryPlan":
        """The same with a command under way."""
        return dataclasses.replace(self, waiting={**self.waiting, command_id: waiting})

    def settled(self, command_id: str | None) -> tuple["FollowerRegistryPlan", Waiting | None]:
        """The same without this command, and what it was for."""
        waiting = dict(self.waiting)
        found = waiting.pop(command_id or "", None)
        return dataclasses.replace(self, waiting=waiting), found

    def on_mutation_finished(self, envelope: Any, now: Now) -> tuple["FollowerRegistryPlan", Effects]:
        """A change is durable."""
        plan, waiting = self.settled(envelope.in_reply_to)
        if waiting is None:
            return self, ()
        match waiting.purpose:
            case "register":
                return plan._registered(waiting, envelope.body.target or {}, now)
            case "disconnect":
                return plan._disconnected(waiting)
            case "replace":
                return api_calls.replaced(plan, waiting, envelope.body.target or {}, now)
            case "retire":
                return plan, (Reply(waiting.command_id or "", FollowerRetired()),)
        return plan, ()

    def on_mutation_failed(self, envelope: Any, now: Now) -> tuple["FollowerRegistryPlan", Effects]:
        """A change was refused."""
        if envelope.body.reason == "superseded":
            plan, waiting = self.settled(envelope.in_reply_to)
            if waiting is not None and waiting.purpose == "retire":
                # Somebody took the place of the dead one: nothing is left to do.
                return plan, (Reply(waiting.command_id or "", FollowerRetired()),)
        return self._mutation_failed(envelope.in_reply_to, envelope.body.text, now)

    def _mutation_failed(
        self, command_id: str | None, text: str, now: Now
    ) -> tuple["FollowerRegistryPlan", Effects]:
        plan, waiting = self.settled(command_id)
        if waiting is None:
            return self, ()
        match waiting.purpose:
            case "register" if waiting.asked and waiting.registration:
                ours = agreed(OURS, waiting.registration.protocol)
                return plan, plan.refused(waiting.asked, text or M.TARGET_FAILED, protocol=ours)
            case "replace":
                return api_calls.replaced(plan, waiting, {}, now)
            case "retire":
                failed = CommandFailed(reason="internal", text=text or M.TARGET_FAILED)
                return plan, (Reply(waiting.command_id or "", failed),)
            case "call":
                return api_calls.failed(plan, waiting, text)
            case _ if waiting.asked:
                return plan, plan.refused(waiting.asked, M.HANDLER_FAILED)
        return plan, ()

    def _registered(
        self, waiting: Waiting, target: Mapping[str, Any], now: Now
    ) -> tuple["FollowerRegistryPlan", Effects]:
        registration, asked = waiting.registration, waiting.asked
        if registration is None or asked is None:
            return self, ()
        own = registration.instance_id == self.settings["owner"]["instance_id"]
        protocol = registration.protocol
        follower = Follower(
            instance_id=registration.instance_id,
            binding_key=registration.profile_key or f"manual:{registration.instance_id}",
            generation=registration.registration_generation or "",
            pid=registration.pid,
            birth=registration.process_birth_id,
            slot=target["slot"],
            thread_name=target["thread_name"],
            target=Target(chat_id=target["chat_id"], thread_id=target.get("thread_id")),
            connected_at=now.boot,
            heartbeat_at=now.boot,
            capabilities=protocol.capabilities if protocol else (),
            connection=None if registration.bus_socket_path else waiting.connection,
            socket_path=registration.bus_socket_path,
            own=own,
        )
        plan = dataclasses.replace(self, roster=self.roster.enter(follower))
        result = {
            "chatId": follower.target.chat_id,
            "slot": follower.slot,
            "threadName": follower.thread_name,
        }
        if follower.target.thread_id is not None:
            result["threadId"] = follower.target.thread_id
        ack = Ack(
            request_id=asked.request_id, ok=True, result=result, protocol=agreed(OURS, protocol)
        )
        known = FollowerRegistered(
            binding_key=follower.binding_key,
            thread_name=follower.thread_name,
            slot=follower.slot,
            instance_id=follower.instance_id,
        )
        effects: list[Any] = [
            Perform("reply", asked.request_id, {"asked": asked, "ack": ack}),
            Send("inbox", known),
            Notify(
                "registry.registered",
                {"instance_id": follower.instance_id, "slot": follower.slot, "own": own},
            ),
        ]
        if own:
            effects.append(Send("leader", OwnFollowerRegistered()))
        return plan, tuple(effects)

    # -- leaving --------------------------------------------------------------------------------

    def _disconnect(
        self, request: BusRequest, follower: Follower
    ) -> tuple["FollowerRegistryPlan", Effects]:
        if any(self._replaces(follower, one) for one in self.waiting.values()):
            # A newer registration is on its way: what this disconnect would delete is that one's.
            return self, self.refused(request.asked, M.STALE_GENERATION)
        waiting = Waiting(
            purpose="disconnect",
            asked=request.asked,
            instance_id=follower.instance_id,
            generation=follower.generation,
        )
        command_id = f"disconnect/{follower.instance_id}/{request.asked.request_id}"
        arguments = _removal(follower)
        return self.mutate(follower.binding_key, "disconnect", arguments, command_id, waiting)

    @staticmethod
    def _replaces(follower: Follower, waiting: Waiting) -> bool:
        coming = waiting.registration
        if waiting.purpose != "register" or coming is None:
            return False
        binding_key = coming.profile_key or f"manual:{coming.instance_id}"
        return (
            binding_key == follower.binding_key
            and coming.registration_generation != follower.generation
        )

    def _disconnected(self, waiting: Waiting) -> tuple["FollowerRegistryPlan", Effects]:
        follower = self.roster.get(waiting.instance_id)
        if waiting.asked is None:
            return self, ()
        if follower is None or follower.generation != waiting.generation:
            return self, self.refused(waiting.asked, M.STALE_GENERATION)
        plan = dataclasses.replace(self, roster=self.roster.without(waiting.instance_id))
        gone = FollowerUnreachable(
            binding_key=follower.binding_key, instance_id=follower.instance_id
        )
        return plan, (*self.acked(waiting.asked), Send("inbox", gone))

    def on_connection_closed(
        self, connection: int, now: Now
    ) -> tuple["FollowerRegistryPlan", Effects]:
        """The end of a stream proves nothing, but the process is looked at, and nothing is sent."""
        follower = self.roster.by_connection(connection)
        plan, failed = relaying.connection_lost(self, connection)
        if follower is None:
            return plan, failed
        roster = plan.roster.changed(follower.instance_id, connection=None)
        gone = FollowerUnreachable(
            binding_key=follower.binding_key, instance_id=follower.instance_id
        )
        plan = dataclasses.replace(plan, roster=roster)
        return plan, (*failed, Send("inbox", gone), Send("prune_supervisor", gone))

    def on_retire_follower(self, envelope: Any, now: Now) -> tuple["FollowerRegistryPlan", Effects]:
        """Drop exactly this registration; of a dead one the thread is preserved or cleaned up."""
        said = envelope.body
        follower = self.roster.get(said.instance_id)
        if follower is None and said.proven_dead:
            return self._retire_absent(envelope)
        if follower is None or follower.generation != said.generation:
            return self, (Reply(envelope.message_id, FollowerRetired()),)
        plan = dataclasses.replace(self, roster=self.roster.without(said.instance_id))
        gone = FollowerUnreachable(
            binding_key=follower.binding_key, instance_id=follower.instance_id
        )
        told: Effects = (Send("inbox", gone),)
        if not said.proven_dead:
            return plan, (*told, Reply(envelope.message_id, FollowerRetired()))
        operation = "cleanup" if self.settings.get("cleanup") else "preserve"
        arguments = _removal(follower)
        if operation == "preserve":
            del arguments["generation"]
        plan, effects = plan._detach(envelope, follower.binding_key, operation, arguments)
        return plan, (*told, *effects)

    def _retire_absent(self, envelope: Any) -> tuple["FollowerRegistryPlan", Effects]:
        """One that was silent first and is proven dead now: its thread stays, whatever the policy."""
        said = envelope.body
        if not said.binding_key or self.roster.by_binding(said.binding_key) is not None:
            return self, (Reply(envelope.message_id, FollowerRetired()),)
        arguments = {"binding_key": said.binding_key, "instance_id": said.instance_id}
        return self._detach(envelope, said.binding_key, "preserve", arguments)

    def _detach(
        self, envelope: Any, binding_key: str, operation: str, arguments: Mapping[str, Any]
    ) -> tuple["FollowerRegistryPlan", Effects]:
        waiting = Waiting(purpose="retire", command_id=envelope.message_id)
        # Named after the try: a repeated id would get the answer of the try that failed.
        command_id = f"{operation}/{envelope.message_id}"
        return self.mutate(binding_key, operation, arguments, command_id, waiting)

    # -- relays and calls, each in its own file -------------------------------------------------

    def on_forward_update(self, envelope: Any, now: Now) -> tuple["FollowerRegistryPlan", Effects]:
        """Hand an update to its follower."""
        return relaying.begin(self, envelope, now)

    def on_performed_relay(
        self, relay_id: str, ack: Any, now: Now
    ) -> tuple["FollowerRegistryPlan", Effects]:
        """A follower with a socket of its own answered, or did not."""
        return relaying.landed(self, relay_id, ack, now)

    def on_wakeup_relays(self, now: Now) -> tuple["FollowerRegistryPlan", Effects]:
        """Give up relays past their time."""
        return relaying.overdue(self, now)

    def on_telegram_answered(self, envelope: Any, now: Now) -> tuple["FollowerRegistryPlan", Effects]:
        """A follower's call succeeded."""
        plan, waiting = self.settled(envelope.in_reply_to)
        return (self, ()) if waiting is None else api_calls.done(plan, waiting, envelope, now)

    def on_telegram_refused(self, envelope: Any, now: Now) -> tuple["FollowerRegistryPlan", Effects]:
        """A follower's call failed."""
        plan, waiting = self.settled(envelope.in_reply_to)
        return (self, ()) if waiting is None else api_calls.refused(plan, waiting, envelope, now)

    def on_unanswered(self, unanswered: Any, now: Now) -> tuple["FollowerRegistryPlan", Effects]:
        """A command of ours got no answer."""
        waiting = self.waiting.get(unanswered.command_id)
        if waiting is not None and waiting.purpose == "call":
            plan, _ = self.settled(unanswered.command_id)
            return api_calls.unanswered(plan, waiting, unanswered)
        return self._mutation_failed(unanswered.command_id, M.TARGET_FAILED, now)

    def on_command_failed(self, envelope: Any, now: Now) -> tuple["FollowerRegistryPlan", Effects]:
        """A peer failed for reasons of its own."""
        return self._mutation_failed(envelope.in_reply_to, envelope.body.text, now)

    # -- descriptions ---------------------------------------------------------------------------

    def on_describe_followers(self, envelope: Any, now: Now) -> tuple["FollowerRegistryPlan", Effects]:
        """Who is registered."""
        followers = [one.describe(now.boot) for one in self.roster]
        return self, (Reply(envelope.message_id, FollowersDescribed(followers=followers)),)

    def _describe_instance(self, request: BusRequest) -> tuple["FollowerRegistryPlan", Effects]:
        command_id = f"instance/{request.connection}/{request.asked.request_id}"
        plan = self.expecting(command_id, Waiting(purpose="describe", asked=request.asked))
        return plan, (
            Send("leader", DescribeInstance(), command_id, DESCRIBE_DEADLINE_MS, resend=False),
        )

    def on_instance_described(self, envelope: Any, now: Now) -> tuple["FollowerRegistryPlan", Effects]:
        """The whole tree told of itself: pass it on with the followers."""
        plan, waiting = self.settled(envelope.in_reply_to)
        if waiting is None or waiting.asked is None:
            return self, ()
        description = dict(envelope.body.description)
        description["followers"] = [one.describe(now.boot) for one in self.roster]
        return plan, plan.acked(waiting.asked, description)

    def describe(self, now: Now) -> dict[str, Any]:
        """For status."""
        return {
            "open": self.open,
            "followers": len(self.roster.followers),
            "relays": len(self.relays),
            "waiting": len(self.waiting),
        }

    def watching_relays(self) -> Effects:
        """The wakeup that gives up relays; set whenever one begins."""
        return (WakeAfter("relays", min(RELAY_TICK_MS, RELAY_DEADLINE_MS)),)


_MUTATING = frozenset({"register", "disconnect", "replace", "retire"})


def _removal(follower: Follower) -> dict[str, Any]:
    return {
        "binding_key": follower.binding_key,
        "instance_id": follower.instance_id,
        "generation": follower.generation,
    }


def _generated_name(registration: Registration) -> str:
    directory = (registration.cwd or "").rstrip("/").rpartition("/")[2]
    return directory[:128] or f"process {registration.pid or registration.instance_id}"[:128]
