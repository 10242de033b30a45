"""The screens of status, shell and doctor as people see them at 80 columns."""

import argparse
import dataclasses
import inspect

import pytest
from rich.text import Text

from actors.plans import shell_screens
from actors.plans.doctor import Found, checks, exit_status
from actors.plans.doctor import screen as doctor_screen
from actors.plans.screen import Screen
from actors.plans.status import StatusFacts, ThreadFacts, instants
from actors.plans.status import screen as status_screen
from actors.screen import coloured, cut, lines_of
from actors.shell_commands import ShellCommands
from tests.support.snapshots import COLUMNS, matches
from tests.unit.test_status_plan import FACTS, Binding, Counts, Identity, Lease, Owner

BUILD = "switchboard 0.1.0"


def shown(screen: Screen) -> str:
    """At the width of the snapshots."""
    return "\n".join(lines_of(screen, COLUMNS)) + "\n"


def thread(name, slot, pid, since, alive=True, released=None, **more):
    """One thread of a person at work."""
    owner = Owner(pid=pid, instance_id=f"{pid}:1") if pid else None
    identity = Identity(
        owner=owner, released_ms=released, claimed_ms=since, directory=more.pop("directory", "~/api"),
        command=more.pop("command", "switchboard -- claude"),
    )
    status = more.pop("status", "active")
    binding = Binding(thread_name=name, slot=slot, status=status, instance_id=f"{pid}:1")
    return ThreadFacts(binding, identity, alive, **more)


WORKING_DAY: StatusFacts = dataclasses.replace(
    FACTS,
    owner_name="Ann",
    lease=Lease(owner=Owner(pid=4242, instance_id="4242:1")),
    threads=(
        thread("api · claude", "A", 4242, 1, working=True, waiting=1, queued=1),
        thread("ml · train.py", "B", 4377, 2),
        thread("docs · claude", "C", 4390, 1, working=False),
        thread("日本語 · echo", "D", 4391, 1, status="starting"),
        thread(
            "web · codex", "E", None, 3, alive=False, released=3, waiting=1, directory="~/web",
            command="switchboard -- codex",
        ),
        thread("old · job", "F", 99, 4, alive=False, directory="~/old", command="switchboard -- make"),
    ),
    counts=Counts(dead=0),
    asked=1,
)
CLOCK = {1: "12:04", 2: "Mon 09:10", 3: "Sun 22:41", 5: "3 Nov"}


def test_status_of_a_working_day():
    assert set(instants(WORKING_DAY)) == set(CLOCK)
    assert matches("status", shown(status_screen(WORKING_DAY, CLOCK)))


def test_status_before_anything():
    nothing = dataclasses.replace(
        FACTS, bot_shown="", owner_id=0, lease=None,
        threads=(), counts=None, live={},
    )
    assert matches("status_empty", shown(status_screen(nothing, {})))


def test_a_wide_terminal_and_a_pipe_have_each_hint_beside_its_row():
    for columns in (120, None):
        lines = lines_of(status_screen(WORKING_DAY, CLOCK), columns)
        assert "  Sun 22:41  in ~/web: switchboard -- codex" in lines[6]


@pytest.mark.parametrize("columns", [20, 40, 80, 200])
def test_nothing_is_wider_than_the_terminal(columns):
    from rich.cells import cell_len

    long = dataclasses.replace(
        WORKING_DAY, threads=(thread("x" * 128, "A", 4242, 1), *WORKING_DAY.threads)
    )
    lines = lines_of(status_screen(long, CLOCK), columns)
    # Headings that leave no room for the rest are the one exception.
    assert all(cell_len(line) <= max(columns, 48) for line in lines)


def test_colours_are_for_terminals_alone():
    screen = status_screen(WORKING_DAY, CLOCK)
    assert "\x1b[" in coloured(screen, COLUMNS)
    assert "\x1b" not in shown(screen)


# -- the shell ----------------------------------------------------------------------------------


@pytest.fixture
def commands():
    """The shell without a house; what it shows is kept in `screens`."""
    screens = []
    made = ShellCommands(argparse.Namespace(bot=None, home=None, token_file=None), screens.append)
    made.screens = screens
    return made


def test_help_of_the_shell(commands):
    commands.run("help")
    assert matches("shell_help", shown(commands.screens[0]))


def test_every_command_explains_itself_with_usage_and_example(commands):
    pages = []
    for name, method in commands.commands().items():
        text = inspect.getdoc(method)
        assert f"usage: {name}" in text and f"example: {name}" in text
        commands.run(f"help {name}")
        pages.append(shown(commands.screens[-1]))
    assert matches("shell_help_pages", "\n".join(pages))


FOLLOWERS = [
    {
        "pid": 4242, "thread_name": "api · claude", "slot": "A", "heartbeat_age_ms": 300,
        "connected": True,
    },
    {"pid": 4377, "thread_name": "ml · train.py", "slot": "B", "heartbeat_age_ms": 9_000,
     "connected": False},
]
PARTS = [
    {"name": "leader", "pid": 50, "restarts": 0, "uptime_ms": 7_200_000},
    {"name": "poller", "pid": 51, "restarts": 2, "uptime_ms": 61_000},
]


def test_tables_of_the_shell():
    screens = (
        shell_screens.threads(WORKING_DAY.threads, 1001),
        shell_screens.processes(FOLLOWERS, 4242),
        shell_screens.processes([], 0),
        shell_screens.actors(PARTS, {50: 61_000_000}),
        shell_screens.undelivered([
            (812345, "api · claude", "dead", "12:04", "fix the login page\nand the tests, please"),
            (812346, "web · codex", "cut_off", "Sun 22:41", "deploy"),
        ]),
        shell_screens.undelivered([]),
    )
    assert matches("shell_tables", "\n".join(shown(screen) for screen in screens))


# -- the doctor ---------------------------------------------------------------------------------


HEALTHY = Found(
    python=(3, 12, 4), build=BUILD, home="/home/ann/.local/share/switchboard", home_exists=True,
    bot_name="work", token="ok", username="work_bot", topics=True, owner_id=5, owner_name="Ann",
    chat_problem="", api_root="https://api.telegram.org", skew_s=0.4, webhook="", conflict="",
    disk_free=84_600_000_000, leader="live", leader_pid=4242,
    builds={4242: BUILD, 4377: BUILD}, databases=5,
)
SICK = dataclasses.replace(
    HEALTHY, open_to_others=("config.json", "logs"), topics=False, chat_problem="Bad Request: chat not found",
    skew_s=95.0, webhook="hooks.example.com", conflict="foreign-poller", disk_free=9_000_000,
    leader="silent", builds={4242: "switchboard 0.0.9"}, owner_id=0,
    damaged=(("inbox-1234567890abcdef.db", "A data file is damaged; it was left as it is."),),
    stale_sockets=("bus-3-1.sock",), proxies={"HTTPS_PROXY": "proxy.example:3128"},
)


def test_the_doctor_of_a_healthy_house():
    made = checks(HEALTHY)
    assert {check.level for check in made} == {"ok"} and exit_status(made) == 0
    assert matches("doctor", shown(doctor_screen(made)))


def test_the_doctor_of_a_sick_house():
    made = checks(SICK)
    assert exit_status(made) == 1
    assert matches("doctor_sick", shown(doctor_screen(made)))


@pytest.mark.parametrize(
    ("changes", "what", "level", "said"),
    [
        ({"python": (3, 10, 1)}, "Python", "error", "3.11 or newer"),
        ({"home_problem": "/h is no directory"}, "home", "error", "--home DIR"),
        ({"home_exists": False}, "home", "ok", "at the first start"),
        ({"foreign": ("bots",)}, "home", "error", "belongs to another user"),
        ({"config_problem": "config.json: Extra data."}, "config", "error", "Extra data"),
        ({"bot_name": ""}, "config", "warning", "switchboard setup"),
        ({"token": "refused"}, "token", "error", "@BotFather"),
        ({"token": "unreachable", "network_problem": "no route"}, "network", "error", "firewall"),
        ({"wants_topics": False, "topics": False}, "bot switches", "ok", "possible"),
        ({"skew_s": -40.0}, "clock", "warning", "40 s behind the time at Telegram"),
        ({"leader": "dead"}, "processes", "warning", "nobody took over"),
        ({"leader": "none"}, "processes", "ok", "none runs"),
        ({"disk_free": 100_000_000}, "disk", "warning", "make room"),
        ({"fixed": ("x is closed now",)}, "fixed", "fixed", "x is closed now"),
    ],
)
def test_each_check_says_what_to_do(changes, what, level, said):
    made = checks(dataclasses.replace(HEALTHY, **changes))
    (check,) = [one for one in made if one.what == what]
    assert check.level == level and said in f"{check.finding} {check.to_do}"
    assert exit_status(made) == (1 if level == "error" else 0)


def test_without_a_bot_nobody_is_asked_about_one():
    made = checks(dataclasses.replace(HEALTHY, bot_name=""))
    assert {"token", "chat", "owner", "network", "webhook"} & {one.what for one in made} == set()


# -- help ---------------------------------------------------------------------------------------


HELPED = ("run", "setup", "status", "shell", "doctor", "events", "logs", "service", "practice", "version")


@pytest.mark.parametrize("command", HELPED)
def test_help_of_every_command_teaches_by_example(command, capsys, monkeypatch):
    from actors.command_line import COMMANDS, parse

    assert set(HELPED) == set(COMMANDS)
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    with pytest.raises(SystemExit) as ended:
        parse([command, "--help"])
    text = capsys.readouterr().out
    assert ended.value.code == 0 and "examples:\n  switchboard" in text
    assert all(len(line) <= COLUMNS for line in text.splitlines())


def test_a_watch_says_how_much_it_cannot_show():
    lines = [Text(str(number)) for number in range(5)]
    assert [line.plain for line in cut(lines, 5)] == ["0", "1", "2", "3", "4"]
    assert [line.plain for line in cut(lines, 3)] == ["0", "1", "… 3 more lines"]
    assert [line.plain for line in cut(lines, 1)] == ["… 5 more lines"]


def test_messages_outside_every_thread_are_not_forgotten():
    counts = dataclasses.replace(Counts(dead=0), choosing=2)
    below = status_screen(dataclasses.replace(WORKING_DAY, counts=counts, asked=0), CLOCK).below
    assert below == ("2 outside every thread: say in the chat whose they are",)


@pytest.mark.parametrize("owner_id, says", [(0, "waits for its code"), (5, "is starting")])
def test_a_process_that_is_not_there_yet_is_nothing_wrong(owner_id, says):
    found = dataclasses.replace(HEALTHY, leader="starting", leader_pid=570, owner_id=owner_id)
    (line,) = [one for one in checks(found) if one.what == "processes"]
    assert line.level == "ok" and says in line.finding
