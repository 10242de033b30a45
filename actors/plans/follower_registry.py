"""What the FollowerRegistry decides: who is registered, and what each request on the bus gets.

Order of checks (leader.md 2): response or request, secret, then by kind: a registration is checked for
compatibility and generation and goes through the follower's mutation; everything else needs a live entry
with exactly that generation. Registering, leaving, relays and API calls are in files of their own;
this one holds the state.
"""

import dataclasses
import hmac
from collections.abc import Mapping
from typing import Any

from actors.plans import (
    agents,
    api_calls,
    leaving,
    operating,
    registering,
    relaying,
    replacing,
    unavailable,
)
from actors.plans.bus_request import Asked, BusRequest, Waiting
from actors.plans.effects import Effects, Notify, Now, Perform, Reply, Send, WakeAfter, Write
from actors.plans.mutations import Mutations, mutation_key
from actors.plans.relays import Relay
from actors.plans.roster import Roster
from actors.plans.sync_slices import SyncSlices
from messages.actor import CommandFailed
from messages.bus import (
    Ack,
    AckError,
    CallApi,
    Describe,
    Disconnect,
    Forward,
    Heartbeat,
    OperatorRequest,
    Register,
    Reserved,
    ResolveAgentTarget,
    RouteAgentMessage,
    Target,
)
from messages.bus_texts import M
from messages.follower_mutation import MutateFollower
from messages.follower_registry import (
    EndpointClosed,
    EndpointOpened,
    FollowerRetired,
    FollowersDescribed,
    RegistryListening,
)
from messages.leader import DescribeInstance

MUTATION_DEADLINE_MS = 60_000
DESCRIBE_DEADLINE_MS = 1_200
RELAY_TICK_MS = 1_000
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
    mutations: Mutations = Mutations()
    slices: SyncSlices = SyncSlices()

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
            case Heartbeat() | CallApi():
                return self._fenced(request, message_owner, now)
            case Register(registration=registration):
                return registering.begin(self, request, registration, now)
            case Describe():
                return self._describe_instance(request)
            case Disconnect() | ResolveAgentTarget() | RouteAgentMessage():
                return self._fenced(request, message_owner, now)
            case OperatorRequest():
                return operating.begin(self, request, now)
            case Forward():
                return relaying.for_peer(self, request, now)
            case Reserved():
                return self, unavailable.refuse(self, request)
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
                return leaving.disconnect(plan, request, follower, now)
            case ResolveAgentTarget():
                return agents.resolve(plan, request, follower)
            case RouteAgentMessage():
                return agents.route(plan, request, follower, now)
        return api_calls.begin(plan, request, follower, message_owner)

    def refreshed(self, instance_id: str, now: Now) -> "FollowerRegistryPlan":
        """The same with this follower heard of just now."""
        self.roster.followers[instance_id].pulse.beat(now.boot)
        return self

    def is_current(self, instance_id: str, generation: str) -> bool:
        """Whether exactly this registration is live."""
        follower = self.roster.get(instance_id)
        return follower is not None and follower.generation == generation

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

    # -- mutations ------------------------------------------------------------------------------

    def mutate(
        self,
        operation: str,
        arguments: Mapping[str, Any],
        command_id: str,
        waiting: Waiting,
        now: Now,
    ) -> tuple["FollowerRegistryPlan", Effects]:
        """Queue a change of one follower with its mutation actor."""
        key = mutation_key(arguments["binding_key"])
        mutations, started = self.mutations.use(key, self.settings, now.boot)
        plan = self.expecting(command_id, dataclasses.replace(waiting, mutation=key))
        command = MutateFollower(operation=operation, arguments=dict(arguments))
        return dataclasses.replace(plan, mutations=mutations), (
            *started,
            Send(key, command, command_id, MUTATION_DEADLINE_MS),
        )

    def on_child_configured(self, envelope: Any, now: Now) -> tuple["FollowerRegistryPlan", Effects]:
        """A mutation actor is ready; its commands were queued behind its configuration."""
        return self, ()

    def on_child_exited(self, key: str, now: Now) -> tuple["FollowerRegistryPlan", Effects]:
        """A mutation actor is gone: what it had not answered goes to a new one, with the same ids."""
        plan = dataclasses.replace(self, mutations=self.mutations.without(key))
        if key not in self._busy_mutations():
            return plan, ()
        mutations, started = plan.mutations.use(key, self.settings, now.boot)
        noted = Notify("registry.mutation_replaced", {"child": key}, "WARNING")
        return dataclasses.replace(plan, mutations=mutations), (noted, *started)

    def on_wakeup_idle_mutations(self, now: Now) -> tuple["FollowerRegistryPlan", Effects]:
        """End mutation actors that have nothing to do; they come back on demand."""
        return self, self.mutations.stop_idle(self._busy_mutations(), now.boot)

    def _busy_mutations(self) -> frozenset[str]:
        return frozenset(one.mutation for one in self.waiting.values() if one.mutation)

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
                return registering.finish(plan, waiting, envelope.body.target or {}, now)
            case "disconnect":
                return leaving.disconnected(plan, waiting, now)
            case "replace":
                return replacing.replaced(plan, waiting, envelope.body.target or {}, now)
            case "retire":
                return plan, (Reply(waiting.command_id or "", FollowerRetired()),)
            case operating.RENAMING:
                name = (envelope.body.target or {}).get("thread_name", "")
                return operating.renamed(plan, waiting, name)
            case operating.CLOSING:
                return operating.closed(plan, waiting)
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
            case "register":
                return registering.refuse(plan, waiting, text)
            case "replace":
                return replacing.failed(plan, waiting, text)
            case "retire":
                failed = CommandFailed(reason="internal", text=text or M.TARGET_FAILED)
                return plan, (Reply(waiting.command_id or "", failed),)
            case "call":
                return api_calls.failed(plan, waiting, text)
            case operating.RENAMING | operating.CLOSING | operating.COMMANDED:
                return operating.failed(plan, waiting, text)
            case _ if waiting.asked:
                return plan, plan.refused(waiting.asked, M.HANDLER_FAILED)
        return plan, ()

    # -- leaving --------------------------------------------------------------------------------

    def on_connection_closed(
        self, connection: int, now: Now
    ) -> tuple["FollowerRegistryPlan", Effects]:
        """A stream ended."""
        return leaving.connection_closed(self, connection, now)

    def on_retire_follower(self, envelope: Any, now: Now) -> tuple["FollowerRegistryPlan", Effects]:
        """The prune supervisor is done with a registration."""
        return leaving.retire(self, envelope, now)

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

    # -- what operators asked of others ---------------------------------------------------------

    def on_lease_yielding(self, envelope: Any, now: Now) -> tuple["FollowerRegistryPlan", Effects]:
        """The instance gives the lease up."""
        plan, waiting = self.settled(envelope.in_reply_to)
        return (self, ()) if waiting is None else operating.answered(plan, waiting)

    def on_pruned_at_once(self, envelope: Any, now: Now) -> tuple["FollowerRegistryPlan", Effects]:
        """Every process was looked at."""
        plan, waiting = self.settled(envelope.in_reply_to)
        result = {"dead": list(envelope.body.dead)}
        return (self, ()) if waiting is None else operating.answered(plan, waiting, result)

    def on_settled_by_hand(self, envelope: Any, now: Now) -> tuple["FollowerRegistryPlan", Effects]:
        """The inbox decided as told."""
        plan, waiting = self.settled(envelope.in_reply_to)
        found = envelope.body.found
        return (self, ()) if waiting is None else operating.settled(plan, waiting, found)

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
            "slices": self.slices.plain(),
        }

    def watching_relays(self) -> Effects:
        """The wakeup that gives up relays; set whenever one begins."""
        return (WakeAfter("relays", RELAY_TICK_MS),)
