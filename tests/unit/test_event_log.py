"""The log: whole lines from many processes, no secret in any of them, nothing on the terminal."""

import json
import logging
import os
import stat

import pytest

from actors import event_log
from actors.event_log import bind, log_event, open_log, redact

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
