"""What bots may react with: one of a fixed list, and no more than one to a message."""

from __future__ import annotations

from actors.sandbox.errors import bad_request

_VARIATION = "\ufe0f"
_EMOJI = (
    "👍 👎 ❤ 🔥 🥰 👏 😁 🤔 🤯 😱 🤬 😢 🎉 🤩 🤮 💩 🙏 👌 🕊 🤡 🥱 🥴 😍 🐳 "
    "❤‍🔥 🌚 🌭 💯 🤣 ⚡ 🍌 🏆 💔 🤨 😐 🍓 🍾 💋 🖕 😈 😴 😭 🤓 👻 👨‍💻 👀 🎃 "
    "🙈 😇 😨 🤝 ✍ 🤗 🫡 🎅 🎄 ☃ 💅 🤪 🗿 🆒 💘 🙉 🦄 😘 💊 🙊 😎 👾 🤷‍♂ 🤷 "
    "🤷‍♀ 😡"
).split()


def reaction_refusal(emoji: list[str]) -> Exception | None:
    """Whether Telegram refuses these; clients differ in the invisible variation mark."""
    if len(emoji) > 1:
        return bad_request("REACTIONS_TOO_MANY")
    if any(each.replace(_VARIATION, "") not in _EMOJI for each in emoji):
        return bad_request("REACTION_INVALID")
    return None
