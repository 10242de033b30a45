"""The thread of this process over the bus: what the session says, as Bot API calls."""

from collections.abc import Sequence
from typing import Any

from actors.follower import Follower
from actors.thread import Button, CallRefused, LeaderUnavailable
from messages.bus import Target

_UNCHANGED = "message is not modified"


class BusThread:
    """The `Thread` of `actors.thread` that a follower gives to its session."""

    def __init__(self, follower: Follower) -> None:
        self._follower = follower

    async def send(
        self, text: str, *, reply_to: int | None = None, buttons: Sequence[Button] | None = None
    ) -> int:
        """Send a message into the thread; returns its id."""
        body = {**self._place(), "text": text, "link_preview_options": {"is_disabled": True}}
        if reply_to is not None:
            body["reply_parameters"] = {
                "message_id": reply_to,
                "allow_sending_without_reply": True,
            }
        if buttons:
            body["reply_markup"] = _keyboard(buttons)
        sent = await self._follower.call("sendMessage", body)
        if not isinstance(sent, dict) or not isinstance(sent.get("message_id"), int):
            raise CallRefused("Telegram returned no message.")
        return sent["message_id"]

    async def edit(
        self, message_id: int, text: str, buttons: Sequence[Button] | None = None
    ) -> None:
        """Replace text and buttons of a message of ours."""
        body = {
            "chat_id": self._target().chat_id,
            "message_id": message_id,
            "text": text,
            "link_preview_options": {"is_disabled": True},
        }
        if buttons:
            body["reply_markup"] = _keyboard(buttons)
        try:
            await self._follower.call("editMessageText", body)
        except CallRefused as refused:
            if _UNCHANGED not in refused.description:
                raise

    async def typing(self) -> None:
        """Show that something is being done."""
        await self._follower.call("sendChatAction", {**self._place(), "action": "typing"})

    async def answer_callback(self, callback_id: str, text: str | None = None) -> None:
        """End the waiting of a pressed button."""
        body: dict[str, Any] = {"callback_query_id": callback_id}
        if text:
            body["text"] = text
        await self._follower.call("answerCallbackQuery", body)

    async def leave(self) -> None:
        """Give the thread up."""
        await self._follower.leave()

    def _target(self) -> Target:
        target = self._follower.plan.target
        if target is None:
            raise LeaderUnavailable("this process has no thread yet")
        return target

    def _place(self) -> dict[str, Any]:
        target = self._target()
        place: dict[str, Any] = {"chat_id": target.chat_id}
        if target.thread_id is not None:
            place["message_thread_id"] = target.thread_id
        return place


def _keyboard(buttons: Sequence[Button]) -> dict[str, Any]:
    row = [{"text": button.label, "callback_data": button.data} for button in buttons]
    return {"inline_keyboard": [row]}
