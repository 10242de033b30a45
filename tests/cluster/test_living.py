"""Living with a bot: what a person meets, with the sentence they read; nothing ends that should live."""

import contextlib
import json
import re
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from sqlalchemy import update

from stores.bus_schema import METADATA, SETTINGS
from stores.database import Database
from tests.support.cluster import Cluster, Instance, running_cluster
from tests.support.eventually import eventually
from tests.support.own_bot import OWNER, OwnBot, configure, own_bot

ANOTHER = "Another program reads this bot; messages may go astray. Stop it or give it its own bot."
SOLVED = "Solved. Messages arrive again."


@pytest.fixture
def bot(tmp_path: Path, cluster: Cluster) -> Iterator[OwnBot]:
    """A bot that the cluster is set up with."""
    with own_bot(tmp_path / "telegram", cluster) as own:
        configure(cluster, own.token)
        yield own


def hears(instance: Instance, sentence: str, times: int = 1, within: float = 15.0) -> None:
    """Wait until the terminal of this process shows a sentence that often, and no more."""
    eventually(lambda: instance.stderr.splitlines().count(sentence) >= times, within)
    assert instance.stderr.splitlines().count(sentence) == times


def is_polled(bot: OwnBot) -> bool:
    """Whether a long poll waits now."""
    polls = bot.practice.calls("getUpdates")
    return bool(polls) and polls[-1]["outcome"] == "running" and "offset" in polls[-1]["params"]


@contextlib.contextmanager
def read_by_another(bot: OwnBot) -> Iterator[None]:
    """Another program polls the bot while the block runs; bounded, and ends by itself."""
    over = threading.Event()

    def poll() -> None:
        for _ in range(120):
            bot.server.call("getUpdates", timeout=0)
            if over.wait(0.5):
                return

    other = threading.Thread(target=poll)
    other.start()
    try:
        yield
    finally:
        over.set()
        other.join(10)


def shown_status(cluster: Cluster) -> str:
    """`status`, for people."""
    return cluster.run("status", "--home", str(cluster.home)).stdout


def test_a_second_machine_yields_and_changes_nothing(
    cluster: Cluster, bot: OwnBot, tmp_path: Path
) -> None:
    """A home that never led the bot watches it first; one that did takes it up at once."""
    first = cluster.start(name="api")
    (tmp_path / "laptop").mkdir()
    with running_cluster(tmp_path / "laptop") as laptop:
        laptop.env |= {"SWITCHBOARD_PROOF_S": "4", "TELEGRAM_API_ROOT": bot.api_root}
        configure(laptop, bot.token)
        other = laptop.start(ready=False)
        assert other.wait_exit(15) == 3
        assert other.stderr.splitlines()[-1] == (
            f"Another machine or program reads {bot.shown}. Nothing was changed. "
            "Use one bot per machine: switchboard setup --bot laptop"
        )
    assert [thread["name"] for thread in bot.threads_of(OWNER)] == ["api"]
    thread = cluster.thread_of("api")["thread_id"]
    bot.practice.write("still there?", thread)
    cluster.wait_answer(thread, "still there?")
    assert first.process.poll() is None


def test_another_reader_is_named_once_and_its_end_too(cluster: Cluster, bot: OwnBot) -> None:
    """In the chat, on the terminal and in status; polling goes on by itself."""
    leader = cluster.start(name="api")
    eventually(lambda: is_polled(bot), 5)
    with read_by_another(bot):
        eventually(lambda: ANOTHER in bot.said_to(OWNER), 5)
        hears(leader, ANOTHER.replace("this bot", bot.shown))
        assert "another program reads this bot" in shown_status(cluster)
    eventually(lambda: SOLVED in bot.said_to(OWNER), 30)
    hears(leader, SOLVED)
    assert bot.said_to(OWNER) == [ANOTHER, SOLVED]
    thread = cluster.thread_of("api")["thread_id"]
    bot.practice.write("and now?", thread)
    cluster.wait_answer(thread, "and now?")


def test_a_webhook_is_named_and_left_to_whoever_set_it(cluster: Cluster, bot: OwnBot) -> None:
    """Messages wait at Telegram meanwhile."""
    leader = cluster.start(name="api")
    thread = cluster.thread_of("api")["thread_id"]
    bot.server.call("setWebhook", url="https://elsewhere.example.org/hook")
    hears(
        leader,
        f"A webhook is set on {bot.shown}, so its messages go elsewhere. Remove it there, or with: "
        "switchboard setup. This continues by itself.",
    )
    bot.practice.write("waits", thread)
    assert "a webhook is set on this bot" in " ".join(shown_status(cluster).split())
    assert bot.practice.state()["webhook"]["url"] == "https://elsewhere.example.org/hook"
    bot.server.call("deleteWebhook")
    cluster.wait_answer(thread, "waits")
    hears(leader, SOLVED)
    assert bot.said_to(OWNER) == [] and not leader.process.poll()


def test_a_refused_token_pauses_everything_until_there_is_a_good_one(
    cluster: Cluster, bot: OwnBot
) -> None:
    """Another bot's token is none; threads and offsets of two bots never mix."""
    leader = cluster.start(name="api")
    thread = cluster.thread_of("api")["thread_id"]
    configure(cluster, bot.token[:-3] + "xyz")
    bot.practice.write("waits", thread)
    hears(
        leader,
        "Telegram refused the token. Everything waits. Get a new one from @BotFather, then: "
        "switchboard setup. It is picked up by itself.",
    )
    assert "Telegram refuses the token" in shown_status(cluster)
    late = cluster.start(name="late", ready=False)
    eventually(lambda: "No thread yet: " in late.stderr, 10)
    configure(cluster, f"1{bot.token}")
    hears(
        leader,
        f"The token in the configuration belongs to another bot than {bot.shown}. Everything waits. "
        "Put the right one back, or set up the other bot under a name of its own: "
        "switchboard setup --bot NAME",
    )
    configure(cluster, bot.token)
    hears(leader, "Telegram accepts the token again.")
    cluster.wait_answer(thread, "waits")
    late.wait_ready()
    assert [path.name for path in (cluster.home / "bots").iterdir()] == [bot.token.partition(":")[0]]


def test_a_first_start_with_a_refused_token_ends_with_a_sentence(
    cluster: Cluster, bot: OwnBot
) -> None:
    """There is nothing yet that could wait."""
    configure(cluster, bot.token[:-3] + "xyz")
    refused = cluster.start(ready=False)
    assert refused.wait_exit(15) == 4
    assert refused.stderr.splitlines()[-1] == (
        "Telegram refused the token. Get a new one from @BotFather, then: switchboard setup"
    )


def test_threads_are_switched_off_and_on_again(cluster: Cluster, bot: OwnBot) -> None:
    """Nothing that was to be said is lost, and no thread is made anew."""
    leader = cluster.start("--name", "slow", "--", "sh", "-c", "read text; sleep 2; echo done with $text")
    thread = cluster.thread_of("slow")["thread_id"]
    bot.practice.write("this", thread)
    eventually(lambda: bot.practice.calls("sendChatAction"), 10)
    bot.switch_threads(on=False)
    off = (
        f"{bot.shown} has Threaded Mode off, so only one process can use it. "
        "Switch it on in @BotFather; this continues by itself."
    )
    hears(leader, off)
    late = cluster.start(name="late", ready=False)
    hears(late, off)
    bot.switch_threads(on=True)
    hears(leader, f"{bot.shown} has Threaded Mode on again.")
    eventually(lambda: any("done with this" in text for text in cluster.texts(thread)), 20)
    late.wait_ready()
    assert sorted(one["name"] for one in bot.threads_of(OWNER)) == ["late", "slow"]


def test_a_gap_is_told_when_it_is_over(cluster: Cluster, bot: OwnBot) -> None:
    """Telegram keeps messages for a day; what was sent before that is gone."""
    cluster.start(name="api").signal(9)
    eventually(lambda: not cluster.processes(), 3)
    (path,) = cluster.home.glob("bots/*/bus.db")
    with closing(Database(path, METADATA, "bus")) as database, database.transaction() as tx:
        named = SETTINGS.c.key == "last_led_ms"
        tx.execute(update(SETTINGS).where(named).values(value="1700000000000"))
    cluster.start(name="api")
    eventually(lambda: bot.said_to(OWNER), 5)
    (told,) = bot.said_to(OWNER)
    assert re.fullmatch(
        r"Nothing ran from 1[45] Nov \d\d:\d\d to \w{3} \d\d:\d\d\. "
        r"Telegram keeps messages 24 hours; send older ones again\.",
        told,
    )


def test_practice_and_real_threads_never_mix(cluster: Cluster, bot: OwnBot) -> None:
    """Each bot has its own place, and a name of its own leads to it."""
    (cluster.home / "config.json").rename(cluster.home / "aside.json")
    api_root = cluster.env.pop("TELEGRAM_API_ROOT")
    practising = cluster.start(name="api")
    assert "Your own bot: switchboard setup" in practising.stderr
    (cluster.home / "aside.json").rename(cluster.home / "config.json")
    real = cluster.start(name="api")
    assert (practising.role, real.role) == ("leader", "leader")
    assert real.fields()["slot"] == practising.fields()["slot"] == "A"
    assert [thread["name"] for thread in bot.threads_of(OWNER)] == ["api"]
    thread = bot.threads_of(OWNER)[0]["thread_id"]
    bot.practice.write("real", thread)
    cluster.wait_answer(thread, "real")
    again = cluster.start("--bot", "practice", name="web")
    assert again.role == "follower"
    assert len(list((cluster.home / "bots").iterdir())) == 2
    assert json.loads((cluster.home / "config.json").read_text())["bots"]["default"]["api_root"] == api_root
