"""What the session asks for, in its own words: pure constructors of effects."""

from typing import Any

from actors.plans.delivery import Content, Item
from actors.plans.effects import Effect, Now, Perform, Write
from actors.plans.question import Buttons, Held, buttons_of, text_of

RETRY_WAITS_MS = (1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000)
"""How long failures one to seven wait; the failure after them is the last."""

TRIES = len(RETRY_WAITS_MS) + 1
STORE = "deliveries"


def write(method: str, item: Item, now: Now, **arguments: Any) -> Effect:
    """Change the row of a delivery."""
    return Write(
        STORE, method, {"delivery_id": item.delivery_id, "now": now.wall, **arguments}
    )


def keep_progress(item: Item, now: Now) -> Effect:
    """Remember how far the telling of a delivery got."""
    return write("record_progress", item, now, progress=item.progress.to_plain())


def run(item: Item) -> Effect:
    """Run a prompt."""
    sent_at = item.sent_at if item.late else None
    remark = "edited" if item.content is Content.EDIT else item.attachment
    arguments = {
        "text": item.text,
        "reply_to": item.message_id,
        "sent_at": item.sent_at,
        "sent_while_stopped": sent_at,
        "remark": remark,
    }
    return Perform("run", item.delivery_id, arguments)


def deliver(item: Item) -> Effect:
    """Send what is left of an answer."""
    progress = item.progress
    arguments = {
        "parts": (progress.parts or ())[progress.sent:],
        "draft": progress.draft,
        "reply_to": item.message_id if progress.sent == 0 else None,
    }
    return Perform("deliver", item.delivery_id, arguments)


def say(operation: str, item: Item, text: str, buttons: Buttons = ()) -> Effect:
    """Say one thing about a delivery."""
    # A press has no message of its own to answer to: its message is ours.
    reply_to = None if item.content is Content.PRESS else item.message_id
    arguments = {"text": text, "reply_to": reply_to, "buttons": buttons}
    return Perform(operation, item.delivery_id, arguments)


def ask(held: Held) -> Effect:
    """Show a question."""
    arguments = {
        "text": text_of(held, TRIES),
        "reply_to": held.item.message_id,
        "buttons": buttons_of(held),
    }
    return Perform("ask", held.item.delivery_id, arguments)


def answer_press(press: Item, text: str | None) -> Effect:
    """End the waiting of a pressed button."""
    arguments = {"callback_id": press.callback_id, "text": text}
    return Perform("answer_callback", press.delivery_id, arguments)


def rewrite(press: Item, text: str) -> Effect:
    """Turn the question that was pressed into its outcome."""
    return Perform("rewrite", press.delivery_id, {"message_id": press.message_id, "text": text})
