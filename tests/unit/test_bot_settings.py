"""What a tree is told of its bot: read anew each time, because its owner may have changed."""

import pytest

from actors.bot_choice import ChosenBot
from actors.bot_settings import BotSettings, proof_ms
from stores.bus_schema import METADATA
from stores.config import BotConfig, Config
from stores.database import Database
from stores.lease import Lease, Owner
from stores.pairing import Pairing

TOKEN = "123456789:AAExampleExampleExampleExampleExamp"
OTHER = "987654321:AAExampleExampleExampleExampleExamp"


@pytest.fixture
def config(tmp_path):
    return Config(tmp_path / "config.json")


@pytest.fixture
def pairing(tmp_path):
    database = Database(tmp_path / "bus.db", METADATA, "bus")
    Lease(database).campaign(Lease(database).read(), Owner(1, "b", "1:start:1", "1:1"), 1, "s")
    yield Pairing(database)
    database.close()


def settings(config, pairing, owner_id=0, chat_id=0, **more):
    bot = ChosenBot("work", TOKEN, None, owner_id, chat_id, is_new=False)
    return BotSettings({"home": "/h"}, bot, config, pairing, **more)


def test_without_an_owner_the_tree_pairs(config, pairing):
    config.remember_bot(BotConfig("work", TOKEN))
    tree = settings(config, pairing).tree()
    assert (tree["owner_id"], tree["chat_id"], tree["pairing"], tree["proven"]) == (0, 0, True, False)
    assert (tree["home"], tree["bot_id"], tree["token_variable"]) == ("/h", 123456789, "")


def test_an_adopted_owner_is_written_down_with_the_chat(config, pairing):
    config.remember_bot(BotConfig("work", TOKEN, "http://x"))
    found = settings(config, pairing)
    found.adopt(5, 5)
    assert found.owner_and_chat() == (5, 5) and not found.tree()["pairing"]
    assert config.bot("work") == BotConfig("work", TOKEN, "http://x", 5, None)
    found.adopt(6, -100)
    assert found.owner_and_chat() == (6, -100)
    assert config.bot("work").chat_id == -100


def test_what_another_process_wrote_down_counts(config, pairing):
    found = settings(config, pairing, owner_id=5, chat_id=5)
    config.remember_bot(BotConfig("work", TOKEN, owner_id=7))
    assert found.owner_and_chat() == (7, 7)
    # Under this name there is another bot by now.
    config.remember_bot(BotConfig("work", OTHER, owner_id=9))
    assert found.owner_and_chat() == (5, 5)


def test_what_is_not_to_be_saved_lives_in_memory(config, pairing):
    found = settings(config, pairing, saves=False)
    found.adopt(5, 5)
    assert found.owner_and_chat() == (5, 5)
    assert found.tree()["token_variable"] == "TELEGRAM_BOT_TOKEN"
    assert not config.path.exists()


def test_the_practice_chat_asks_nobody(config, pairing):
    config.remember_bot(BotConfig("work", TOKEN, owner_id=7))
    tree = settings(config, pairing, owner_id=1001, chat_id=1001, practice=True).tree()
    assert (tree["owner_id"], tree["pairing"], tree["token_variable"]) == (1001, False, "")


def test_the_name_of_the_owner_is_known_from_the_pairing(config, pairing):
    pairing.open("KTRM-4827", "me", None, 10)
    found = settings(config, pairing, owner_id=5, chat_id=5)
    assert found.owner_name() is None
    pairing.record_paired("KTRM-4827", 5, "Ann", 5, epoch=1, now=3)
    assert found.owner_name() == "Ann"
    pairing.record_paired("KTRM-4827", 6, "Bob", 6, epoch=1, now=4)
    assert pairing.read().owner_id == 5, "the first one counts"
    assert settings(config, pairing, owner_id=6).owner_name() is None


def test_a_withdrawn_code_is_worth_nothing_and_a_settled_one_stays(pairing):
    pairing.open("KTRM-4827", "me", None, 10)
    pairing.withdraw("you", 3)
    assert pairing.read().expires_ms == 10
    pairing.count_try("KTRM-4827", epoch=1)
    pairing.withdraw("me", 3)
    assert (pairing.read().expires_ms, pairing.read().tries) == (3, 1)


@pytest.mark.parametrize(("given", "ms"), [("", 5_000), ("0.5", 500), ("0", 0), ("x", 5_000), ("inf", 5_000)])
def test_the_environment_may_shorten_the_proof(given, ms):
    assert proof_ms({"SWITCHBOARD_PROOF_S": given}) == ms
