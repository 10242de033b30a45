"""The practice chat as a process: found, started once, guarded, kept, ended in time."""

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading

import psutil
import pytest

from actors.sandbox.failure import PracticeChatFailed
from actors.launcher_process import become_launcher
from actors.sandbox.launch import begin_practice_chat, ensure_practice_chat, hold_practice_chat
from actors.sandbox.port_file import PortFile
from actors.sandbox.server import bound_socket
from tests.support.cluster import ROOT
from tests.support.eventually import eventually
from tests.support.forked import start_forked
from tests.support.practice_server import (
    PracticeServer,
    running_practice_server,
    serve_command,
)


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A home whose practice server is ended whatever the test does."""
    monkeypatch.setenv("SWITCHBOARD_PRACTICE_IDLE_S", "30")
    home = tmp_path / "home"
    yield home
    found = PortFile.read(home / "practice" / "port.json")
    if found is not None and not found.is_dead:
        os.kill(found.pid, signal.SIGKILL)


def started(home, *port):
    # Port 0: any, so that tests never meet a practice chat of the person running them.
    return ensure_practice_chat(home, *(port or (None,)), serve_command(home, *(port or (0,))))


def test_it_is_started_once_and_found_after(home):
    with hold_practice_chat(home):
        address = started(home)
        assert ensure_practice_chat(home, None, ["/nonexistent"]) == address
        assert address.url == f"{address.api_root}/?key={address.key}"
        assert address.key not in repr(address) and address.token not in repr(address)


def test_ten_at_once_start_one(home):
    addresses = []
    threads = [
        threading.Thread(target=lambda: addresses.append(started(home))) for _ in range(10)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(addresses) == 10 and len(set(addresses)) == 1
    log = (home / "practice" / "log").read_text()
    assert log.count("answers on port") == 1


def test_one_that_was_begun_is_waited_for_and_no_other_is_started(home):
    beginning = begin_practice_chat(home, serve_command(home, 0))
    # As if another process came now.
    assert begin_practice_chat(home, ["/nonexistent"]) is None
    addresses = []
    other = threading.Thread(target=lambda: addresses.append(started(home)))
    other.start()
    addresses.append(ensure_practice_chat(home, None, ["/nonexistent"], beginning))
    other.join()
    assert len(addresses) == 2 and len(set(addresses)) == 1
    server = PortFile.read(home / "practice" / "port.json")
    assert server.pid == beginning.pid
    # Now it is there.
    assert begin_practice_chat(home, ["/nonexistent"]) is None
    assert (home / "practice" / "log").read_text().count("answers on port") == 1


def test_ten_that_begin_at_once_start_one(home):
    addresses = []

    def start():
        beginning = begin_practice_chat(home, serve_command(home, 0))
        addresses.append(ensure_practice_chat(home, None, serve_command(home, 0), beginning))

    threads = [threading.Thread(target=start) for _ in range(10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(addresses) == 10 and len(set(addresses)) == 1
    assert (home / "practice" / "log").read_text().splitlines() == [
        f"The practice chat answers on port {addresses[0].port} "
        f"(process {PortFile.read(home / 'practice' / 'port.json').pid})."
    ]


def test_one_that_began_in_vain_is_told_when_it_is_waited_for(home):
    beginning = begin_practice_chat(home, ["/nonexistent-program"])
    with pytest.raises(PracticeChatFailed, match="nonexistent-program"):
        ensure_practice_chat(home, None, ["/nonexistent"], beginning)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        busy = other.getsockname()[1]
        beginning = begin_practice_chat(home, serve_command(home, busy))
        with pytest.raises(PracticeChatFailed, match=f"^Port {busy} is in use"):
            ensure_practice_chat(home, busy, ["/nonexistent"], beginning)
    assert started(home), "the turn was given back"


def test_the_launcher_that_is_forked_meanwhile_keeps_no_turn(home):
    beginning = begin_practice_chat(home, serve_command(home, 0))
    ready, tell = os.pipe()

    def launcher():
        become_launcher(os.getppid(), None)
        os.write(tell, b"!")
        signal.pause()

    pid = start_forked(launcher)
    try:
        os.read(ready, 1)
        beginning.close()
        # Else it would be waited for as long as that process lives.
        assert started(home)
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(ready)
        os.close(tell)


def test_it_belongs_to_nobody_and_knows_its_secrets_from_files_only(home):
    address = started(home)
    server = psutil.Process(PortFile.read(home / "practice" / "port.json").pid)
    assert os.getpid() not in [parent.pid for parent in server.parents()]
    assert os.getsid(server.pid) != os.getsid(0)
    told = " ".join(server.cmdline()) + json.dumps(server.environ())
    assert address.token not in told and address.key not in told
    assert not server.terminal()
    for path in (home / "practice").iterdir():
        assert stat.S_IMODE(path.stat().st_mode) == 0o600, path
    assert stat.S_IMODE((home / "practice").stat().st_mode) == 0o700
    listening = [c.laddr for c in server.net_connections() if c.status == "LISTEN"]
    assert [where.ip for where in listening] == ["127.0.0.1"]
    assert address.token not in (home / "practice" / "log").read_text()


def test_launching_imports_neither_the_server_nor_its_framework():
    code = (
        "import sys, actors.sandbox.launch; "
        "print(sorted({'aiohttp', 'sqlalchemy', 'marshmallow', 'telegram', 'asyncio'}"
        " & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


def test_a_killed_server_is_replaced_at_the_same_address(home):
    first = started(home)
    os.kill(PortFile.read(home / "practice" / "port.json").pid, signal.SIGKILL)
    eventually(lambda: PortFile.read(home / "practice" / "port.json").is_dead)
    again = ensure_practice_chat(home, None, serve_command(home))
    assert again == first


def test_a_reused_pid_is_no_server(home):
    (home / "practice").mkdir(parents=True)
    me = PortFile.current(9)
    port_file = home / "practice" / "port.json"
    PortFile(9, me.pid, f"{me.pid}:start:1", me.boot_id).write(port_file)
    assert started(home).port != 9


def test_a_live_process_that_does_not_answer_is_told_and_left_alone(home):
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        (home / "practice").mkdir(parents=True)
        PortFile.current(silent.getsockname()[1]).write(home / "practice" / "port.json")
        with pytest.raises(PracticeChatFailed, match=f"process {os.getpid()}.* does not answer"):
            started(home)
        (home / "practice" / "port.json").unlink()


def test_an_explicit_port_is_insisted_on(home):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        busy = other.getsockname()[1]
        with pytest.raises(PracticeChatFailed, match=f"^Port {busy} is in use"):
            started(home, busy)
    address = started(home, busy)
    assert address.port == busy
    with pytest.raises(PracticeChatFailed, match=f"already runs on port {busy}, not on 1"):
        ensure_practice_chat(home, 1, ["/nonexistent"])


def test_the_usual_port_gives_way():
    with bound_socket(0, None) as first:
        taken = first.getsockname()[1]
        earlier = PortFile(taken, 1, "", "")
        with bound_socket(None, earlier) as second:
            assert second.getsockname()[1] != taken


def test_a_command_that_cannot_run_is_told(home):
    with pytest.raises(PracticeChatFailed, match="nonexistent-program"):
        ensure_practice_chat(home, None, ["/nonexistent-program"])


def test_a_malformed_token_file_is_told(home):
    (home / "practice").mkdir(parents=True)
    (home / "practice" / "token").write_text("nonsense")
    with pytest.raises(PracticeChatFailed, match="token is malformed"):
        started(home)


def test_two_servers_never_share_a_home(home):
    started(home)
    done = subprocess.run(serve_command(home, 0), capture_output=True, text=True, timeout=20)
    assert done.returncode == 1
    assert done.stderr.strip() == "The practice chat of this home runs already."


def test_it_ends_when_nobody_uses_it_and_stays_while_somebody_does(home, monkeypatch):
    monkeypatch.setenv("SWITCHBOARD_PRACTICE_IDLE_S", "0.4")
    with hold_practice_chat(home):
        address = started(home)
        server = psutil.Process(PortFile.read(home / "practice" / "port.json").pid)
        # It looks every 0.1 s, so this many answers take several of its lives.
        with pytest.raises(psutil.TimeoutExpired):
            server.wait(1.5)
    eventually(lambda: not psutil.pid_exists(server.pid) or server.status() == "zombie")
    assert not (home / "practice" / "port.json").exists()
    with hold_practice_chat(home):
        assert started(home).token == address.token


def test_sigterm_ends_it_cleanly_with_polls_and_pages_open(tmp_path):
    with running_practice_server(tmp_path / "home") as server:
        key = (server.home / "practice" / "key").read_text().strip()
        poll, page = server.connection(), server.connection()
        poll.request("GET", f"/bot{server.practice.token}/getUpdates?timeout=50")
        page.request("GET", f"/sandbox/events?key={key}")
        assert page.getresponse().status == 200
        eventually(lambda: server.practice.calls("getUpdates"))
        os.kill(server.process.pid, signal.SIGHUP)
        assert server.call("getMe")["ok"]
        assert server.stop() == 0
        answer = json.loads(poll.getresponse().read())
        assert answer["description"] == "Internal Server Error: restart"
        assert not (server.home / "practice" / "port.json").exists()
        for connection in (poll, page):
            connection.close()


def test_a_killed_server_goes_on_where_it_stopped(tmp_path):
    with running_practice_server(tmp_path / "home") as server:
        thread = server.practice.ask("/sandbox/threads", {"op": "create", "name": "t"})
        for number in range(3):
            server.practice.write(str(number), thread["thread_id"])
        taken = server.call("getUpdates")["result"]
        server.call("getUpdates", offset=taken[1]["update_id"])
        before = server.practice.state()
        server.kill()
        server.start()
        after = server.practice.state()
        for state in (before, after):
            state["counts"].pop("calls")
        assert after == before
        assert server.call("getUpdates")["result"] == taken[1:]
        assert server.practice.write("later")["update_id"] == taken[-1]["update_id"] + 1


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with running_practice_server(tmp_path_factory.mktemp("practice") / "home") as running:
        yield running


def key_of(server: PracticeServer) -> str:
    return (server.home / "practice" / "key").read_text().strip()


@pytest.mark.parametrize("path", ["/", "/sandbox/state", "/page/chat.js", "/botx/getMe", "/x"])
@pytest.mark.parametrize("host", ["evil.example", "127.0.0.1.evil.example:80", ""])
def test_other_host_names_are_refused(server, path, host):
    status, answer, _ = server.request("GET", path, headers={"Host": host})
    assert (status, answer["error"]) == (403, "This address answers on this machine only.")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/sandbox/state"),
        ("GET", "/sandbox/calls"),
        ("GET", "/sandbox/view"),
        ("GET", "/sandbox/events"),
        ("GET", "/sandbox/ping"),
        ("POST", "/sandbox/messages"),
        ("POST", "/sandbox/faults"),
        ("DELETE", "/sandbox/faults"),
    ],
)
def test_the_control_side_needs_the_key(server, method, path):
    for headers in ({}, {"X-Sandbox-Key": "wrong"}):
        status, answer, _ = server.request(method, path, "{}", headers)
        assert status == 401 and "key" in answer["error"]
    assert server.request(method, f"{path}?key=wrong", "{}")[0] == 401


def test_the_page_and_its_headers(server):
    status, text, _ = server.request("GET", "/")
    assert status == 401 and text.startswith("This page needs its key.")
    assert server.request("GET", "/?key=%ff%00")[0] == 401
    status, text, headers = server.request("GET", f"/?key={key_of(server)}")
    assert status == 200 and "<title>Practice chat</title>" in text
    assert "default-src 'none'" in headers["Content-Security-Policy"]
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["X-Frame-Options"] == "DENY"
    for name in ("chat.css", "chat.js", "icon.svg"):
        assert server.request("GET", f"/page/{name}")[0] == 200
    for name in ("chat.html", "..%2fserver.py", "%2e%2e/server.py"):
        assert server.request("GET", f"/page/{name}")[0] == 404


def test_the_page_hears_of_changes(server):
    connection = server.connection()
    connection.request("GET", f"/sandbox/events?key={key_of(server)}")
    stream = connection.getresponse()
    assert stream.headers["Content-Type"] == "text/event-stream"
    assert stream.readline() == b"retry: 1000\n"
    server.practice.write("a stranger's", from_id=4711)
    sent = server.practice.write("mine")
    lines = iter(stream.readline, b"")
    event = json.loads(next(line for line in lines if line.startswith(b"data: "))[6:])
    assert event == {"kind": "changed", "thread_id": None, "chat_id": 1001}
    connection.close()
    status, view, _ = server.request("GET", f"/sandbox/view?key={key_of(server)}")
    assert status == 200 and view["messages"][-1]["message_id"] == sent["message_id"]


@pytest.mark.parametrize(
    ("path", "body", "sentence"),
    [
        ("/sandbox/messages", {"text": " "}, "A message needs a text."),
        ("/sandbox/messages", {"text": "x" * 4097}, "A message has at most 4096 characters."),
        ("/sandbox/messages", {"text": "x", "thread_id": 3},
         "There is no thread 3 in the chat of 1001."),
        ("/sandbox/callbacks", {"message_id": 3, "data": "x"}, "Message 3 is none of the bot's."),
        ("/sandbox/reactions", {"message_id": 3, "emoji": "👍"}, "There is no message 3."),
        ("/sandbox/threads", {"op": "delete", "thread_id": 3},
         "There is no thread 3 in the chat of 1001."),
        ("/sandbox/faults", {"method": "fly", "error_code": 500},
         'method: There is no method "fly".'),
        ("/sandbox/messages", [], "The body must be a JSON object."),
    ],
)
def test_what_nobody_could_do_is_explained(server, path, body, sentence):
    assert server.control(path, body) == (400, {"ok": False, "error": sentence})


def test_too_large_a_request_is_refused(server):
    status, answer = server.control("/sandbox/messages", {"text": "x" * (1 << 20)})
    assert (status, answer["error"]) == (413, "The body has more than 1 MiB.")
