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
