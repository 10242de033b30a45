"""Measurements on real processes: `python -m tests.bench <name>`; without a name, what there is."""

import sys

from tests.bench import bus, footprint, start, takeover

BENCHES = {"bus": bus.main, "footprint": footprint.main, "start": start.main, "takeover": takeover.main}


def main(arguments: list[str]) -> int:
    """Run one measurement; returns the exit status."""
    if len(arguments) != 1 or arguments[0] not in BENCHES:
        print("usage: python -m tests.bench " + "|".join(BENCHES), file=sys.stderr)
        return 2
    BENCHES[arguments[0]]()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
