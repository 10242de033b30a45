"""Each trouble of a bot is told once on the terminal, and once that it is over."""

import io

from actors import instance_texts as texts
from actors.bulletins import Bulletins
from actors.plans.call_result import TOKEN_OF_ANOTHER_BOT
from actors.terminal import Terminal
from messages.texts import RIGHTS_MISSING, TOPICS_OFF_PRIVATE

OFF = texts.THREADED_MODE_OFF.format(bot="@work_bot")


class Desk:
    """Bulletins, with what they said."""

    def __init__(self):
        self.errors = io.StringIO()
        self.bulletins = Bulletins(Terminal(io.StringIO(), self.errors), lambda: "@work_bot")

    def hear(self, name, in_private=True, **body):
        self.bulletins.hear(name, body, in_private)
        return self

    @property
    def said(self):
        lines = self.errors.getvalue().splitlines()
        self.errors.seek(0)
        self.errors.truncate()
        return lines


def test_a_conflict_is_named_once_and_its_end_once():
    desk = Desk()
    for _ in range(2):
        desk.hear("poll-conflict", cause="foreign-poller")
    assert desk.said == [texts.POLL_CONFLICT.format(bot="@work_bot")]
    desk.hear("poll-conflict", cause="webhook")
    assert desk.said == [texts.WEBHOOK.format(bot="@work_bot")]
    for _ in range(2):
        desk.hear("poll-conflict", cause="solved")
    assert desk.said == ["Solved. Messages arrive again."]


def test_a_refused_token_and_one_of_another_bot_are_told_apart():
    desk = Desk().hear("token-refused", text="Unauthorized").hear("token-refused", text="…")
    assert desk.said == [texts.TOKEN_REFUSED_LATER]
    desk.hear("token-refused", text=TOKEN_OF_ANOTHER_BOT)
    assert desk.said == [texts.TOKEN_OF_ANOTHER_BOT.format(bot="@work_bot")]
    assert desk.hear("token-accepted").hear("token-accepted").said == [texts.TOKEN_ACCEPTED]


def test_threads_that_are_off_have_one_sentence_whoever_finds_out():
    desk = Desk().hear("bot", topics=False).hear("registration-refused", text=TOPICS_OFF_PRIVATE)
    assert desk.said == [OFF]
    assert desk.hear("bot", topics=True).said == ["@work_bot has Threaded Mode on again."]
    desk.bulletins.refused(TOPICS_OFF_PRIVATE)
    assert desk.said == [OFF]
    desk.bulletins.followed()
    assert desk.hear("bot", topics=True).said == []


def test_in_a_group_threads_are_no_matter_of_the_bot():
    assert Desk().hear("bot", in_private=False, topics=False).said == []


def test_other_refusals_have_their_own_words():
    desk = Desk().hear("registration-refused", text="All letters are taken.")
    assert desk.said == ["No thread yet: All letters are taken. This process tries again by itself."]
    desk.hear("registration-refused", text="Bad Request: no idea")
    assert desk.said == ["No thread yet: Bad Request: no idea. This process tries again by itself."]
    desk.hear("registration-refused", text=RIGHTS_MISSING)
    assert desk.said == [f"No thread yet: {RIGHTS_MISSING}"]


def test_an_unreachable_network_is_told_until_it_is_proven_otherwise():
    desk = Desk().hear("unreachable").hear("unreachable")
    assert desk.said == [texts.UNREACHABLE]
    assert desk.hear("proven").hear("serving").said == []
    assert desk.hear("unreachable").said == [texts.UNREACHABLE]
