"""Breaks the guard of a case in a copy of the project, and looks whether the tests of that case notice."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.cases.last_run import ROOT, Tests, pytest
from tests.cases.mutations import Mutation

LEFT_OUT = shutil.ignore_patterns(
    ".git", ".venv", "__pycache__", ".pytest_cache", ".mypy_cache", ".hypothesis", "build", "dist"
)
RED, GREEN = 1, 0
"""Exit statuses of pytest: some tests failed, none did. Anything else is no answer."""
CHEAP_FIRST = ("tests/unit/", "tests/stage/", "tests/contract/", "tests/cluster/")


class NoAnswer(Exception):
    """The tests of a case fail unbroken, or could not run broken."""


@contextmanager
def copied_project() -> Iterator[Path]:
    """A copy of the project that may be broken."""
    with tempfile.TemporaryDirectory(prefix="cases-") as directory:
        copy = Path(directory) / "project"
        shutil.copytree(ROOT, copy, ignore=LEFT_OUT)
        yield copy


def turns_red(mutation: Mutation, tests: Tests) -> str | None:
    """The first test that notices the broken guard; None when all of the case stay green."""
    for tier in CHEAP_FIRST:
        names = [
            name
            for name, said in tests.items()
            if mutation.case in said["cases"] and name.startswith(tier)
        ]
        if names:
            noticed = _noticed(mutation, names)
            if noticed is not None:
                return noticed
    return None


def _noticed(mutation: Mutation, names: Sequence[str]) -> str | None:
    files = sorted({name.partition("::")[0] for name in names})
    arguments = ["-x", "-p", "no:cacheprovider", "--case", mutation.case, *files]
    with copied_project() as copy:
        status, _ = pytest(arguments, copy)
        if status != GREEN:
            raise NoAnswer(f"{mutation.case}: its tests fail without the mutation ({status})")
        mutation.apply(copy)
        status, said = pytest(arguments, copy)
    if status not in (RED, GREEN):
        raise NoAnswer(f"{mutation.case}: pytest ended with {status}")
    return next((name for name, one in said.items() if one["outcome"] == "failed"), None)
