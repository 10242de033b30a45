"""What the Leader hears first, and what it is told by its children."""

from marshmallow import fields

from messages.kind import message, said


@message("ConfigureLeader")
class ConfigureLeader:
    """The first message of a Leader."""

    settings: dict = said(fields.Dict(keys=fields.String()), "see messages.launcher.LeadTree")


@message("EpochLost")
class EpochLost:
    """From any child: a write or a call was refused because another instance leads."""

    where: str = said(fields.String(), "key of the child")


@message("OwnerPaired")
class OwnerPaired:
    """From the Inbox: somebody sent the code, which is on record, and is the owner from now on."""

    owner_id: int = said(fields.Integer(strict=True), "user id of the owner")
    owner_name: str = said(fields.String(), "first name, empty when it is not known")
    chat_id: int = said(fields.Integer(strict=True), "chat in which threads are made")
    told_in: int = said(fields.Integer(strict=True), "chat in which the code was sent")


@message("TopicsDoubted")
class TopicsDoubted:
    """From the provisioner: Telegram says that there are no threads; the bot should be asked."""


@message("DescribeInstance")
class DescribeInstance:
    """From the registry, for an operator: what goes on in the whole tree?"""


@message("InstanceDescribed")
class InstanceDescribed:
    """State of every actor that answered in time."""

    description: dict = said(
        fields.Dict(keys=fields.String()),
        "{state, actors: [{name, pid, restarts, uptime_ms}], poller, inbox, gateway}",
    )


@message("YieldLease")
class YieldLease:
    """From the registry, for an operator: give the lease up in order, for another process to take."""


@message("LeaseYielding")
class LeaseYielding:
    """The instance is told; it ends its reign now."""
