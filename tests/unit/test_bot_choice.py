"""Which bot a process is for, and what is remembered of it."""

import json

import pytest

from actors.bot_choice import ChoiceRefused, Wanted, choose_bot, remember
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


def test_a_token_needs_an_owner(config):
    refusal = refused(config, Wanted(), {"TELEGRAM_BOT_TOKEN": TOKEN})
    assert refusal.status == 2
    assert "--owner USER_ID" in str(refusal)
    assert TOKEN not in str(refusal)


def test_what_was_given_is_remembered_for_the_next_process(config):
    given = {"TELEGRAM_BOT_TOKEN": f" {TOKEN}\n", "TELEGRAM_API_ROOT": "http://127.0.0.1:8081/"}
    bot = choose_bot(config, Wanted(owner_id=5), given)
    assert (bot.name, bot.bot_id, bot.api_root, bot.owner_id, bot.chat_id, bot.is_new) == (
        "default", 123456789, "http://127.0.0.1:8081", 5, 5, True
    )
    assert TOKEN not in repr(bot)
    remember(config, bot)
    again = choose_bot(config, Wanted(), {})
    assert (again.name, again.token, again.owner_id, again.is_new) == ("default", TOKEN, 5, False)
    assert config.path.stat().st_mode & 0o777 == 0o600


def test_flags_win_over_the_environment_and_that_over_the_configuration(config, tmp_path):
    remember(config, choose_bot(config, Wanted(owner_id=5), {"TELEGRAM_BOT_TOKEN": TOKEN}))
    file = tmp_path / "token"
    file.write_text(OTHER + "\n")
    environment = {"TELEGRAM_BOT_TOKEN": TOKEN, "TELEGRAM_API_ROOT": "http://environment"}
    wanted = Wanted(token_file=str(file), owner_id=7, api_root="http://flag", chat_id=-100)
    bot = choose_bot(config, wanted, environment)
    assert (bot.token, bot.owner_id, bot.api_root, bot.chat_id) == (OTHER, 7, "http://flag", -100)
    assert bot.name == "bot-987654321"
    assert choose_bot(config, Wanted(), environment).api_root == "http://environment"


def test_a_bot_is_found_again_by_its_token(config):
    remember(config, choose_bot(config, Wanted("work", owner_id=5), {"TELEGRAM_BOT_TOKEN": TOKEN}))
    bot = choose_bot(config, Wanted(), {"TELEGRAM_BOT_TOKEN": TOKEN})
    assert (bot.name, bot.owner_id) == ("work", 5)


def test_names_choose_among_bots(config):
    for name, token in (("work", TOKEN), ("home", OTHER)):
        given = {"TELEGRAM_BOT_TOKEN": token}
        remember(config, choose_bot(config, Wanted(name, owner_id=5), given))
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
    remember(config, bot)
    assert TOKEN not in config.path.read_text()


def test_status_needs_no_owner(config):
    environment = {"TELEGRAM_BOT_TOKEN": TOKEN}
    assert choose_bot(config, Wanted(), environment, owner_needed=False).owner_id == 0
