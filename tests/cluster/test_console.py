"""The console as a person uses it: in a real terminal, with messages that come while somebody types."""

import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.cluster import ROOT, Cluster
from tests.support.eventually import eventually
from tests.support.typist import CTRL_C, CTRL_D, CTRL_Z, ENTER, NEW_LINE, UP, Typist

SCREENS = Path(__file__).parent / "screens"
MASKS = {
    r"127\.0\.0\.1:\d+/\?key=[0-9a-f]+\n?[0-9a-f]*": "127.0.0.1:PORT/?key=KEY",
    r"pid=\d+": "pid=PID",
    r"(?m)^\d\d:\d\d  ": "HH:MM  ",
}

Sit = Callable[..., Typist]


@pytest.fixture
def sit(cluster: Cluster) -> Iterator[Sit]:
    """Start an instance, or a shell, in a terminal of its own."""
    typists: list[Typist] = []

    def begin(*arguments: str, shell: bool = False) -> Typist:
        line = [sys.executable, str(ROOT / "run.py"), "--home", str(cluster.home), *arguments]
        typists.append(Typist(["bash", "--norc", "-i"] if shell else line, cluster.work, cluster.env))
        if shell:
            typists[-1].sees(r"^\$")
            typists[-1].press(" ".join(line), ENTER)
        return typists[-1]

    yield begin
    for typist in typists:
        typist.end()


def test_a_conversation(cluster: Cluster, sit: Sit) -> None:
    """What is half typed survives a message; several lines, history, and an end that keeps the thread."""
    person = sit("--name", "api")
    person.sees("^ready role=leader")
    thread = cluster.thread_of("api")["thread_id"]
    person.press("half a li")
    cluster.practice.write("are you there?\n\x1b[2Jsecond line", thread)
    person.sees("second line")
    eventually(lambda: person.typed == "> half a li")
    person.press("ne", NEW_LINE, "and another", ENTER)
    cluster.wait_answer(thread, "half a line\nand another")
    person.press("yes", ENTER)
    cluster.wait_answer(thread, "yes")
    person.press(UP)
    eventually(lambda: person.typed == "> yes")
    person.press(", again", ENTER)
    cluster.wait_answer(thread, "yes, again")
    cluster.practice.write("/status", thread)
    cluster.wait_answer(thread, "Idle, nothing waits.")
    cluster.practice.write(
        "a long message that does not fit into one line of a terminal with eighty columns", thread
    )
    person.sees("columns")
    eventually(lambda: person.typed == ">")
    assert person.text(MASKS) == (SCREENS / "console.txt").read_text()

    person.press("never sent", CTRL_C)
    assert person.wait_exit() == 0
    cluster.wait_answer(
        thread,
        f"Stopped. What you write here waits. Start it again in {cluster.work}: "
        f"switchboard --home {cluster.home} --name api",
    )
    assert "never sent" not in cluster.texts(thread)
    (history,) = cluster.home.glob("bots/*/*.history")
    assert history.stat().st_mode & 0o777 == 0o600

    cluster.practice.write("while you were out", thread)
    person = sit("--name", "api")
    person.sees("while you were out")
    assert any(text.endswith("1 message was waiting.") for text in cluster.texts(thread))
    person.press(UP)
    eventually(lambda: person.typed == "> yes, again")
    person.press("\x15", CTRL_D)
    assert person.wait_exit() == 0


def test_ctrl_z_and_fg(cluster: Cluster, sit: Sit) -> None:
    """A job like any other: it stops, others go on, and nothing is lost when it is taken up again."""
    person = sit("--name", "api", shell=True)
    person.sees("^ready role=leader")
    api = cluster.thread_of("api")["thread_id"]
    web = cluster.start(name="web")
    person.press("half", CTRL_Z)
    person.sees("Stopped")
    cluster.practice.write("to web", cluster.thread_of("web")["thread_id"])
    cluster.wait_answer(cluster.thread_of("web")["thread_id"], "to web")
    cluster.practice.write("while suspended", api)
    person.press("fg", ENTER)
    person.sees("while suspended")
    eventually(lambda: person.typed == "> half")
    person.press(" done", ENTER)
    cluster.wait_answer(api, "half done")
    person.press(CTRL_C)
    eventually(lambda: person.typed == "$")
    web.wait_role("leader", 5)
    person.press("exit", ENTER)
    person.wait_exit()


def test_a_takeover_does_not_tear_the_line(cluster: Cluster, sit: Sit) -> None:
    """The role line and the sentence about it go above what is being typed; the terminal may vanish."""
    first = cluster.start(name="web")
    person = sit("--name", "api")
    person.sees("^ready role=follower")
    person.press("half a li")
    first.signal(signal.SIGKILL)
    first.process.wait()
    person.sees(f"^Process {first.pid} ended. This process now talks to Telegram.")
    person.sees("^role=leader")
    eventually(lambda: person.typed == "> half a li")
    person.hang_up()
    eventually(lambda: not cluster.processes(), 8)
