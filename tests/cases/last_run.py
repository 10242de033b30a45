"""Running the tests that carry cases, and what they said last."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
LAST = ROOT / ".pytest_cache" / "cases.json"
"""What the last run said; beside what pytest itself remembers, and as dispensable."""
TIERS = ("unit", "stage", "contract", "cluster")

Tests = dict[str, dict[str, Any]]


class NotCollected(Exception):
    """pytest could not even collect the tests."""


def pytest(
    arguments: Sequence[str], root: Path = ROOT, quiet: bool = True
) -> tuple[int, Tests]:
    """Run pytest with the plugin; returns its exit status and the report."""
    with tempfile.TemporaryDirectory() as directory:
        report = Path(directory) / "report.json"
        command = [
            *(sys.executable, "-m", "pytest", "-q", "-p", "tests.cases.plugin"),
            *("--case-report", str(report), *arguments),
        ]
        done = subprocess.run(
            command, cwd=root, check=False, text=True, capture_output=quiet
        )
        if not report.exists():
            raise NotCollected(f"{done.stdout or ''}{done.stderr or ''}"[-4_000:])
        return done.returncode, json.loads(report.read_text())


def run(tiers: Sequence[str] = TIERS) -> Tests:
    """Run the marked tests of these tiers; what they say is kept."""
    paths = [f"tests/{tier}" for tier in tiers]
    status, tests = pytest(["-m", "case", *paths], quiet=False)
    if status not in (0, 1):
        raise NotCollected(f"pytest ended with {status}")
    remembered = _remembered()
    LAST.parent.mkdir(exist_ok=True)
    LAST.write_text(json.dumps({**remembered, **tests}))
    return _with_outcomes(collect(), {**remembered, **tests})


def collect() -> Tests:
    """The marked tests, with what the last run said of each."""
    status, tests = pytest(["-m", "case", "--collect-only", *(f"tests/{tier}" for tier in TIERS)])
    if status != 0:
        raise NotCollected(f"pytest ended with {status}")
    return _with_outcomes(tests, _remembered())


def _with_outcomes(tests: Tests, remembered: Mapping[str, Any]) -> Tests:
    return {
        name: {**said, "outcome": remembered.get(name, {}).get("outcome")}
        for name, said in tests.items()
    }


def _remembered() -> Tests:
    try:
        return json.loads(LAST.read_text())
    except (OSError, ValueError):
        return {}
