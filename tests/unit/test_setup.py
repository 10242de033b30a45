"""What setup asks, says first, and writes; Telegram is played by a stand-in."""

import json
import os

import pytest

from actors import setup
from actors.bot_check import BotIdentity, TelegramUnreachable, TokenRefused
from actors.bot_choice import ChoiceRefused, Wanted
from stores import token_variables
from stores.config import BotConfig, Config
from stores.home import Home

TOKEN = "123456789:AAExampleExampleExampleExampleExamp"
OTHER = "987654321:AAExampleExampleExampleExampleExamp"


class Telegram:
    """Stands in for BotCheck; what it is asked is kept."""

    def __init__(self):
        self.identity_of = {}
        self.hook = ""
        self.asked = []

    def __call__(self, home, token, api_root):
        self.token = token
        return self

    def identity(self):
        found = self.identity_of.get(self.token, BotIdentity("work_bot", True))
        if isinstance(found, Exception):
            raise found
        return found

    def webhook(self):
        return self.hook

    def delete_webhook(self):
        self.asked.append("delete webhook")

    def wait_for_topics(self):
        self.asked.append("wait for topics")


class Person:
    """Types what the test has prepared; what was shown is kept."""

    def __init__(self, *typed, is_terminal=True):
        self.typed = list(typed)
        self.is_terminal = is_terminal
        self.shown = []

    def tell(self, text):
        self.shown.append(text)

    def token(self, question):
        self.shown.append(question)
        return self.typed.pop(0)

    def agrees(self, question):
        self.shown.append(question)
        return self.typed.pop(0) == "y"


@pytest.fixture
def telegram(monkeypatch):
    played = Telegram()
    monkeypatch.setattr(setup, "BotCheck", played)
    monkeypatch.setattr(token_variables, "_taken", {})
    return played


@pytest.fixture
def home(tmp_path, telegram):
    return Home(tmp_path / "home").ensure()


def run(home, person, wanted=Wanted(), new_owner=False, environment=None):
    return setup.Setup(home, wanted, new_owner, person, environment or {}).run()


def known(home, **more):
    Config(home.config).remember_bot(BotConfig("default", TOKEN, owner_id=5, **more), make_default=True)


def saved(home):
    return json.loads(home.config.read_text())["bots"]


def test_the_first_bot_is_asked_for_and_becomes_the_default(home):
    person = Person(TOKEN)
    bot, needs_owner = run(home, person)
    assert (bot.name, bot.identity.shown, needs_owner) == ("default", "@work_bot", True)
    assert saved(home) == {"default": {"token": TOKEN}}
    assert person.shown[-2:] == [
        "This is @work_bot.",
        f'Saved as "default" in {home.config}, which only you can read.',
    ]
    assert not [text for text in person.shown if TOKEN in text]


def test_a_token_may_be_typed_three_times_and_a_refused_one_changes_nothing(home, telegram):
    telegram.identity_of[OTHER] = TokenRefused()
    with pytest.raises(ChoiceRefused) as refusal:
        run(home, Person("nonsense", OTHER, OTHER))
    assert (refusal.value.status, str(refusal.value)) == (4, "Telegram refused the token. Nothing was changed.")
    assert not home.config.exists()
    assert run(home, Person("nonsense", OTHER, TOKEN))[0].token == TOKEN


def test_without_an_answer_of_telegram_nothing_is_changed(home, telegram):
    telegram.identity_of[TOKEN] = TelegramUnreachable("No route.")
    with pytest.raises(ChoiceRefused) as refusal:
        run(home, Person(TOKEN))
    assert str(refusal.value) == "Telegram cannot be reached, so nothing was changed. No route."
    assert not home.config.exists()


def test_what_is_left_empty_stays(home):
    known(home, chat_id=-100)
    before = saved(home)
    person = Person("", "n")
    bot, needs_owner = run(home, person)
    assert (bot.known.owner_id, needs_owner) == (5, False)
    assert saved(home) == before
    assert person.shown[0] == (
        '"default" is the bot 123456789 (owner user 5). What you enter now replaces that; the rest stays.'
    )


def test_a_new_owner_is_found_only_after_a_yes(home):
    known(home)
    assert run(home, Person("", "y"))[1]
    assert saved(home)["default"]["owner"] == 5, "the present one is obeyed until there is another"
    person = Person("")
    assert run(home, person, new_owner=True)[1]
    assert "It gets a new owner; the present one is obeyed until then." in person.shown[0]


def test_another_bot_under_the_same_name_is_said_first(home, telegram):
    known(home)
    telegram.identity_of[OTHER] = BotIdentity("other_bot", True)
    with pytest.raises(ChoiceRefused) as refusal:
        run(home, Person(OTHER, "n"))
    assert (refusal.value.status, str(refusal.value)) == (
        3, "Nothing was changed. Give this bot a name of its own: switchboard setup --bot NAME"
    )
    assert saved(home) == {"default": {"token": TOKEN, "owner": 5}}
    person = Person(OTHER, "y")
    bot, needs_owner = run(home, person)
    assert needs_owner and bot.known is None
    assert saved(home) == {"default": {"token": OTHER}}
    assert (
        '"default" was the bot 123456789; it becomes @other_bot. The threads of the former one stay '
        "with it, and the owner is asked for anew."
    ) in person.shown


def test_a_given_token_of_another_bot_gets_a_name_of_its_own(home):
    known(home)
    bot, needs_owner = run(home, Person(), environment={"TELEGRAM_BOT_TOKEN": OTHER})
    assert (bot.name, needs_owner) == ("bot-987654321", True)
    assert saved(home)["default"] == {"token": TOKEN, "owner": 5}
    assert Config(home.config).bot().name == "default"


def test_a_variable_is_kept_as_its_name_and_leaves_the_environment(home, monkeypatch):
    monkeypatch.setenv("WORK_TOKEN", TOKEN)
    bot, _ = run(home, Person("$WORK_TOKEN"), environment=token_variables.variables())
    assert bot.token == TOKEN
    assert saved(home) == {"default": {"token": "$WORK_TOKEN"}}
    assert "WORK_TOKEN" not in os.environ


def test_a_webhook_is_removed_with_a_yes_only(home, telegram):
    telegram.hook = "https://elsewhere.example.org/secret-path"
    for person in (Person(TOKEN, "n"), Person(is_terminal=False)):
        with pytest.raises(ChoiceRefused) as refusal:
            run(home, person, environment={} if person.typed else {"TELEGRAM_BOT_TOKEN": TOKEN})
        assert refusal.value.status == 3
        assert (telegram.asked, home.config.exists()) == ([], False)
        assert not [text for text in person.shown if "secret-path" in text]
    run(home, Person(TOKEN, "y"))
    assert telegram.asked == ["delete webhook"]


@pytest.mark.parametrize(("chat", "waits"), [(None, ["wait for topics"]), (-100, [])])
def test_threads_are_waited_for_where_they_are_the_matter_of_the_bot(home, telegram, chat, waits):
    telegram.identity_of[TOKEN] = BotIdentity("work_bot", False)
    person = Person(TOKEN)
    run(home, person, Wanted(chat_id=chat))
    assert telegram.asked == waits
    off = (
        "@work_bot has Threaded Mode off, so only one process can use it. Switch it on in @BotFather; "
        "this continues by itself."
    )
    assert (off in person.shown) == bool(waits)


def test_the_practice_chat_is_no_bot_to_set_up(home):
    with pytest.raises(ChoiceRefused) as refusal:
        run(home, Person(), Wanted(name="practice"))
    assert refusal.value.status == 2
