"""The configuration: private, never half written, never touched when not understood."""

import json
import os
import stat
import traceback

import pytest

from stores.config import BotConfig, Config
from stores.errors import ConfigMalformed
from tests.support.forked import run_forked

TOKEN = "77:AAsecretsecretsecretsecretsecretsecret"
WORK = BotConfig("work", TOKEN, "http://127.0.0.1:8081", 5, -100)


@pytest.fixture
def config(tmp_path):
    return Config(tmp_path / "home" / "config.json")


def write(config, text):
    config.path.parent.mkdir(mode=0o700, exist_ok=True)
    config.path.write_text(text)


def test_nothing_is_configured_at_first(config):
    assert config.bots() == {} and config.bot() is None and config.bot("work") is None
    assert not config.path.parent.exists()


def test_a_bot_is_remembered(config):
    config.remember_bot(WORK)
    assert config.bot("work") == config.bot() == WORK
    config.remember_bot(BotConfig("home", TOKEN))
    assert config.bot() is None
    config.remember_bot(BotConfig("home", TOKEN), make_default=True)
    assert config.bot() == BotConfig("home", TOKEN)
    assert set(config.bots()) == {"work", "home"}
    config.forget_bot("home")
    assert config.bot() == WORK


def test_what_is_not_known_any_more_is_left_out(config):
    config.remember_bot(WORK)
    config.remember_bot(BotConfig("work", TOKEN))
    assert json.loads(config.path.read_text()) == {"bots": {"work": {"token": TOKEN}}}


@pytest.mark.case("F220")
def test_the_file_is_private_whatever_the_umask(config):
    before = os.umask(0)
    try:
        config.remember_bot(WORK)
    finally:
        os.umask(before)
    assert stat.S_IMODE(config.path.parent.stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in config.path.parent.iterdir()} == {0o600}


def test_a_token_may_be_the_name_of_a_variable(config):
    config.remember_bot(BotConfig("work", "$WORK_TOKEN"))
    found = config.bot()
    assert found.token == "$WORK_TOKEN"
    assert found.resolved_token({"WORK_TOKEN": TOKEN}) == TOKEN
    assert found.resolved_token({}) is None
    assert WORK.resolved_token({}) == TOKEN


def test_the_token_shows_in_no_text(config):
    assert TOKEN not in repr(WORK) + str(WORK)


def test_what_others_wrote_beside_it_stays(config):
    write(config, '{"theme": "dark", "bots": {"old": {"token": "1:a", "nick": "o"}}}')
    config.remember_bot(WORK)
    config.remember_bot(BotConfig("old", "1:b"))
    content = json.loads(config.path.read_text())
    assert content["theme"] == "dark" and content["bots"]["old"] == {"token": "1:b", "nick": "o"}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("{", "line 1"),
        ("", "line 1"),
        ("[]", "not an object"),
        ('{"bots": 5}', "bots"),
        ('{"bots": {"work": {}}}', "bots.work.token"),
        (f'{{"bots": {{"work": {{"token": "x{TOKEN}"}}}}}}', "bots.work.token: Not a bot token"),
        (f'{{"bots": {{"work": {{"token": "{TOKEN}", "owner": "5"}}}}}}', "bots.work.owner"),
        (f'{{"bots": {{"work": {{"token": "{TOKEN}", "api_root": "x"}}}}}}', "bots.work.api_root"),
        (f'{{"bots": {{"{TOKEN}": {{"token": "1:a"}}}}}}', "Not a bot name"),
        (f'{{"bots": {{"work": {{"token": "{TOKEN}",}}}}}}', "line 1"),
        ("[" * 100_000, "not JSON text"),
    ],
)
def test_a_malformed_file_is_named_with_a_reason_and_left_alone(config, text, reason):
    write(config, text)
    for use in (config.bots, lambda: config.remember_bot(WORK)):
        with pytest.raises(ConfigMalformed) as raised:
            use()
        sentence = str(raised.value)
        assert str(config.path) in sentence and reason in sentence and "\n" not in sentence
        assert TOKEN not in "".join(traceback.format_exception(raised.value))
    assert config.path.read_text() == text


def test_bytes_that_are_no_text_are_malformed(config):
    write(config, "")
    config.path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ConfigMalformed):
        config.bots()


def test_a_wrong_value_is_refused_before_it_is_written(config):
    config.remember_bot(WORK)
    before = config.path.read_text()
    with pytest.raises(ConfigMalformed):
        config.remember_bot(BotConfig("work", "no token"))
    assert config.path.read_text() == before


def test_no_change_is_no_write(config):
    config.remember_bot(WORK)
    before = config.path.stat().st_ino
    config.remember_bot(WORK)
    assert config.path.stat().st_ino == before


@pytest.mark.case("F214")
def test_two_processes_change_different_things_and_both_stay(config):
    def change(number):
        def run():
            for turn in range(10):
                config.remember_bot(BotConfig(f"bot{number}", f"{number}:{turn}"))
        return run

    run_forked([change(number) for number in range(4)])
    assert {bot.token for bot in config.bots().values()} == {f"{number}:9" for number in range(4)}
