"""What the FollowerRegistry is asked, answers and reports: the live followers and their endpoint."""

from marshmallow import fields, validate

from messages.kind import message, said

FORWARD_KINDS = (
    "leader.forwardMessage",
    "leader.forwardEditedMessage",
    "leader.forwardCallback",
    "leader.forwardReaction",
)


@message("ListenForOwn")
class ListenForOwn:
    """Bind the endpoint, for the leading instance's own follower alone."""


@message("RegistryListening")
class RegistryListening:
    """The endpoint is bound."""

    endpoint: str = said(fields.String(), "path of the socket")


@message("OwnFollowerRegistered")
class OwnFollowerRegistered:
    """To the Leader: the leading instance has its thread."""


@message("OpenEndpoint")
class OpenEndpoint:
    """Publish the endpoint in the lease: every follower may come."""


@message("EndpointOpened")
class EndpointOpened:
    """It is published."""


@message("CloseEndpoint")
class CloseEndpoint:
    """Stop listening and drop every connection."""


@message("EndpointClosed")
class EndpointClosed:
    """Nobody is connected any more."""


@message("ForwardUpdate")
class ForwardUpdate:
    """Hand one admitted update to the follower of this binding."""

    binding_key: str = said(fields.String(validate=validate.Length(1, 256)), "recipient")
    update_id: int = said(fields.Integer(strict=True), "Telegram's update id")
    forward_kind: str = said(fields.String(validate=validate.OneOf(FORWARD_KINDS)), "bus kind")
    carrier: dict = said(fields.Dict(keys=fields.String()), "message, query or reaction as it came")


@message("UpdateForwarded")
class UpdateForwarded:
    """The follower journalled it and returned the exact receipt."""


@message("ForwardFailed")
class ForwardFailed:
    """It was not taken; the update stays with the inbox."""

    failure_class: str = said(fields.String(), "class of leader.md 7.3, or `recipient-absent`")
    text: str = said(fields.String(), "what the follower or the transport said")


@message("DescribeFollowers")
class DescribeFollowers:
    """Who is registered?"""


@message("FollowersDescribed")
class FollowersDescribed:
    """The live followers."""

    followers: list = said(
        fields.List(fields.Dict(keys=fields.String())),
        "each {instance_id, pid, boot_id, birth, slot, thread_name, chat_id, thread_id, binding_key,"
        " generation, heartbeat_age_ms, connected, capabilities}",
    )


@message("RetireFollower")
class RetireFollower:
    """Drop this registration: silent for too long, or proven dead."""

    instance_id: str = said(fields.String(), "whose")
    generation: str = said(fields.String(), "exactly this registration")
    proven_dead: bool = said(fields.Boolean(), "psutil proved the process gone")
    binding_key: str = said(
        fields.String(), "its binding, for one whose registration had ended before; empty: unknown", ""
    )


@message("FollowerRetired")
class FollowerRetired:
    """It is settled; also when a newer registration had replaced this one."""


@message("FollowerRegistered")
class FollowerRegistered:
    """To the Inbox: this binding can be reached."""

    binding_key: str = said(fields.String(), "recipient")
    thread_name: str = said(fields.String(), "its name")
    slot: str = said(fields.String(), "its slot")
    instance_id: str = said(fields.String(), "the live process")


@message("FollowerUnreachable")
class FollowerUnreachable:
    """To the Inbox and the PruneSupervisor: no connection to this binding's process any more."""

    binding_key: str = said(fields.String(), "recipient")
    instance_id: str = said(fields.String(), "the process")
    closed: bool = said(fields.Boolean(), "its thread was deleted, as somebody wished", False)
