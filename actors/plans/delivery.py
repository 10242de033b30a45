"""What one delivery asks of the session: pure readings of the carrier that Telegram gave.

A carrier is data from outside: whatever is missing or of another type makes it mean nothing, never
an error, because the delivery is accepted already.
"""

import dataclasses
import enum
from collections.abc import Mapping
from typing import Any


class Content(enum.StrEnum):
    """What a delivery asks for."""

    PROMPT = "prompt"
    STOP = "stop"
    STATUS = "status"
    HELP = "help"
    NEW = "new"
    CLOSE = "close"
    NO_TEXT = "no-text"
    """A message that a person sent, but without any text."""

    EDIT = "edit"
    PRESS = "press"
    NOTHING = "nothing"
    """Service messages, reactions, and what cannot be read."""


COMMANDS: Mapping[str, Content] = {
    "/stop": Content.STOP,
    "/abort": Content.STOP,
    "/status": Content.STATUS,
    "/help": Content.HELP,
    "/start": Content.HELP,
    "/new": Content.NEW,
    "/close": Content.CLOSE,
}

ATTACHMENTS: Mapping[str, str] = {
    # An animation is a document too, and a venue a location: the more exact word comes first.
    "animation": "animation",
    "audio": "audio",
    "photo": "photo",
    "video": "video",
    "video_note": "video message",
    "voice": "voice message",
    "sticker": "sticker",
    "venue": "place",
    "location": "place",
    "contact": "contact",
    "poll": "poll",
    "dice": "dice",
    "game": "game",
    "story": "story",
    "paid_media": "paid media",
    "document": "file",
}
"""What people send besides text, and the word for it."""


@dataclasses.dataclass(frozen=True, slots=True)
class Progress:
    """How far the telling of a delivery got; kept in its row, so that a successor knows."""

    asked: bool = False
    """Whether the question about it was shown."""

    parts: tuple[str, ...] | None = None
    """The finished answer, None while there is none."""

    sent: int = 0
    """How many of the parts are surely in the thread; the next one may be as well."""

    draft: int | None = None
    """The message that showed the run and becomes the first part."""

    def to_plain(self) -> dict[str, Any]:
        """As it is kept."""
        parts = None if self.parts is None else list(self.parts)
        return {"asked": self.asked, "parts": parts, "sent": self.sent, "draft": self.draft}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> "Progress":
        """As it was kept; an empty mapping is a delivery that nothing was told about."""
        parts = plain.get("parts")
        return cls(
            asked=bool(plain.get("asked", False)),
            parts=None if parts is None else tuple(parts),
            sent=int(plain.get("sent", 0)),
            draft=plain.get("draft"),
        )


@dataclasses.dataclass(frozen=True, slots=True)
class Item:
    """A delivery in the hands of the session."""

    delivery_id: str
    content: Content
    order: int = 0
    """Its place in the order of admission."""

    chat_id: int = 0
    message_id: int | None = None
    """The message itself; of a press, the message that carries the button."""

    text: str = ""
    sent_at: int | None = None
    """When Telegram got it, in milliseconds; the clock of Telegram has whole seconds."""

    attachment: str = ""
    """The word for what came with the text."""

    callback_id: str | None = None
    attempts: int = 0
    due_at: int = 0
    """Not to be tried before this instant of the boot clock."""

    late: bool = False
    """Whether it was sent while this process did not run."""

    progress: Progress = Progress()

    @property
    def token(self) -> str:
        """Eight characters that name the delivery in the data of a button."""
        return self.delivery_id[-8:]

    def resumed(self, attempts: int, due_at: int, progress: Progress) -> "Item":
        """As an earlier process left it."""
        return dataclasses.replace(self, attempts=attempts, due_at=due_at, progress=progress)


def read(delivery_id: str, kind: str, carrier: Mapping[str, Any]) -> Item:
    """What the carrier of a delivery asks for."""
    if kind == "callback_query":
        return _read_press(delivery_id, carrier)
    chat = carrier.get("chat")
    chat_id = chat.get("id") if isinstance(chat, Mapping) else None
    message_id, date = carrier.get("message_id"), carrier.get("date")
    if not isinstance(chat_id, int) or not isinstance(message_id, int):
        return Item(delivery_id, Content.NOTHING)
    text = carrier.get("text", carrier.get("caption"))
    text = text if isinstance(text, str) else ""
    return Item(
        delivery_id,
        _content(kind, text, carrier),
        chat_id=chat_id,
        message_id=message_id,
        text=text,
        sent_at=date * 1_000 if isinstance(date, int) else None,
        attachment=next((word for key, word in ATTACHMENTS.items() if key in carrier), ""),
    )


def command_of(text: str) -> Content | None:
    """The command that a message is, whatever its case and whichever bot it names."""
    words = text.split(maxsplit=1)
    name = words[0].partition("@")[0].lower() if words else ""
    return COMMANDS.get(name)


def _content(kind: str, text: str, carrier: Mapping[str, Any]) -> Content:
    if kind == "edited_message":
        return Content.EDIT if text.strip() else Content.NOTHING
    if kind != "message":
        return Content.NOTHING
    if text.strip():
        return command_of(text) or Content.PROMPT
    return Content.NO_TEXT if ATTACHMENTS.keys() & carrier.keys() else Content.NOTHING


def _read_press(delivery_id: str, carrier: Mapping[str, Any]) -> Item:
    callback_id, data, message = (carrier.get(key) for key in ("id", "data", "message"))
    message_id = message.get("message_id") if isinstance(message, Mapping) else None
    if not isinstance(callback_id, str):
        return Item(delivery_id, Content.NOTHING)
    return Item(
        delivery_id,
        Content.PRESS,
        message_id=message_id if isinstance(message_id, int) else None,
        text=data if isinstance(data, str) else "",
        callback_id=callback_id,
    )
