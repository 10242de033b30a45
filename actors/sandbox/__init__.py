"""The practice chat: a Bot API on this machine with a chat page."""
