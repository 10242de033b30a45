"""Command mode with real commands: what they are given, what is told of them, and how they end."""

import asyncio
import os
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from actors.modes import Interrupted, NotStarted, Prompt
from actors.modes.command import CommandMode, RunLost
from actors.modes.leftovers import MARK
from tests.support.eventually import eventually, eventually_async
from tests.support.marked_processes import NAME, Marked, marked_processes

TOKEN = "0123abcd"
SECRETS = ("12345678:AAhiddenhiddenhidden", "bus-hidden-bus")


@pytest.fixture
def marked() -> Iterator[Marked]:
    with marked_processes() as mark:
        yield mark


class Shown:
    """What a run shows while it goes on."""

    def __init__(self) -> None:
        self.text: Callable[[], str] = str

    def __call__(self, text: Callable[[], str]) -> None:
        self.text = text


def mode_of(runs: Path, *command: str, **environment: str) -> CommandMode:
    """A mode that runs `command`."""
    mode = CommandMode(
        command, runs, lambda: SECRETS, environment={**os.environ, **environment}
    )
    return mode


def answered(mode: CommandMode, text: str = "prompt", token: str = TOKEN) -> tuple[str, ...]:
    """The answer of the mode to one prompt."""
    return asyncio.run(mode.run(Prompt(token, text), Shown()))


def only_log(runs: Path) -> Path:
    """The file of the only run."""
    (log,) = runs.iterdir()
    return log


def test_the_prompt_is_the_input_and_the_output_is_the_answer(tmp_path: Path) -> None:
    assert answered(mode_of(tmp_path, "sh", "-c", "cat; echo err >&2"), "héllo\n2") == (
        "héllo\n2\nerr",
    )


def test_success_in_silence_is_told(tmp_path: Path) -> None:
    assert answered(mode_of(tmp_path, "true")) == ("Done, no output.",)


def test_a_big_prompt_to_a_command_that_does_not_read(tmp_path: Path) -> None:
    assert answered(mode_of(tmp_path, "true"), "x" * 1_000_000) == ("Done, no output.",)


def test_a_failure_tells_its_status(tmp_path: Path) -> None:
    (part,) = answered(mode_of(tmp_path, "sh", "-c", "echo oops; exit 3"))
    assert part.startswith("oops\n\nexit 3 after 0.")


@pytest.mark.parametrize(
    ("command", "sentence", "status"),
    [
        ("no-such-one", 'The command "no-such-one" was not found, so nothing was run.', 127),
        ("/", 'The command "/" could not be executed: Permission denied.', 126),
    ],
)
def test_a_command_that_cannot_be_executed(
    command: str, sentence: str, status: int, tmp_path: Path
) -> None:
    (part,) = answered(mode_of(tmp_path, command))
    assert part.startswith(f"{sentence}\n\nexit {status} after ")


def test_bytes_that_are_no_text_are_replaced_and_kept(tmp_path: Path) -> None:
    code = r"import sys; sys.stdout.buffer.write(b'a\xff\x1b[1mb\x1b[0m\r\n\xf0\x9f')"
    assert answered(mode_of(tmp_path, sys.executable, "-c", code)) == ("a\ufffdb\n\ufffd",)
    assert only_log(tmp_path).read_bytes() == b"a\xff\x1b[1mb\x1b[0m\r\n\xf0\x9f"


def test_long_output_is_told_in_four_messages_and_kept_whole(tmp_path: Path) -> None:
    code = "for number in range(20_000): print('line', number)"
    parts = answered(mode_of(tmp_path, sys.executable, "-c", code))
    log = only_log(tmp_path)
    assert len(parts) == 4
    assert parts[0].startswith("line 0\n")
    assert parts[3].endswith(f"line 19999\n\nFull output: {log}")
    assert log.read_text() == "".join(f"line {number}\n" for number in range(20_000))
    assert log.stat().st_mode & 0o777 == 0o600
    assert log.name.endswith(f"-{TOKEN}.log")


def test_the_newest_fifty_outputs_are_kept(tmp_path: Path) -> None:
    for number in range(60):
        old = tmp_path / f"20200101T000000-{number:08}.log"
        old.touch()
        os.utime(old, (number, number))
    answered(mode_of(tmp_path, "true"))
    kept = sorted(log.name for log in tmp_path.iterdir())
    assert len(kept) == 50
    assert kept[0] == "20200101T000000-00000011.log" and kept[-1].endswith(f"-{TOKEN}.log")


def test_output_that_cannot_be_kept_is_no_failure(tmp_path: Path) -> None:
    runs = tmp_path / "file"
    runs.touch()
    assert answered(mode_of(runs, "echo", "fine")) == ("fine",)


def test_a_child_never_sees_a_secret(tmp_path: Path) -> None:
    mode = mode_of(
        tmp_path,
        "env",
        TELEGRAM_BOT_TOKEN="12345678:another",
        TELEGRAM_API_ROOT="http://127.0.0.1:1",
        PROXY=f"http://x/{SECRETS[0]}/y",
        COPY=SECRETS[1],
        HARMLESS="yes",
    )
    lines = "\n".join(answered(mode)).splitlines()
    assert "HARMLESS=yes" in lines and "TELEGRAM_API_ROOT=http://127.0.0.1:1" in lines
    assert any(line.startswith(f"{MARK}=") and line.endswith(TOKEN) for line in lines)
    assert not [line for line in lines if "hidden" in line or "12345678" in line]


async def begun(
    mode: CommandMode, shown: Shown, text: str = "ready"
) -> asyncio.Task[tuple[str, ...]]:
    """A run that has printed `text`."""
    run = asyncio.create_task(mode.run(Prompt(TOKEN, "prompt"), shown))
    await eventually_async(lambda: shown.text() == text)
    return run


def test_output_is_shown_while_the_command_runs(tmp_path: Path) -> None:
    async def story() -> None:
        shown = Shown()
        mode = mode_of(tmp_path, "sh", "-c", "echo ready; sleep 60")
        run = await begun(mode, shown)
        assert only_log(tmp_path).read_text() == "ready\n"
        mode.stop()
        assert await run == ("ready",)

    asyncio.run(story())


def test_a_stop_before_the_command_exists_ends_it_too(tmp_path: Path) -> None:
    async def story() -> None:
        mode = mode_of(tmp_path, "sleep", "60")
        run = asyncio.create_task(mode.run(Prompt(TOKEN, "prompt"), Shown()))
        await asyncio.sleep(0)
        mode.stop()
        assert await asyncio.wait_for(run, 5) == ()

    asyncio.run(story())


def test_output_held_open_by_somebody_else_delays_nothing(
    tmp_path: Path, marked: Marked
) -> None:
    async def story() -> None:
        script = "echo ready; sleep 60"
        mode = mode_of(tmp_path, "sh", "-c", script, **{NAME: marked.mark})
        run = await begun(mode, Shown())
        (shell,) = (p for p in marked.processes() if p.cmdline()[:2] == ["sh", "-c"])
        held = os.open(f"/proc/{shell.pid}/fd/1", os.O_WRONLY)
        try:
            mode.stop()
            assert await asyncio.wait_for(run, 5) == ("ready",)
        finally:
            os.close(held)

    asyncio.run(story())


@pytest.mark.parametrize(
    "script",
    [
        pytest.param("echo ready; sleep 60", id="polite"),
        pytest.param("trap '' TERM; echo ready; while :; do sleep 0.1; done", id="stubborn"),
    ],
)
def test_closing_ends_the_run_within_five_seconds(
    script: str, tmp_path: Path, marked: Marked
) -> None:
    async def story() -> None:
        mode = mode_of(tmp_path, "sh", "-c", script, **{NAME: marked.mark})
        run = await begun(mode, Shown())
        await asyncio.wait_for(mode.close(), 5)
        with pytest.raises(Interrupted):
            await run
        assert marked.none_left()
        with pytest.raises(Interrupted):
            await mode.run(Prompt(TOKEN, "prompt"), Shown())

    asyncio.run(story())


def test_a_killed_guard_takes_everything_along(tmp_path: Path, marked: Marked) -> None:
    script = 'trap "" TERM; setsid sleep 60 & setsid sh -c "sleep 60; sleep 60" & echo ready; wait'

    async def story() -> None:
        mode = mode_of(tmp_path, "sh", "-c", script, **{NAME: marked.mark})
        run = await begun(mode, Shown())
        (guard,) = (p for p in marked.processes() if p.ppid() == os.getpid())
        guard.send_signal(signal.SIGKILL)
        with pytest.raises(RunLost):
            await run

    asyncio.run(story())
    eventually(marked.none_left, within=2)


def test_no_process_for_the_guard_is_a_run_that_did_not_start(tmp_path: Path) -> None:
    async def refuse(*_: object) -> None:
        raise BlockingIOError

    mode = CommandMode(("true",), tmp_path, tuple, spawn=refuse)  # type: ignore[arg-type]
    with pytest.raises(NotStarted):
        answered(mode)
