"""What every actor of the tree hears and says, whatever its work."""

from marshmallow import fields, validate

from messages.kind import message, said


@message("ConfigureChild")
class ConfigureChild:
    """The first message of a child: who it is and where everything lies."""

    key: str = said(fields.String(), "key in the tree")
    incarnation: int = said(fields.Integer(strict=True), "which life of this key, from 1")
    settings: dict = said(fields.Dict(), "settings of the instance, see messages.launcher.LeadTree")


@message("ChildConfigured")
class ChildConfigured:
    """The child opened its stores and is ready."""

    key: str = said(fields.String(), "key in the tree")
    incarnation: int = said(fields.Integer(strict=True), "which life of this key")
    pid: int = said(fields.Integer(strict=True), "process id")


@message("PeersIntroduced")
class PeersIntroduced:
    """Everyone's address; only the Leader says this, at the start and after each replacement."""

    peers: dict = said(
        fields.Dict(keys=fields.String()),
        "key -> {incarnation, address}; the address is Thespian's and never leaves the tree",
    )


@message("Ping")
class Ping:
    """Is the mailbox alive?"""


@message("Pong")
class Pong:
    """It is."""

    pid: int = said(fields.Integer(strict=True), "process id")


@message("DescribeActor")
class DescribeActor:
    """What goes on in there? For `status`."""


@message("ActorDescribed")
class ActorDescribed:
    """The plan's own view of its state, scalars and lists only."""

    state: dict = said(fields.Dict(keys=fields.String()), "free of secrets and message texts")


FAILURES = ("invalid", "internal", "store", "deposed", "unanswered", "not-configured")


@message("CommandFailed")
class CommandFailed:
    """The answer to a command that could not be carried out for no reason of its own."""

    reason: str = said(fields.String(validate=validate.OneOf(FAILURES)), "why, as a word")
    text: str = said(fields.String(), "why, as a sentence without secrets")
