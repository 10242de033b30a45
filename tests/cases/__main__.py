"""`python -m tests.cases`: the ledger, and its proof by mutation. See `tests.cases`."""

import argparse
import collections
import json
import sys

from tests.cases import last_run, ledger
from tests.cases.mutate import NoAnswer, turns_red
from tests.cases.mutations import NoLongerThere, read_mutations
from tests.cases.sections import read_reasons, read_sections


def main(arguments: list[str]) -> int:
    """Exit status: 0 when all that is asked for is shown, and every mutation is noticed."""
    parser = argparse.ArgumentParser(prog="python -m tests.cases", description=__doc__)
    parser.add_argument("--json", action="store_true", help="rows as JSON")
    parser.add_argument(
        "--collect-only", action="store_true", help="run nothing; show what the last run said"
    )
    parser.add_argument(
        "--tier", action="append", choices=last_run.TIERS, help="run only tests of this tier"
    )
    parser.add_argument("--mutate", metavar="CASE", help="break the guard of a case, or of `all`")
    chosen = parser.parse_args(arguments)
    if chosen.mutate is not None:
        return _mutate(chosen.mutate)
    return _show(chosen)


def _show(chosen: argparse.Namespace) -> int:
    sections, reasons = read_sections(), read_reasons()
    if chosen.collect_only:
        tests = last_run.collect()
    else:
        tests = last_run.run(chosen.tier or last_run.TIERS)
    rows = ledger.rows(sections, reasons, tests)
    if chosen.json:
        print(json.dumps([row.plain() for row in rows], indent=1))
    else:
        for row in rows:
            said = "; ".join(part for part in (row.why, " ".join(row.tests)) if part)
            print(f"{row.case:5} {row.status:9} {said}")
        counted = collections.Counter(row.status for row in rows)
        asked = collections.Counter(row.status for row in rows if row.asked)
        print("all:      ", _counts(counted))
        print("asked for:", _counts(asked))
    unknown = ledger.unknown(sections, reasons, tests)
    for case in unknown:
        print(f"{case} is no case of the contract", file=sys.stderr)
    return 1 if unknown or any(row.is_bad for row in rows) else 0


def _counts(counted: collections.Counter[str]) -> str:
    return ", ".join(f"{counted[one]} {one}" for one in ledger.STATUSES if counted[one])


def _mutate(wanted: str) -> int:
    table = read_mutations()
    if wanted != "all" and wanted not in table:
        print(f"there is no mutation of {wanted}; there are: {' '.join(table)}", file=sys.stderr)
        return 2
    tests = last_run.collect()
    green = 0
    for mutation in table.values() if wanted == "all" else [table[wanted]]:
        try:
            noticed = turns_red(mutation, tests)
        except (NoAnswer, NoLongerThere) as failure:
            noticed = None
            print(failure, file=sys.stderr)
        green += noticed is None
        print(f"{mutation.case:5} {'red' if noticed else 'GREEN':5} {mutation.what}: {noticed or ''}")
        sys.stdout.flush()
    return 1 if green else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
