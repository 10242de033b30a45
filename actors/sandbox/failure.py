"""The practice chat could not be started or found; the message says why in one sentence."""

from __future__ import annotations


class PracticeChatFailed(Exception):
    """The practice chat could not start."""
