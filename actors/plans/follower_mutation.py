"""What a FollowerMutation decides: one change of one follower profile at a time, in order of arrival.

Each change is one command of the TargetProvisioner with an id made of the change's own: a change that is
said again after a death is the same command there. A failure settles its change and nothing else.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

from actors.plans.effects import Effects, Now, Reply, Send
from messages.follower_mutation import MutationFailed, MutationFinished
from messages.kind import MessageInvalid, load_body

PROVISION_DEADLINE_MS = 110_000
"""Enough for the slowest path of the provisioner, whose calls have deadlines of their own."""

COMMANDS: Mapping[str, str] = {
    "register": "ProvisionTarget",
    "replace-target": "ReplaceTarget",
    "disconnect": "RemoveTarget",
    "cleanup": "RemoveTarget",
    "preserve": "PreserveTarget",
    "close": "CloseTarget",
    "rename": "RenameTarget",
}
"""Operation -> kind of the provisioner's command that carries it out."""


@dataclasses.dataclass(frozen=True, slots=True)
class Change:
    """One change asked for: the id of the command that asked, and what the provisioner is to do."""

    command_id: str
    operation: str
    command: Any

    @property
    def provision_id(self) -> str:
        """The id of the provisioner's command."""
        return f"{self.command_id}/provision"


@dataclasses.dataclass(frozen=True)
class FollowerMutationPlan:
    """The change under way and those behind it."""

    current: Change | None = None
    waiting: tuple[Change, ...] = ()

    def on_mutate_follower(
        self, envelope: Any, now: Now
    ) -> tuple["FollowerMutationPlan", Effects]:
        """Begin at once when nothing is under way, else wait for one's turn."""
        asked = envelope.body
        try:
            command = load_body(COMMANDS[asked.operation], 1, asked.arguments)
        except MessageInvalid as invalid:
            refusal = MutationFailed(reason="invalid", text=str(invalid))
            return self, (Reply(envelope.message_id, refusal),)
        change = Change(envelope.message_id, asked.operation, command)
        if self.current is not None:
            return dataclasses.replace(self, waiting=(*self.waiting, change)), ()
        return dataclasses.replace(self, current=change), (_begin(change),)

    # -- the provisioner's answers --------------------------------------------------------------

    def on_target_provisioned(
        self, envelope: Any, now: Now
    ) -> tuple["FollowerMutationPlan", Effects]:
        """The follower has its thread."""
        target = dataclasses.asdict(envelope.body)
        return self._settle(envelope.in_reply_to, MutationFinished(target=target))

    def on_target_removed(
        self, envelope: Any, now: Now
    ) -> tuple["FollowerMutationPlan", Effects]:
        """The thread is gone."""
        return self._settle(envelope.in_reply_to, MutationFinished(target=None))

    def on_target_renamed(
        self, envelope: Any, now: Now
    ) -> tuple["FollowerMutationPlan", Effects]:
        """The thread has its new name."""
        target = {"thread_name": envelope.body.thread_name}
        return self._settle(envelope.in_reply_to, MutationFinished(target=target))

    def on_target_preserved(
        self, envelope: Any, now: Now
    ) -> tuple["FollowerMutationPlan", Effects]:
        """The thread stays, without a process."""
        return self._settle(envelope.in_reply_to, MutationFinished(target=None))

    def on_target_refused(
        self, envelope: Any, now: Now
    ) -> tuple["FollowerMutationPlan", Effects]:
        """The provisioner said no."""
        said = envelope.body
        return self._settle(
            envelope.in_reply_to, MutationFailed(reason=said.reason, text=said.text)
        )

    def on_command_failed(
        self, envelope: Any, now: Now
    ) -> tuple["FollowerMutationPlan", Effects]:
        """The provisioner could not carry the command out."""
        said = envelope.body
        return self._settle(
            envelope.in_reply_to, MutationFailed(reason=said.reason, text=said.text)
        )

    def on_unanswered(
        self, unanswered: Any, now: Now
    ) -> tuple["FollowerMutationPlan", Effects]:
        """The provisioner never answered."""
        text = f"{unanswered.body.KIND} was not answered ({unanswered.reason})"
        return self._settle(
            unanswered.command_id, MutationFailed(reason="unanswered", text=text)
        )

    def _settle(
        self, provision_id: str | None, outcome: MutationFinished | MutationFailed
    ) -> tuple["FollowerMutationPlan", Effects]:
        if self.current is None or self.current.provision_id != provision_id:
            return self, ()
        answer = Reply(self.current.command_id, outcome)
        if not self.waiting:
            return dataclasses.replace(self, current=None), (answer,)
        following, *waiting = self.waiting
        plan = dataclasses.replace(self, current=following, waiting=tuple(waiting))
        return plan, (answer, _begin(following))

    def describe(self, now: Now) -> dict[str, Any]:
        """For `status`."""
        return {
            "operation": self.current.operation if self.current else None,
            "waiting": len(self.waiting),
        }


def _begin(change: Change) -> Send:
    return Send(
        to="target_provisioner",
        body=change.command,
        message_id=change.provision_id,
        deadline_ms=PROVISION_DEADLINE_MS,
    )
