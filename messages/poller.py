"""What the Poller is asked, answers and reports."""

from marshmallow import fields, validate

from messages.kind import message, said


@message("StartPolling")
class StartPolling:
    """Ask Telegram for updates from now on."""


@message("PollingStarted")
class PollingStarted:
    """The loop runs."""


@message("StopPolling")
class StopPolling:
    """No getUpdates may begin after the answer to this."""


@message("PollingStopped")
class PollingStopped:
    """No getUpdates is under way and none will begin."""


@message("ProvePolling")
class ProvePolling:
    """Find out whether anybody else reads this bot, without confirming anything."""

    for_ms: int = said(
        fields.Integer(strict=True, validate=validate.Range(0)), "for so many milliseconds"
    )


@message("PollingProven")
class PollingProven:
    """Nobody else does."""


@message("PollingContested")
class PollingContested:
    """Somebody does, or it cannot be found out."""

    cause: str = said(
        fields.String(
            validate=validate.OneOf(("foreign-poller", "webhook", "unreachable", "unauthorized"))
        ),
        "who or why",
    )
    text: str = said(fields.String(), "Telegram's words, empty where they do not matter", default="")


@message("PollConflict")
class PollConflict:
    """To the Leader: another program polls this bot, a webhook is set, or that is over."""

    cause: str = said(
        fields.String(validate=validate.OneOf(("foreign-poller", "webhook", "solved"))), "which"
    )
