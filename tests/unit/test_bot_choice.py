"""Which bot a process is for, and what is remembered of it."""

import json

import pytest

from actors.bot_choice import ChoiceRefused, Wanted, choose_bot, remember
from stores import token_variables
from stores.config import Config

TOKEN = "123456789:AAExampleExampleExampleExampleExamp"
OTHER = "987654321:AAExampleExampleExampleExampleExamp"


@pytest.fixture
def config(tmp_path):
    return Config(tmp_path / "config.json")


def refused(config, wanted, environment=None):
    with pytest.raises(ChoiceRefused) as refusal:
        choose_bot(config, wanted, environment or {})
    return refusal.value


def test_without_anything_it_is_the_practice_chat(config):
    assert choose_bot(config, Wanted(), {}) is None


def test_settings_of_a_bot_need_a_bot(config):
    assert refused(config, Wanted(owner_id=5, api_root="http://x")).status == 2


def test_a_token_without_an_owner_waits_for_its_pairing(config):
    bot = choose_bot(config, Wanted(), {"TELEGRAM_BOT_TOKEN": TOKEN})
    assert (bot.owner_id, bot.chat_id) == (0, 0)
    remember(config, bot, {})
    assert config.bot().owner_id is None


def test_what_was_given_is_remembered_for_the_next_process(config):
    given = {"TELEGRAM_BOT_TOKEN": f" {TOKEN}\n", "TELEGRAM_API_ROOT": "http://127.0.0.1:8081/"}
    bot = choose_bot(config, Wanted(owner_id=5), given)
    assert (bot.name, bot.bot_id, bot.api_root, bot.owner_id, bot.chat_id, bot.is_new) == (
        "default", 123456789, "http://127.0.0.1:8081", 5, 5, True
    )
    assert TOKEN not in repr(bot)
    remember(config, bot, given)
    again = choose_bot(config, Wanted(), {})
    assert (again.name, again.token, again.owner_id, again.is_new) == ("default", TOKEN, 5, False)
    assert config.path.stat().st_mode & 0o777 == 0o600


def test_flags_win_over_the_environment_and_that_over_the_configuration(config, tmp_path):
    given = {"TELEGRAM_BOT_TOKEN": TOKEN}
    remember(config, choose_bot(config, Wanted(owner_id=5), given), given)
    file = tmp_path / "token"
    file.write_text(OTHER + "\n")
    environment = {"TELEGRAM_BOT_TOKEN": TOKEN, "TELEGRAM_API_ROOT": "http://environment"}
    wanted = Wanted(token_file=str(file), owner_id=7, api_root="http://flag", chat_id=-100)
    bot = choose_bot(config, wanted, environment)
    assert (bot.token, bot.owner_id, bot.api_root, bot.chat_id) == (OTHER, 7, "http://flag", -100)
    assert bot.name == "bot-987654321"
    assert choose_bot(config, Wanted(), environment).api_root == "http://environment"


def test_a_bot_is_found_again_by_its_token(config):
    given = {"TELEGRAM_BOT_TOKEN": TOKEN}
    remember(config, choose_bot(config, Wanted("work", owner_id=5), given), given)
    bot = choose_bot(config, Wanted(), given)
    assert (bot.name, bot.owner_id) == ("work", 5)


def test_names_choose_among_bots(config):
    for name, token in (("work", TOKEN), ("home", OTHER)):
        given = {"TELEGRAM_BOT_TOKEN": token}
        remember(config, choose_bot(config, Wanted(name, owner_id=5), given), given)
    assert choose_bot(config, Wanted("home"), {}).token == OTHER
    assert choose_bot(config, Wanted(), {"SWITCHBOARD_BOT": "home"}).token == OTHER
    assert choose_bot(config, Wanted(), {}).name == "work"
    assert choose_bot(config, Wanted("practice"), {}) is None
    refusal = refused(config, Wanted("nobody"))
    assert refusal.status == 4
    assert "home, work" in str(refusal) or "work, home" in str(refusal)


@pytest.mark.parametrize("token", ["x", "12:", ":abc", "12:a b", "12:ä"])
def test_a_malformed_token_is_refused_and_not_shown(config, token):
    refusal = refused(config, Wanted(owner_id=5), {"TELEGRAM_BOT_TOKEN": token})
    assert refusal.status == 4
    assert token == "x" or token not in str(refusal)


def test_a_token_file_that_is_missing_or_none(config, tmp_path):
    assert refused(config, Wanted(token_file=str(tmp_path / "none"), owner_id=5)).status == 4
    assert refused(config, Wanted(token_file=str(tmp_path), owner_id=5)).status == 4
    assert refused(config, Wanted(token_file="a\0b", owner_id=5)).status == 4


@pytest.mark.parametrize("root", ["ftp://x", "127.0.0.1:80", "http://", "http://a b"])
def test_an_api_root_that_is_none(config, root):
    wanted = Wanted(owner_id=5, api_root=root)
    assert refused(config, wanted, {"TELEGRAM_BOT_TOKEN": TOKEN}).status == 2


def test_a_bot_name_that_is_none(config):
    assert refused(config, Wanted("a b")).status == 2


def test_a_token_that_lives_in_the_environment_stays_there(config):
    config.path.write_text(json.dumps({"bots": {"work": {"token": "$MY_TOKEN", "owner": 5}}}))
    assert refused(config, Wanted()).status == 4
    bot = choose_bot(config, Wanted(), {"MY_TOKEN": TOKEN})
    assert bot.token == TOKEN
    remember(config, bot, {"MY_TOKEN": TOKEN})
    assert TOKEN not in config.path.read_text()


def test_a_new_token_replaces_the_name_of_one(config):
    config.path.write_text(json.dumps({"bots": {"work": {"token": "$MY_TOKEN", "owner": 5}}}))
    newer = TOKEN[:-1] + "Z"
    environment = {"MY_TOKEN": TOKEN, "TELEGRAM_BOT_TOKEN": newer}
    bot = choose_bot(config, Wanted(), environment)
    assert (bot.name, bot.token, bot.owner_id) == ("work", newer, 5)
    remember(config, bot, environment)
    assert config.bot("work").token == newer


def test_a_name_stands_for_one_bot(config):
    environment = {"TELEGRAM_BOT_TOKEN": TOKEN}
    remember(config, choose_bot(config, Wanted("work", owner_id=5), environment), environment)
    refusal = refused(config, Wanted("work"), {"TELEGRAM_BOT_TOKEN": OTHER})
    assert refusal.status == 4
    assert str(refusal) == (
        "work is the bot 123456789; this token belongs to the bot 987654321. Give that one a name "
        "of its own: --bot NAME. Or change what work is: switchboard setup --bot work"
    )


def test_variables_with_tokens_are_taken_out_of_the_environment(config, monkeypatch):
    monkeypatch.setattr(token_variables, "_taken", {})
    config.path.write_text(json.dumps({"bots": {"work": {"token": "$MY_TOKEN", "owner": 5}}}))
    environment = {"MY_TOKEN": f"{TOKEN}\n", "OTHER": "x", "TELEGRAM_BOT_TOKEN": ""}
    token_variables.take(environment, [token_variables.GIVEN, *config.token_variables()])
    assert environment == {"OTHER": "x"}
    assert config.bot("work").resolved_token() == TOKEN
    assert choose_bot(config, Wanted(), token_variables.variables()).token == TOKEN


@pytest.mark.parametrize("content", [
    {"bots": {"work": {"token": TOKEN}}, "default_bot": "wrok"},
    {"bots": {"work": {"token": TOKEN}, "home": {"token": OTHER}}},
])
def test_a_bot_that_is_set_up_and_not_chosen_is_not_taken_for_none(config, content):
    config.path.write_text(json.dumps(content))
    config.path.chmod(0o600)
    refusal = refused(config, Wanted())
    assert refusal.status == 4
    assert str(refusal).startswith("None of the bots that are set up here (")
    assert choose_bot(config, Wanted(name="work"), {}).name == "work"
