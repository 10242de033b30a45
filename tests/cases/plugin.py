"""A pytest plugin: which collected test carries which case, how each ended; and `--case` to choose by case.

The report is one JSON object, {nodeid: {"cases": [...], "outcome": passed | failed | skipped | null}}.
"""

import json
from pathlib import Path
from typing import Any

import pytest


def pytest_addoption(parser: Any) -> None:
    """Where to report, and which cases to keep."""
    group = parser.getgroup("cases")
    group.addoption("--case-report", default=None, help="write the report to this file")
    group.addoption("--case", action="append", default=[], help="only tests of this case")


def pytest_configure(config: Any) -> None:
    """Begin a report."""
    config.pluginmanager.register(CaseReport(config), "case-report")


def cases_of(item: Any) -> list[str]:
    """The numbers of the marks of one test, parameters included."""
    return [str(number) for mark in item.iter_markers("case") for number in mark.args]


class CaseReport:
    """What is collected and how it ends."""

    def __init__(self, config: Any) -> None:
        self._config = config
        self._tests: dict[str, dict[str, Any]] = {}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        """Keep the wanted tests, and remember their cases."""
        wanted = set(self._config.getoption("--case"))
        chosen = [item for item in items if not wanted or wanted & set(cases_of(item))]
        left_out = [item for item in items if item not in chosen] if wanted else []
        if left_out:
            self._config.hook.pytest_deselected(items=left_out)
            items[:] = chosen
        for item in chosen:
            self._tests[item.nodeid] = {"cases": cases_of(item), "outcome": None}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """A phase of a test ended: a failure anywhere counts."""
        test = self._tests.get(report.nodeid)
        if test is None or test["outcome"] == "failed":
            return
        if report.failed:
            test["outcome"] = "failed"
        elif report.skipped:
            test["outcome"] = "skipped"
        elif report.when == "call":
            test["outcome"] = "passed"

    def pytest_sessionfinish(self) -> None:
        """Write the report."""
        path = self._config.getoption("--case-report")
        if path is not None:
            Path(path).write_text(json.dumps(self._tests))
