"""What the TargetProvisioner is asked and answers: threads, from reuse to clean-up."""

from marshmallow import fields, validate

from messages.kind import message, said

REFUSALS = (
    "slots-taken",  # all 26 slots belong to live processes
    "ambiguous",  # an earlier creation may have happened; waiting for Telegram's word of it
    "telegram",  # Telegram said no or was not to be reached
    "topics-off",  # the bot has Threaded Mode switched off
    "name-taken",  # another thread is called so
    "superseded",  # the binding belongs to somebody else by now
    "deposed",  # this instance no longer leads
)

_SLOT = validate.Regexp(r"^[A-Z]$")


@message("ProvisionTarget")
class ProvisionTarget:
    """Give this follower its thread: the one it had, or a new one."""

    binding_key: str = said(fields.String(validate=validate.Length(1, 256)), "durable owner key")
    instance_id: str = said(fields.String(validate=validate.Length(1, 256)), "the live process")
    thread_name: str = said(fields.String(validate=validate.Length(1, 128)), "wanted name")
    place: str = said(fields.String(), "directory and host, for the announcement", "")
    carried_slot: str | None = said(fields.String(validate=_SLOT), "the slot it remembers", None)
    own: bool = said(fields.Boolean(), "the leading instance's own follower: never probed", False)


@message("ReplaceTarget")
class ReplaceTarget:
    """The thread of this follower is said to be gone: make sure, and give it a new one."""

    binding_key: str = said(fields.String(validate=validate.Length(1, 256)), "durable owner key")
    instance_id: str = said(fields.String(validate=validate.Length(1, 256)), "the live process")
    thread_id: int = said(fields.Integer(strict=True), "the thread that failed")
    error: str = said(fields.String(), "what Telegram said")


@message("TargetProvisioned")
class TargetProvisioned:
    """The follower's thread, recorded and active."""

    chat_id: int = said(fields.Integer(strict=True), "chat")
    thread_id: int | None = said(fields.Integer(strict=True), "thread; None without topics", None)
    slot: str = said(fields.String(validate=_SLOT), "letter, unique among current bindings")
    thread_name: str = said(fields.String(), "the name in force")
    reused: bool = said(fields.Boolean(), "whether the thread existed before")


@message("RemoveTarget")
class RemoveTarget:
    """Delete this follower's thread: an operator asked, or it is proven dead with clean-up on."""

    binding_key: str = said(fields.String(validate=validate.Length(1, 256)), "durable owner key")
    instance_id: str = said(fields.String(validate=validate.Length(1, 256)), "whose thread it was")
    generation: str = said(fields.String(), "registration generation")


@message("TargetRemoved")
class TargetRemoved:
    """The thread is confirmed deleted, or there was none."""


@message("CloseTarget")
class CloseTarget:
    """Delete the thread of a binding that no process stands behind: an operator asked."""

    binding_key: str = said(fields.String(validate=validate.Length(1, 256)), "durable owner key")


@message("RenameTarget")
class RenameTarget:
    """Give a thread another name, for good: an operator asked."""

    binding_key: str = said(fields.String(validate=validate.Length(1, 256)), "durable owner key")
    thread_name: str = said(fields.String(validate=validate.Length(1, 128)), "the new name")


@message("TargetRenamed")
class TargetRenamed:
    """Telegram shows the new name, and it is on record."""

    thread_name: str = said(fields.String(), "the name in force")


@message("PreserveTarget")
class PreserveTarget:
    """This follower is proven dead with clean-up off: keep its thread, slot and name."""

    binding_key: str = said(fields.String(validate=validate.Length(1, 256)), "durable owner key")
    instance_id: str = said(fields.String(validate=validate.Length(1, 256)), "the dead process")


@message("TargetPreserved")
class TargetPreserved:
    """The binding keeps its thread and has no instance; also when there was nothing to do."""


@message("ReplayCleanups")
class ReplayCleanups:
    """Finish what an earlier leader meant to delete, or cancel it where the owner came back."""


@message("CleanupsReplayed")
class CleanupsReplayed:
    """All intents were looked at."""

    pending: int = said(fields.Integer(strict=True), "intents that stay for later")


@message("TopicCreatedSeen")
class TopicCreatedSeen:
    """Telegram reported a thread that this bot created: an ambiguous creation can be settled."""

    chat_id: int = said(fields.Integer(strict=True), "chat")
    thread_id: int = said(fields.Integer(strict=True), "thread")
    name: str = said(fields.String(), "its name")


@message("TargetRefused")
class TargetRefused:
    """The answer when a thread could not be given, kept or removed."""

    reason: str = said(fields.String(validate=validate.OneOf(REFUSALS)), "see REFUSALS")
    text: str = said(fields.String(), "a sentence for the process that asked")
