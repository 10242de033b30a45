"""From nothing to a bot of one's own that obeys one person, as that person sees it."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.cluster import ROOT, Cluster
from tests.support.eventually import eventually
from tests.support.own_bot import OWNER, STRANGER, OwnBot, configure, own_bot
from tests.support.typist import CTRL_C, ENTER, Typist

SCREENS = Path(__file__).parent / "screens"
MASKS = {
    r"(?m)^[█▀▄ ]*[█▀▄][█▀▄ ]*\n": "",
    r"\b[A-Z]{4}-?\d{4}\b": "CODE",
    r"in /\S+\n?\S*config\.json": "in HOME/config.json",
}
CODE = r"^    ([A-Z]{4}-\d{4})"

Sit = Callable[..., Typist]


@pytest.fixture
def bot(tmp_path: Path, cluster: Cluster) -> Iterator[OwnBot]:
    """A bot that the cluster can reach and does not know."""
    with own_bot(tmp_path / "telegram", cluster) as own:
        yield own


@pytest.fixture
def sit(cluster: Cluster) -> Iterator[Sit]:
    """Start a command in a terminal of its own."""
    typists: list[Typist] = []

    def begin(*arguments: str) -> Typist:
        line = [sys.executable, str(ROOT / "run.py"), *arguments, "--home", str(cluster.home)]
        typists.append(Typist(line, cluster.work, cluster.env))
        return typists[-1]

    yield begin
    for typist in typists:
        typist.end()


def shown_code(typist: Typist) -> str:
    """The code on the screen."""
    return typist.sees(CODE).split()[0]


def test_from_nothing_to_a_second_terminal(cluster: Cluster, bot: OwnBot, sit: Sit) -> None:
    """Token, code, owner; then two terminals without any variable join the same bot."""
    person = sit("setup")
    person.sees(r"^Token \(not shown\):")
    person.press(bot.token[:-1] + "?", ENTER)
    person.sees("^That is no bot token.")
    person.press(bot.token[:-3] + "xyz", ENTER)
    person.sees("^Telegram refused the token. Nothing was changed.")
    assert not (cluster.home / "config.json").exists()
    person.press(bot.token, ENTER)
    person.sees(f"^This is {bot.shown}")
    code = shown_code(person)
    assert bot.token[-10:] not in "".join(person.lines)

    bot.practice.write("Hello?", from_id=STRANGER)
    bot.practice.write("AAAA-0000", from_id=STRANGER)
    eventually(lambda: len(bot.said_to(STRANGER)) == 2, 10)
    assert set(bot.said_to(STRANGER)) == {
        f"This bot is private. Your id: {STRANGER}.",
        "This code is wrong or too old. The terminal shows the right one.",
    }
    bot.practice.write(f"/start {code.replace('-', '')}")
    person.sees(r"^Paired with You \(id 1001\)")
    person.sees("^Now start a process in any terminal: switchboard")
    screen = person.text(MASKS)
    assert person.wait_exit() == 0
    assert screen == (SCREENS / "setup.txt").read_text()
    (greeting,) = bot.said_to(OWNER)
    assert greeting.startswith("You are the owner now; this bot obeys nobody else.")
    assert (cluster.home / "config.json").stat().st_mode & 0o777 == 0o600

    del cluster.env["TELEGRAM_API_ROOT"]
    first, second = cluster.start(name="api"), cluster.start(name="web")
    for one in (first, second):
        assert f"Joined {bot.shown} (owner You). Open https://t.me/{bot.shown[1:]}" in one.stderr
    assert [one.role for one in (first, second)] == ["leader", "follower"]
    assert sorted(thread["name"] for thread in bot.threads_of(OWNER)) == ["api", "web"]
    bot.practice.write("for the web", cluster.thread_of("web")["thread_id"])
    cluster.wait_answer(cluster.thread_of("web")["thread_id"], "for the web")
    bot.practice.write("/start")
    eventually(lambda: bot.said_to(OWNER)[-1].endswith("Running: api, web."), 5)
    bot.practice.write("Me again", from_id=STRANGER)
    eventually(lambda: not cluster.status()["inbox"]["pending"], 5)
    assert len(bot.said_to(STRANGER)) == 2, "told once a day, whoever leads"
    assert not bot.practice.calls("deleteWebhook")


def test_whoever_leaves_a_setup_is_told_what_stays(cluster: Cluster, bot: OwnBot, sit: Sit) -> None:
    """By Ctrl-C, before anything is kept and while the code is shown."""
    for answers, told in ((), "^Nothing was changed."), ((bot.token, ENTER), "^The token is kept. Go on at any time"):
        person = sit("setup")
        person.sees(r"^Token \(not shown\):")
        person.press(*answers)
        if answers:
            shown_code(person)
        person.press(CTRL_C)
        person.sees(told)
        assert person.wait_exit() == 0
        assert (cluster.home / "config.json").exists() is bool(answers)


def test_the_owner_is_changed_beside_a_running_leader(cluster: Cluster, bot: OwnBot) -> None:
    """It does not poll beside it: the running leader hears the code, and serves the new owner."""
    configure(cluster, bot.token)
    running = cluster.start(name="api")
    setup = cluster.start_command("setup", "--new-owner")
    eventually(lambda: re.search(CODE, setup.stdout, re.M), 10)
    assert setup.stdout.splitlines()[0] == (
        f'"default" is {bot.shown} (owner user 1001). It gets a new owner; the present one is obeyed '
        "until then."
    )
    first = re.findall(CODE, setup.stdout, re.M)[-1]
    for number in range(5):
        bot.practice.write(f"AAAA-000{number}", from_id=STRANGER)
    eventually(lambda: "The earlier code is not good any more." in setup.stdout, 10)
    second = re.findall(CODE, setup.stdout, re.M)[-1]
    assert second != first
    bot.practice.write(first, from_id=STRANGER)
    bot.practice.write(second, from_id=STRANGER)
    assert setup.wait_exit(10) == 0
    assert f"Paired with User 77 (id 77). {bot.shown} obeys nobody else." in setup.stdout
    eventually(lambda: [one["name"] for one in bot.threads_of(STRANGER)] == ["api"], 10)
    assert f"Paired with User 77 (id 77). {bot.shown} obeys nobody else." in running.stderr
    bot.practice.write("Me?", from_id=OWNER)
    eventually(lambda: f"This bot is private. Your id: {OWNER}." in bot.said_to(OWNER), 5)
    assert json.loads((cluster.home / "config.json").read_text())["bots"]["default"]["owner"] == STRANGER
    conflicts = [call for call in bot.practice.calls("getUpdates") if call.get("error_code") == 409]
    assert conflicts == [] and running.process.poll() is None


def test_threads_are_switched_on_and_a_webhook_is_removed_with_a_yes(
    cluster: Cluster, bot: OwnBot, sit: Sit
) -> None:
    """What is not ours stays until somebody says so; what can be waited for is waited for."""
    hook = "https://elsewhere.example.org/hook"
    bot.server.call("setWebhook", url=hook)
    bot.switch_threads(on=False)
    person = sit("setup")
    person.sees(r"^Token \(not shown\):")
    person.press(bot.token, ENTER)
    person.sees(r"^Remove it\? \[y/N\]")
    person.press("n", ENTER)
    assert person.wait_exit() == 3
    assert bot.practice.state()["webhook"]["url"] == hook
    assert not (cluster.home / "config.json").exists()

    person = sit("setup")
    person.sees(r"^Token \(not shown\):")
    person.press(bot.token, ENTER)
    person.sees(rf"^A webhook is set on {bot.shown}: its messages go to")
    person.sees(r"^Remove it\? \[y/N\]")
    person.press("y", ENTER)
    person.sees(rf"^{bot.shown} has Threaded Mode off, so only one process can use it")
    assert bot.practice.state()["webhook"]["url"] == ""
    bot.switch_threads(on=True)
    person.sees("^Threaded Mode is on.")
    bot.practice.write(shown_code(person))
    person.sees(r"^Paired with You \(id 1001\)")
    assert person.wait_exit() == 0


def test_a_process_without_an_owner_shows_the_code_itself(cluster: Cluster, bot: OwnBot) -> None:
    """The first one waits for its owner, the second one for the first."""
    first = cluster.start("--name", "api", ready=False, env={"TELEGRAM_BOT_TOKEN": bot.token})
    eventually(lambda: re.search(CODE, first.stderr, re.M), 10)
    second = cluster.start("--name", "web", ready=False)
    waits = f"{bot.shown} has no owner yet. Process {first.pid} shows the code for it; this one waits."
    eventually(lambda: waits in second.stderr, 10)
    bot.practice.write(re.findall(CODE, first.stderr, re.M)[-1])
    assert first.wait_ready()["role"] == "leader"
    assert second.wait_ready()["role"] == "follower"
    assert sorted(one["name"] for one in bot.threads_of(OWNER)) == ["api", "web"]


def test_a_token_of_the_environment_is_kept_as_it_was_given(cluster: Cluster, bot: OwnBot) -> None:
    """As its name, where the configuration has the name; not at all with --no-save."""
    path = configure(cluster, "$WORK_TOKEN")
    done = cluster.run("setup", "--home", str(cluster.home), WORK_TOKEN=bot.token)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[-1] == (
        f"{bot.shown} is ready (owner user 1001). Start a process in any terminal: switchboard"
    )
    assert bot.token not in path.read_text() and "$WORK_TOKEN" in path.read_text()
    leader = cluster.start(
        "--name", "env", "--", "sh", "-c", "env; cat /proc/self/environ",
        env={"WORK_TOKEN": bot.token},
    )
    thread = cluster.thread_of("env")["thread_id"]
    bot.practice.write("show", thread)
    eventually(lambda: any("PATH=" in text for text in cluster.texts(thread)), 10)
    assert not [text for text in cluster.texts(thread) if bot.token[-20:] in text]
    assert f"Joined {bot.shown}." in leader.stderr

    path.unlink()
    unsaved = cluster.start(
        "--name", "unsaved", "--no-save", "--owner", str(OWNER),
        env={"TELEGRAM_BOT_TOKEN": bot.token},
    )
    assert unsaved.role == "follower"
    leader.signal(9)
    unsaved.wait_role("leader")
    assert not path.exists()


def test_another_bot_under_a_taken_name_needs_a_yes(
    cluster: Cluster, bot: OwnBot, sit: Sit, tmp_path: Path
) -> None:
    """It is said first what that means; a no leaves everything as it was."""
    path = configure(cluster, bot.token)
    before = path.read_text()
    with own_bot(tmp_path / "another", cluster) as another:
        person = sit("setup")
        person.sees(rf'^"default" is the bot {bot.token.partition(":")[0]} \(owner user 1001\)')
        person.sees(r"^Token \(not shown; empty keeps the present one\):")
        person.press(another.token, ENTER)
        person.sees(rf'^"default" was the bot {bot.token.partition(":")[0]}; it becomes @')
        person.sees(r"^Go on\? \[y/N\]")
        person.press(ENTER)
        person.sees(r"^Nothing was changed. Give this bot a name of its own: switchboard setup --bot")
        assert person.wait_exit() == 3
        assert path.read_text() == before

        person = sit("setup")
        person.sees(r"^Token \(not shown; empty keeps the present one\):")
        person.press(another.token, ENTER)
        person.sees(r"^Go on\? \[y/N\]")
        person.press("y", ENTER)
        another.practice.write(shown_code(person), from_id=STRANGER)
        person.sees(rf"^Paired with User 77 \(id {STRANGER}\)")
        assert person.wait_exit() == 0
    kept = json.loads(path.read_text())["bots"]["default"]
    assert (kept["token"], kept["owner"]) == (another.token, STRANGER)


def test_setup_asks_nothing_where_nobody_can_answer(cluster: Cluster, bot: OwnBot) -> None:
    """And a token that is refused leaves everything as it was."""
    home = ("--home", str(cluster.home))
    done = cluster.run("setup", *home)
    assert done.returncode == 2
    assert done.stderr == (
        "There is no terminal to ask for the token. Give it with --token-file FILE or in "
        "TELEGRAM_BOT_TOKEN.\n"
    )
    path = configure(cluster, bot.token)
    before = path.read_text()
    done = cluster.run("setup", *home, TELEGRAM_BOT_TOKEN=bot.token[:-3] + "xyz")
    assert (done.returncode, done.stderr) == (4, "Telegram refused the token. Nothing was changed.\n")
    done = cluster.run("setup", *home, "--api-root", "http://127.0.0.1:9", TELEGRAM_BOT_TOKEN=bot.token)
    assert done.returncode == 4
    assert done.stderr.startswith("Telegram cannot be reached, so nothing was changed.")
    assert path.read_text() == before


# -- threads in a group ----------------------------------------------------------------------------


def thread_in(cluster: Cluster, bot: OwnBot, group: int, name: str) -> int:
    """The thread of this name, which is in that group."""
    (thread,) = [one for one in bot.threads_of(group) if one["name"] == name]
    assert cluster.thread_of(name) == thread
    return int(thread["thread_id"])


def test_the_code_in_a_group_puts_the_threads_there(cluster: Cluster, bot: OwnBot) -> None:
    """Whoever sends it is the owner; everybody else in the group may talk, and changes nothing."""
    group = bot.open_group("Work")
    setup = cluster.start_command("setup", TELEGRAM_BOT_TOKEN=bot.token)
    eventually(lambda: re.search(CODE, setup.stdout, re.M), 15)
    code = re.findall(CODE, setup.stdout, re.M)[-1]
    bot.practice.write("AAAA-0000", from_id=STRANGER, group_id=group)
    bot.practice.write(f"/start@{bot.shown[1:]} {code.replace('-', '')}", group_id=group)
    assert setup.wait_exit(15) == 0
    assert f"Paired with You (id {OWNER}). {bot.shown} obeys nobody else." in setup.stdout
    (greeting,) = bot.said_to(group)
    assert greeting.startswith("You are the owner now"), "and a wrong code is not answered in a group"
    kept = json.loads((cluster.home / "config.json").read_text())["bots"]["default"]
    assert (kept["owner"], kept["chat"]) == (OWNER, group)

    first, second = cluster.start(name="api"), cluster.start(name="web")
    api, web = (thread_in(cluster, bot, group, name) for name in ("api", "web"))
    bot.practice.write("not for you", web, from_id=STRANGER, group_id=group)
    bot.practice.write("for the web", web, group_id=group)
    cluster.wait_answer(web, "for the web")
    first.signal(9)
    second.wait_role("leader")
    bot.practice.write("still there?", web, group_id=group)
    cluster.wait_answer(web, "still there?")
    bot.practice.write("whose?", group_id=group)
    eventually(lambda: "Which one is this for?" in bot.said_to(group), 10)
    assert cluster.texts(web).count("not for you") == 0 and bot.said_to(STRANGER) == []
    assert bot.threads_of(OWNER) == []

    bot.practice.write("/close", web, group_id=group)
    eventually(lambda: any(text.startswith("Delete this") for text in cluster.texts(web)), 10)
    buttons = cluster.thread_of("web")["messages"][-1]["reply_markup"]["inline_keyboard"]
    (delete,) = [one for row in buttons for one in row if one["text"] == "Delete"]
    bot.practice.press(cluster.thread_of("web")["messages"][-1]["message_id"], delete["callback_data"])
    assert second.wait_exit(10) == 0
    assert [one["thread_id"] for one in bot.threads_of(group)] == [api]


def test_a_group_is_chosen_by_its_number(cluster: Cluster, bot: OwnBot) -> None:
    """Then the code goes to the bot itself, and Threaded Mode is of no concern."""
    bot.switch_threads(on=False)
    group = bot.open_group("Work")
    setup = cluster.start_command("setup", "--chat", str(group), TELEGRAM_BOT_TOKEN=bot.token)
    eventually(lambda: re.search(CODE, setup.stdout, re.M), 15)
    bot.practice.write(re.findall(CODE, setup.stdout, re.M)[-1])
    assert setup.wait_exit(15) == 0
    process = cluster.start(name="api")
    thread = thread_in(cluster, bot, group, "api")
    bot.practice.write("hello", thread, group_id=group)
    cluster.wait_answer(thread, "hello")
    assert "Threaded Mode" not in setup.stdout + process.stderr
