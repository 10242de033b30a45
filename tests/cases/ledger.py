"""What is known of each case: pure, from the sections, the reasons and what the tests said."""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from tests.cases.sections import Reasons, Section

PROVED, CLAIMED, FAILING = "proved", "claimed", "failing"
BY_DESIGN, LATER, MISSING = "by design", "later", "missing"
STATUSES = (PROVED, CLAIMED, BY_DESIGN, LATER, FAILING, MISSING)
"""`claimed`: a test carries the number, and was not run."""


@dataclasses.dataclass(frozen=True, slots=True)
class Row:
    """One case."""

    case: str
    status: str
    tests: tuple[str, ...]
    why: str
    asked: bool

    @property
    def is_bad(self) -> bool:
        """Whether what is promised is not shown."""
        return self.status == FAILING or (self.asked and self.status == MISSING)

    def plain(self) -> dict[str, Any]:
        """For `--json`."""
        return {"case": self.case, "status": self.status, "tests": list(self.tests), "why": self.why}


def rows(
    sections: Iterable[Section], reasons: Reasons, tests: Mapping[str, Mapping[str, Any]]
) -> list[Row]:
    """A row for every case of every section, in order."""
    carriers: dict[str, list[str]] = {}
    for test, said in tests.items():
        for case in said["cases"]:
            carriers.setdefault(case, []).append(test)
    return [
        _row(case, section.asked, reasons, carriers.get(case, []), tests)
        for section in sections
        for case in section
    ]


def unknown(
    sections: Iterable[Section], reasons: Reasons, tests: Mapping[str, Mapping[str, Any]]
) -> list[str]:
    """Numbers in marks or reasons that the contract does not have."""
    known = {case for section in sections for case in section}
    said = {case for one in tests.values() for case in one["cases"]}
    said |= {*reasons.by_design, *reasons.later}
    return sorted(case for case in said - known if case[:1] in "LF" and case[1:].isdecimal())


def _row(
    case: str,
    asked: bool,
    reasons: Reasons,
    carriers: list[str],
    tests: Mapping[str, Mapping[str, Any]],
) -> Row:
    functions = tuple(dict.fromkeys(test.partition("[")[0] for test in carriers))
    failed = [test for test in carriers if tests[test]["outcome"] == "failed"]
    passed = [test for test in carriers if tests[test]["outcome"] == "passed"]
    unrun = [test for test in carriers if tests[test]["outcome"] is None]
    why = reasons.by_design.get(case) or reasons.later.get(case) or ""
    if failed:
        return Row(case, FAILING, functions, ", ".join(failed), asked)
    if case in reasons.by_design:
        return Row(case, BY_DESIGN, functions, why, asked)
    if passed and not unrun:
        return Row(case, PROVED, functions, why, asked)
    if unrun:
        return Row(case, CLAIMED, functions, f"{len(unrun)} of {len(carriers)} tests not run", asked)
    if case in reasons.later or (not asked and not carriers):
        return Row(case, LATER, functions, why or "its section is not asked for yet", asked)
    return Row(case, MISSING, functions, "only skipped tests" if carriers else "", asked)
