"""The Leader: epoch and lease upkeep, start and stop order, supervision of the tree.

It owns the lease row while this instance leads, and the two rows of settings that say that this home has
led the bot. The launcher tells it to stop, and hears what it reports, over the tree channel, a socket
inherited at the fork. Everything it decides is in `actors.plans.leader`.
"""

import contextlib
import json
from collections.abc import Mapping
from typing import Any

from actors.clock import said_moment
from actors.event_log import rotate
from actors.faults import fault
from actors.plans.bot_news import Away, is_gap
from actors.plans.effects import Perform
from actors.plans.leader import Beginning, LeaderPlan, LeaseLook
from actors.plans.supervision import SupervisionPlan
from actors.supervision import TREE, Supervisor
from actors.tree_channel import tree_channel
from actors.tree_stores import open_bus, owner_of
from messages.envelope import Envelope
from stores.bus_settings import BusSettings
from stores.errors import Deposed
from stores.lease import Lease, Owner


class LeaderLease:
    """The lease as its holder writes it: a refusal is a deposition."""

    def __init__(self, lease: Lease, owner: Owner) -> None:
        self._lease = lease
        self._owner = owner
        self.database = lease.database

    def holds(self, epoch: int) -> bool:
        """Whether the row still names this owner and epoch."""
        record = self._lease.read()
        return record.epoch == epoch and record.owner == self._owner

    def refresh_or_depose(self, epoch: int, now_boot_ms: int) -> None:
        """Refresh the heartbeat; raises Deposed if the row is no longer ours."""
        if not self._lease.refresh(self._owner, epoch, now_boot_ms):
            raise Deposed()

    def publish_endpoint(self, epoch: int, path: str) -> None:
        """Tell every follower where to come; raises Deposed if the row is no longer ours."""
        if not self._lease.publish_endpoint(self._owner, epoch, path):
            raise Deposed()

    def release(self, epoch: int) -> None:
        """Give the lease up; it does not matter whether it was still ours."""
        self._lease.release(self._owner, epoch)


class Leader(Supervisor):
    """The root of the tree."""

    child_specs = TREE

    def __init__(self) -> None:
        super().__init__()
        self.key = "leader"
        self.incarnation = 1
        self.plan = LeaderPlan(supervision=SupervisionPlan.of(*TREE))
        self._channel: Any = None
        self._received = b""

    # -- the first message ----------------------------------------------------------------------

    def decide(self, envelope: Envelope) -> None:
        """The first message opens the stores; the rest is as with every actor."""
        if envelope.kind == "ConfigureLeader" and not self.settings:
            self._open(envelope.body.settings)
        if envelope.kind == "EndpointClosed":
            fault("leader.before-release")
        super().decide(envelope)

    def _open(self, settings: Mapping[str, Any]) -> None:
        self.settings = settings
        self.take_name()
        bus = open_bus(settings)
        self.stores = {
            "lease": LeaderLease(Lease(bus), owner_of(settings)),
            "bus_settings": BusSettings(bus),
        }
        self._channel = tree_channel()
        fault("leader.after-lease")

    # -- rows that decisions need ---------------------------------------------------------------

    def read_configure_leader(self, body: Any) -> Beginning:
        """What this home knows of the bot, and which process leads now."""
        known = self.stores["bus_settings"]
        return Beginning(
            led_before=known.led_before(),
            pid=self.own_pid(),
            told_conflict=bool(known.get("told_conflict")),
            away=self._away(known.last_led_ms()),
        )

    def read_wakeup_lease(self) -> LeaseLook:
        """Whether the lease is still ours, and whether this machine was asleep for long."""
        noted, now = self.plan.news.noted, self.clock()
        # A clock that was only set forward is no sleep.
        slept = noted is not None and is_gap(noted.boot, now.boot)
        return LeaseLook(
            held=self.stores["lease"].holds(self.settings["epoch"]),
            away=self._away(noted.wall) if slept and noted is not None else None,
        )

    def _away(self, last_served_ms: int | None) -> Away | None:
        now = self.clock().wall
        if last_served_ms is None or not is_gap(last_served_ms, now):
            return None
        return Away(said_moment(last_served_ms, now), said_moment(now, now))

    def answered(self, envelope: Envelope) -> None:
        """A Pong says who lives by the command that it answers."""
        if envelope.kind == "Pong":
            key = self.key_of_child_pid(envelope.body.pid)
            if key is not None:
                self.step("on_pong", envelope, key)
            return
        super().answered(envelope)

    def _wake(self, reason: str) -> None:
        """As with every actor; the log of the house is looked after here, and nowhere else."""
        if reason == "patrol":
            rotate()
        super()._wake(reason)

    def lost_epoch(self) -> None:
        """Our own refresh was refused."""
        self.step("on_deposed")

    # -- the tree channel -----------------------------------------------------------------------

    def watched(self) -> list[int]:
        """The tree channel, once it is known."""
        return [self._channel.fileno()] if self._channel is not None else []

    def ready(self, filenos: list[int]) -> None:
        """Commands of the launcher, one JSON object a line."""
        with contextlib.suppress(BlockingIOError):
            chunk = self._channel.recv(4096)
            if not chunk:
                # The launcher is gone; the at-fork hook ends this process.
                self._channel = None
                return
            *lines, self._received = (self._received + chunk).split(b"\n")
            for line in lines:
                if json.loads(line).get("name") == "stop":
                    self.step("on_stop")

    def perform_beside(self, effect: Perform) -> None:
        """Report to the launcher; the line is short and the socket's buffer takes it."""
        if effect.operation_id == "serving":
            fault("leader.before-serving")
        line = json.dumps(dict(effect.arguments), separators=(",", ":")) + "\n"
        if self._channel is not None:
            with contextlib.suppress(OSError):
                self._channel.sendall(line.encode())
