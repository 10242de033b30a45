"""The ledger of cases: what each status means, and that every guard it can break is still there."""

import pytest

from tests.cases.ledger import (
    BY_DESIGN,
    CLAIMED,
    FAILING,
    LATER,
    MISSING,
    PROVED,
    rows,
    unknown,
)
from tests.cases.last_run import ROOT
from tests.cases.mutations import Mutation, NoLongerThere, read_mutations
from tests.cases.sections import Reasons, Section, read_reasons, read_sections

SECTIONS = (Section("L", 1, "asked", 1, 3, True), Section("L", 2, "not asked", 4, 5, False))
NONE = Reasons({}, {})


def test_the_sections_have_every_number_once() -> None:
    """L1 to L214 and F1 to F261, in order."""
    cases = [case for section in read_sections() for case in section]
    assert cases == [f"L{n}" for n in range(1, 215)] + [f"F{n}" for n in range(1, 262)]


def test_reasons_are_one_line_about_a_case_there_is() -> None:
    """And no case has two."""
    reasons = read_reasons()
    assert not unknown(read_sections(), reasons, {})
    assert not reasons.by_design.keys() & reasons.later.keys()
    lines = [*reasons.by_design.values(), *reasons.later.values()]
    assert all(line.strip() and "\n" not in line for line in lines)


def test_the_status_of_a_case() -> None:
    """A failure counts whatever is said of the case; what is asked for and has no test is missing."""
    tests = {
        "a::one[x]": {"cases": ["L1"], "outcome": "passed"},
        "a::one[y]": {"cases": ["L1"], "outcome": "passed"},
        "a::two": {"cases": ["L2", "L4"], "outcome": None},
    }
    first, second, third, fourth, fifth = rows(SECTIONS, NONE, tests)
    assert (first.status, first.tests) == (PROVED, ("a::one",))
    assert (second.status, fourth.status) == (CLAIMED, CLAIMED)
    assert (third.status, fifth.status) == (MISSING, LATER)
    assert [row.is_bad for row in (first, second, third, fourth, fifth)] == [False, False, True, False, False]
    reasons = Reasons(by_design={"L1": "so", "L3": "so"}, later={"L2": "then"})
    tests["a::one[y]"]["outcome"] = "failed"
    first, second, third, *_ = rows(SECTIONS, reasons, tests)
    assert (first.status, third.status) == (FAILING, BY_DESIGN) and first.is_bad and not third.is_bad
    skipped = {"a::one": {"cases": ["L1"], "outcome": "skipped"}}
    assert rows(SECTIONS, NONE, skipped)[0].status == MISSING


def test_numbers_that_do_not_exist_are_named() -> None:
    """A slip of the pen is no case; marks of other kinds are none either."""
    tests = {"a::one": {"cases": ["L99", "scenario 5", "L1"], "outcome": None}}
    assert unknown(SECTIONS, Reasons({"F1": "so"}, {}), tests) == ["F1", "L99"]


MUTATIONS = read_mutations()


def test_there_are_enough_mutations() -> None:
    """Of cases that are asked for, and each changes something."""
    asked = {case for section in read_sections() if section.asked for case in section}
    assert len(MUTATIONS.keys() & asked) >= 30
    assert all(one.old != one.new and one.what for one in MUTATIONS.values())


@pytest.mark.parametrize("mutation", MUTATIONS.values(), ids=MUTATIONS)
def test_what_a_mutation_breaks_is_still_there(mutation: Mutation) -> None:
    """Exactly once; else the table must be brought up to date."""
    mutation.check((ROOT / mutation.file).read_text())


def test_a_mutation_of_what_is_gone_is_refused() -> None:
    """Zero times or twice."""
    mutation = Mutation("L1", "x.py", "a", "b", "what")
    for text in ("", "aa"):
        with pytest.raises(NoLongerThere, match="L1"):
            mutation.check(text)
