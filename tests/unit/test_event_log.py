"""The log: whole lines from many processes, no secret in any of them, nothing on the terminal."""

import json
import logging
import os
import stat

import pytest

from actors import event_log
from actors.event_log import bind, log_event, open_log, redact
from actors.plans.log_levels import LogLevels

TOKEN = "123456789:AAExampleExampleExampleExampleExamp"


@pytest.fixture
def log(tmp_path, monkeypatch):
    """A log of its own; what was bound or redacted before does not count."""
    monkeypatch.setattr(event_log._Log, "secrets", ())
    monkeypatch.setattr(event_log._Log, "bound", {})
    path = open_log(tmp_path)
    yield path
    event_log.close_log()


def events(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_an_event_is_one_json_line_with_its_fields(log):
    bind(instance_id="1:2")
    log_event("lease.won", epoch=3, actor="leader")
    (event,) = events(log)
    assert event["action"] == "lease.won"
    assert event["level"] == "INFO"
    assert event["epoch"] == 3
    assert event["instance_id"] == "1:2"
    assert event["pid"] == os.getpid()


def test_the_file_is_private_whatever_the_umask(log):
    assert stat.S_IMODE(log.stat().st_mode) == 0o600


def test_known_secrets_and_token_shapes_are_blotted_out(log):
    redact("a-secret-of-the-bus")
    log_event("x", text=f"a-secret-of-the-bus https://api/bot{TOKEN}/getMe")
    log_event("y", text=TOKEN.replace(":", "%3A"))
    text = log.read_text()
    assert "a-secret-of-the-bus" not in text
    assert "AAExample" not in text


def test_an_exception_comes_along_without_its_secrets(log):
    try:
        raise ValueError(TOKEN)
    except ValueError:
        log_event("failed", "ERROR", exception=True)
    (event,) = events(log)
    assert "ValueError" in event["trace"]
    assert "AAExample" not in event["trace"]


def test_braces_and_newlines_in_fields_do_no_harm(log):
    log_event("odd {action}", text="{x}\n{", value={"a": object()})
    (event,) = events(log)
    assert event["action"] == "odd {action}"
    assert event["text"] == "{x}\n{"


def test_lines_of_many_processes_never_mix(log):
    children = []
    for number in range(8):
        pid = os.fork()
        if pid == 0:
            for _ in range(200):
                log_event("burst", text=str(number) * 300)
            os._exit(0)
        children.append(pid)
    for pid in children:
        os.waitpid(pid, 0)
    said = events(log)
    assert len(said) == 1600
    assert all(len(set(event["text"])) == 1 for event in said)


def test_libraries_are_heard_from_warning_on_and_the_terminal_hears_nothing(
    log, capfd, monkeypatch
):
    monkeypatch.setattr(logging, "lastResort", logging.lastResort)
    handlers, level = logging.root.handlers[:], logging.root.level
    try:
        event_log.route_standard_logging()
        logging.getLogger("httpx").info("GET %s", TOKEN)
        logging.getLogger("some.library").warning("odd %s", TOKEN)
    finally:
        logging.captureWarnings(False)
        logging.root.handlers[:] = handlers
        logging.root.setLevel(level)
    (event,) = events(log)
    assert event["logger"] == "some.library"
    assert "AAExample" not in event["text"]
    assert capfd.readouterr() == ("", "")


def test_a_log_that_cannot_be_written_disturbs_nobody(log):
    os.close(event_log._Log.descriptor)
    event_log._Log.descriptor = os.open("/dev/full", os.O_WRONLY)
    log_event("lost")


# -- levels -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "of", "unknown"),
    [
        ("", {"main": "INFO"}, ()),
        ("debug", {"main": "DEBUG", "poller": "DEBUG"}, ()),
        ("poller=debug,warning", {"main": "WARNING", "poller": "DEBUG"}, ()),
        (" Leader = ERROR ", {"leader": "ERROR", "main": "INFO"}, ()),
        ("follower_mutation=debug", {"follower_mutation:manual:x": "DEBUG"}, ()),
        ("loud,=debug,poller=high", {"poller": "INFO"}, ("loud", "=debug", "poller=high")),
    ],
)
def test_levels_by_process(text, of, unknown):
    levels = LogLevels.parse(text)
    assert {process: levels.of(process) for process in of} == of
    assert levels.unknown == unknown


def test_each_process_logs_at_its_own_level(log, monkeypatch):
    monkeypatch.setenv("SWITCHBOARD_LOG", "poller=debug,warning")
    open_log(log.parent)
    log_event("usual")
    log_event("odd", "WARNING")
    event_log.name_process("poller")
    log_event("detail", "DEBUG")
    assert [event["action"] for event in events(log)] == ["odd", "detail"]


def test_at_debug_libraries_are_heard_and_a_planted_token_is_not(log, monkeypatch):
    monkeypatch.setenv("SWITCHBOARD_LOG", "debug")
    open_log(log.parent)
    monkeypatch.setattr(logging, "lastResort", logging.lastResort)
    handlers, level = logging.root.handlers[:], logging.root.level
    for name in ("httpx", "httpcore", "telegram"):
        # A session of another test in this process may have silenced them.
        monkeypatch.setattr(logging.getLogger(name), "level", logging.NOTSET)
        logging.getLogger(name).manager._clear_cache()
    odd = "planted-secret-of-an-odd-shape"
    redact(odd)
    try:
        event_log.route_standard_logging()
        for name in ("httpx", "httpcore", "telegram.Bot"):
            logging.getLogger(name).debug("POST https://api/bot%s/sendMessage %s", TOKEN, odd)
        try:
            raise OSError(f"connect to /bot{TOKEN}/getMe")
        except OSError:
            logging.getLogger("telegram").exception("failed with %s", {"token": odd})
            log_event("failed", "DEBUG", exception=True, url=f"bot{TOKEN.replace(':', '%3A')}")
    finally:
        logging.captureWarnings(False)
        logging.root.handlers[:] = handlers
        logging.root.setLevel(level)
    text = log.read_text()
    assert len(events(log)) == 5
    assert "AAExample" not in text and "planted-secret" not in text
    assert text.count("[redacted]") >= 8


# -- rotation -----------------------------------------------------------------------------------


@pytest.mark.case("F228")
def test_a_full_file_is_put_aside_whole_by_the_leader(log, monkeypatch):
    monkeypatch.setattr(event_log, "LARGEST", 2_000)
    event_log.name_process("leader", rotates=True)
    for number in range(9):
        log_event("filling", number=number, text="x" * 200)
    previous = log.with_name(event_log.PREVIOUS_NAME)
    said = events(previous) + events(log)
    assert events(log)[0]["action"] == "log.reset"
    numbers = [event["number"] for event in said if event["action"] == "filling"]
    assert numbers == list(range(9))
    assert previous.stat().st_size <= 2_000
    assert stat.S_IMODE(log.stat().st_mode) == stat.S_IMODE(previous.stat().st_mode) == 0o600


@pytest.mark.case("F229")
def test_nobody_else_puts_a_file_aside(log, monkeypatch):
    monkeypatch.setattr(event_log, "LARGEST", 500)
    for _ in range(5):
        log_event("filling", text="x" * 200)
    event_log.rotate()
    assert not log.with_name(event_log.PREVIOUS_NAME).exists()
    assert len(events(log)) == 5


def test_others_follow_and_nothing_is_lost(log, monkeypatch):
    """While one process puts files aside, eight others go on writing."""
    monkeypatch.setattr(event_log, "LARGEST", 400_000)
    children = []
    for number in range(8):
        pid = os.fork()
        if pid == 0:
            for index in range(150):
                log_event("burst", writer=number, index=index, text="x" * 300)
            os._exit(0)
        children.append(pid)
    event_log.name_process("leader", rotates=True)
    for pid in children:
        while os.waitpid(pid, os.WNOHANG) == (0, 0):
            event_log.rotate()
    event_log.rotate()
    previous = log.with_name(event_log.PREVIOUS_NAME)
    said = [one for one in events(previous) + events(log) if one["action"] == "burst"]
    assert len({(one["writer"], one["index"]) for one in said}) == 8 * 150 == len(said)


def test_a_file_that_was_removed_is_made_again(log):
    log.unlink()
    log_event("again")
    assert [event["action"] for event in events(log)] == ["again"]


def test_a_mirror_sees_no_secret_and_harms_nobody(log):
    seen = []
    event_log.mirror_to(seen.append)
    log_event("x", text=TOKEN)
    event_log.mirror_to(lambda event: 1 / 0)
    log_event("y")
    assert seen[0]["text"] == "[redacted]"
    assert [event["action"] for event in events(log)] == ["x", "y"]
