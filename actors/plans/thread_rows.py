"""The writes of the TargetProvisioner, one sentence each; all but one name the epoch they are made under."""

from actors.plans.effects import Write


def bound(
    status: str,
    *,
    binding_key: str,
    instance_id: str,
    chat_id: int,
    thread_id: int,
    thread_name: str,
    slot: str | None,
    epoch: int,
    now: int,
) -> Write:
    """The thread is this binding's, `starting` or `active`, and this instance stands behind it."""
    arguments = {
        "binding_key": binding_key,
        "instance_id": instance_id,
        "chat_id": chat_id,
        "thread_id": thread_id,
        "thread_name": thread_name,
        "slot": slot,
        "epoch": epoch,
        "now": now,
    }
    return Write("bindings", f"record_{status}", arguments)


def with_action(write: Write, action: str) -> Write:
    """The same write of an active binding, saying what led to it."""
    return Write(write.store, write.method, {**write.arguments, "action": action})


def thread_gone(chat_id: int, thread_id: int, error: str, epoch: int, now: int) -> Write:
    """Telegram has no such thread: the binding goes, its name and letter stay known."""
    arguments = {
        "chat_id": chat_id,
        "thread_id": thread_id,
        "sync_status": "deleted",
        "error": error,
        "epoch": epoch,
        "now": now,
    }
    return Write("bindings", "mark_target_gone", arguments)


def slot_taken_away(binding_key: str, epoch: int, now: int) -> Write:
    """The letter is needed elsewhere; the thread stays."""
    arguments = {"binding_key": binding_key, "epoch": epoch, "now": now}
    return Write("bindings", "give_up_slot", arguments)


def process_gone(binding_key: str, instance_id: str, epoch: int, now: int) -> Write:
    """The thread stays without a process; a no-op when another instance has it by now."""
    arguments = {
        "binding_key": binding_key,
        "instance_id": instance_id,
        "epoch": epoch,
        "now": now,
    }
    return Write("bindings", "preserve_after_death", arguments)


def thread_renamed(binding_key: str, thread_name: str, epoch: int, now: int) -> Write:
    """The thread has another name."""
    arguments = {"binding_key": binding_key, "thread_name": thread_name, "epoch": epoch, "now": now}
    return Write("bindings", "rename", arguments)


def binding_removed(binding_key: str, epoch: int, now: int) -> Write:
    """Nobody's thread any more."""
    return Write("bindings", "remove", {"binding_key": binding_key, "epoch": epoch, "now": now})


def creation_begun(
    provision_id: str,
    *,
    binding_key: str,
    instance_id: str,
    thread_name: str,
    slot: str,
    chat_id: int,
    epoch: int,
    now: int,
) -> Write:
    """Telegram is about to be asked for a thread."""
    arguments = {
        "id": provision_id,
        "binding_key": binding_key,
        "instance_id": instance_id,
        "thread_name": thread_name,
        "slot": slot,
        "chat_id": chat_id,
        "epoch": epoch,
        "now": now,
    }
    return Write("pending_provisions", "begin", arguments)


def thread_noted(provision_id: str, thread_id: int, epoch: int) -> Write:
    """Telegram made this thread."""
    arguments = {"id": provision_id, "thread_id": thread_id, "epoch": epoch}
    return Write("pending_provisions", "record_target", arguments)


def thread_orphaned(
    provision_id: str, instance_id: str, provision_epoch: int, thread_id: int
) -> Write:
    """Telegram made this thread for a leader that was deposed meanwhile: word for the next one.

    Evidence, not a decision, and so the only write without the present epoch.
    """
    arguments = {
        "id": provision_id,
        "instance_id": instance_id,
        "provision_epoch": provision_epoch,
        "thread_id": thread_id,
    }
    return Write("pending_provisions", "record_orphan", arguments)


def creation_unclear(provision_id: str, epoch: int) -> Write:
    """Nobody knows whether the thread was made."""
    return Write("pending_provisions", "mark_ambiguous", {"id": provision_id, "epoch": epoch})


def creation_finished(provision_id: str, epoch: int) -> Write:
    """The thread was certainly not made, or its binding says all that is to be said."""
    return Write("pending_provisions", "finish", {"id": provision_id, "epoch": epoch})


def deletion_intended(
    *,
    binding_key: str,
    instance_id: str,
    generation: str,
    chat_id: int,
    thread_id: int,
    epoch: int,
    now: int,
) -> Write:
    """The thread is about to be deleted."""
    arguments = {
        "binding_key": binding_key,
        "instance_id": instance_id,
        "generation": generation,
        "chat_id": chat_id,
        "thread_id": thread_id,
        "epoch": epoch,
        "now": now,
    }
    return Write("pending_cleanups", "request", arguments)


def deletion_settled(cleanup_id: str, epoch: int) -> Write:
    """It is deleted, or is not to be any more."""
    return Write("pending_cleanups", "finish", {"id": cleanup_id, "epoch": epoch})
