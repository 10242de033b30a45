"""The walls of the house, read from the source: who may import whom, and what must not be written.

    messages <- stores <- actors <- run.py          a plan knows messages and plans, and no world at all
"""

import ast
import functools
import sys
from pathlib import Path

import pytest

from actors.base import snake
from messages import ANSWERS
from messages.kind import CATALOGUE

ROOT = Path(__file__).resolve().parents[2]
ROOMS = ("messages", "stores", "actors")
PRODUCT = sorted([ROOT / "run.py", *(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))])
TESTS = sorted((ROOT / "tests").rglob("*.py"))
PLANS = [path for path in PRODUCT if path.parent == ROOT / "actors" / "plans"]

TREE = (
    "leader",
    "telegram_gateway",
    "target_provisioner",
    "follower_registry",
    "follower_mutation",
    "prune_supervisor",
    "inbox",
    "poller",
)

THIRD_PARTY = {
    "thespian",
    "sqlalchemy",
    "alembic",
    "telegram",
    "aiohttp",
    "marshmallow",
    "psutil",
    "loguru",
    "platformdirs",
    # What python-telegram-bot speaks through, for the session whose last step is ours.
    "httpx",
    "httpcore",
    "anyio",
    "prompt_toolkit",
    "rich",
    "segno",
    # Names processes where it happens to be installed.
    "setproctitle",
}
TRANSPORT = {"telegram", "httpx", "httpcore", "anyio"}

ALLOWED = {
    # room: (our own rooms it may import, third parties it may import)
    "messages": ({"messages"}, {"marshmallow"}),
    "stores": (
        {"messages", "stores"},
        {"marshmallow", "sqlalchemy", "alembic", "psutil", "platformdirs"},
    ),
    "actors": (
        {"messages", "stores", "actors"},
        {"marshmallow", "thespian", "aiohttp", "psutil", "loguru", "setproctitle"}
        | {"prompt_toolkit", "rich", "segno"}
        | TRANSPORT,
    ),
    "run.py": ({"messages", "stores", "actors"}, {"psutil"}),
}

PLAN_STRANGERS = {
    "time",
    "datetime",
    "random",
    "secrets",
    "uuid",
    "logging",
    "os",
    "io",
    "pathlib",
    "socket",
    "subprocess",
    "threading",
    "asyncio",
    "sqlite3",
    "run",
    "stores",
} | (THIRD_PARTY - {"marshmallow"})


def name_of(path):
    return path.relative_to(ROOT).as_posix()


@functools.cache
def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"), name_of(path))


@functools.cache
def imported(path):
    """The dotted names of the modules that a file imports, wherever in it."""
    names = set()
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{name_of(path)} imports relatively"
            names |= {f"{node.module}.{alias.name}" for alias in node.names} | {node.module}
    return names


def tops(path):
    return {name.partition(".")[0] for name in imported(path)}


@functools.cache
def calls(path):
    return [node for node in ast.walk(tree_of(path)) if isinstance(node, ast.Call)]


def called(call):
    """The last part of the name that is called."""
    function = call.func
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def words(path):
    """Every name and attribute in a file."""
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def defined(*folders):
    """The names of all functions that are defined in these folders."""
    return {
        node.name
        for folder in folders
        for path in (ROOT / folder).rglob("*.py")
        for node in ast.walk(tree_of(path))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    }


def constants(call, count):
    """The first arguments of a call, if they are written out as strings."""
    given = call.args[:count]
    if len(given) == count and all(
        isinstance(argument, ast.Constant) and isinstance(argument.value, str) for argument in given
    ):
        return tuple(argument.value for argument in given)
    return None


# -- arrows -------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", PRODUCT, ids=name_of)
def test_arrows_go_one_way(path):
    room = path.relative_to(ROOT).parts[0]
    own, parties = ALLOWED[room]
    seen = tops(path)
    assert seen & {"messages", "stores", "actors", "run", "tests"} <= own
    assert seen & THIRD_PARTY <= parties
    foreign = seen - set(sys.stdlib_module_names) - THIRD_PARTY - {"messages", "stores", "actors", "run"}
    assert foreign == set(), "declare it in THIRD_PARTY and say who may import it"


@pytest.mark.parametrize("path", PLANS, ids=name_of)
def test_plans_know_no_world(path):
    assert tops(path) & PLAN_STRANGERS == set()
    actors = {name for name in imported(path) if name.partition(".")[0] == "actors"}
    assert {name for name in actors if not (name + ".").startswith("actors.plans.")} == set()


def test_each_library_has_its_few_doors():
    def importers(*libraries):
        return {name_of(path) for path in PRODUCT if tops(path) & set(libraries)}

    assert importers(*TRANSPORT) <= {
        "actors/telegram_gateway.py",
        "actors/poller.py",
        "actors/bot_session.py",
    }
    assert {name for name in importers("aiohttp") if not name.startswith("actors/sandbox/")} == set()
    # Whoever waits in a terminal for hours must not carry what only a command shows.
    assert importers("rich") == {"actors/screen.py"}
    assert importers("prompt_toolkit") <= {"actors/modes/console.py", "actors/shell_prompt.py"}
    assert {name for name in importers("sqlalchemy") if not name.startswith("stores/")} == set()
    assert {name for name in importers("thespian") if "/plans/" in name or "actors/" not in name} == set()
    # Alembic costs a second; whoever needs no migration must not pay for it.
    eager = {
        name_of(path)
        for path in PRODUCT
        for node in tree_of(path).body
        if isinstance(node, (ast.Import, ast.ImportFrom)) and "alembic" in ast.unparse(node)
    }
    assert {name for name in eager if not name.startswith("stores/migrations/")} == set()


def test_nobody_imports_everything():
    starred = [
        name_of(path)
        for path in PRODUCT + TESTS
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names)
    ]
    assert starred == []


# -- names --------------------------------------------------------------------------------------


def test_no_file_is_a_drawer():
    drawers = {"utils", "util", "helpers", "helper", "common", "misc"}
    named_so = [
        name_of(path) for path in PRODUCT + TESTS if drawers & {*path.relative_to(ROOT).parts, path.stem}
    ]
    assert named_so == []


@pytest.mark.parametrize("stem", TREE)
def test_a_noun_means_the_same_in_every_room(stem):
    """The actor, its plan and what is said to it share a stem; so do its tests."""
    class_name = "".join(part.title() for part in stem.split("_"))
    for path, wanted in (
        (ROOT / "actors" / f"{stem}.py", class_name),
        (ROOT / "actors" / "plans" / f"{stem}.py", f"{class_name}Plan"),
    ):
        classes = {node.name for node in tree_of(path).body if isinstance(node, ast.ClassDef)}
        assert wanted in classes
    assert f"messages.{stem}" in imported(ROOT / "messages" / "envelope.py")
    tested = [path for path in TESTS if path.name.startswith(f"test_{stem}")]
    assert tested, f"no tests/*/test_{stem}*.py"


# -- what must not be written -------------------------------------------------------------------


def test_wakeups_are_made_in_one_place():
    # Each carries a generation there; one made elsewhere could not be told from a stale one.
    makers = {name_of(path) for path in PRODUCT if "wakeupAfter" in set(words(path))}
    assert makers == {"actors/effect_actor.py"}


def test_every_ask_has_a_timeout():
    patient = [
        f"{name_of(path)}:{call.lineno}"
        for path in PRODUCT + TESTS
        if "thespian" in tops(path)
        for call in calls(path)
        if isinstance(call.func, ast.Attribute)
        and call.func.attr == "ask"
        and len(call.args) < 3
        and "timeout" not in {keyword.arg for keyword in call.keywords}
    ]
    # `Stage.ask` waits for nothing: a stage has no time of its own.
    assert [place for place in patient if not place.startswith("tests/stage/")] == []


def test_nobody_waits_by_sleeping():
    allowed = {"tests/support/eventually.py", "tests/bench/footprint.py"}
    sleepers = [
        f"{name_of(path)}:{call.lineno}"
        for path in TESTS
        if name_of(path) not in allowed
        for call in calls(path)
        if called(call) == "sleep" and ast.unparse(call.args[0]) != "0"
    ]
    assert sleepers == []


def test_nobody_evaluates_text():
    wild = [
        f"{name_of(path)}:{call.lineno}"
        for path in PRODUCT
        for call in calls(path)
        if isinstance(call.func, ast.Name) and call.func.id in ("eval", "exec")
    ]
    assert wild == []


@pytest.mark.parametrize("path", PRODUCT, ids=name_of)
def test_every_module_says_what_it_is(path):
    assert ast.get_docstring(tree_of(path))


# -- what plans name exists ---------------------------------------------------------------------


def test_every_write_names_a_method_that_exists():
    methods = defined("stores", "actors")
    named = {
        constants(call, 2)
        for path in PLANS
        for call in calls(path)
        if called(call) == "Write" and constants(call, 2)
    }
    assert named
    assert {name for name in named if name[1] not in methods} == set()


def test_every_answer_has_a_kind_and_every_command_a_failure():
    kinds = {kind for kind, _ in CATALOGUE}
    for command, answers in ANSWERS.items():
        assert {command, *answers} <= kinds
        assert "CommandFailed" in answers, command


def test_every_command_is_heard_by_some_plan_or_by_the_base():
    by_the_base = {"ConfigureChild", "Ping", "DescribeActor"}
    handlers = defined("actors/plans")
    deaf = {kind for kind in ANSWERS if kind not in by_the_base and f"on_{snake(kind)}" not in handlers}
    assert deaf == set()


@pytest.mark.parametrize("path", PLANS, ids=name_of)
def test_whoever_hears_answers_hears_failures_too(path):
    """A plan that asks must learn that it got no answer, or it waits for ever."""
    answers = {f"on_{snake(kind)}" for answered in ANSWERS.values() for kind in answered}
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.ClassDef) and node.name.endswith("Plan"):
            methods = {item.name for item in node.body if isinstance(item, ast.FunctionDef)}
            asks = any(isinstance(name, ast.Name) and name.id == "Send" for name in ast.walk(tree_of(path)))
            if asks and methods & answers:
                assert {"on_command_failed", "on_unanswered"} <= methods, node.name


def test_no_constant_takes_the_place_of_another():
    """Two texts of one name, say: the linter lets the second one win."""
    for path in PRODUCT:
        assigned = [
            target.id
            for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name) and target.id.isupper()
        ]
        assert len(assigned) == len(set(assigned)), path
