"""What a FollowerMutation is asked and answers: one follower's changes, one after the other."""

from marshmallow import fields, validate

from messages.kind import message, said

OPERATIONS = ("register", "replace-target", "disconnect", "preserve", "cleanup", "close", "rename")


@message("MutateFollower")
class MutateFollower:
    """Change this follower; queued behind the change under way."""

    operation: str = said(fields.String(validate=validate.OneOf(OPERATIONS)), "what to do")
    arguments: dict = said(
        fields.Dict(keys=fields.String()), "fields of the provisioner's command of this operation"
    )


@message("MutationFinished")
class MutationFinished:
    """It is done and durable."""

    target: dict | None = said(
        fields.Dict(keys=fields.String()),
        "{chat_id, thread_id, slot, thread_name, reused}, or what is new of it; None where no thread"
        " came of it",
        None,
    )


@message("MutationFailed")
class MutationFailed:
    """It was not done."""

    reason: str = said(fields.String(), "a reason of TargetRefused or CommandFailed")
    text: str = said(fields.String(), "a sentence for the process that asked")
