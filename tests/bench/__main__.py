"""Measurements on real processes: `python -m tests.bench <name>`; without a name, what there is."""

import sys
import time

from tests.bench import bus, footprint, start, takeover

BENCHES = {"bus": bus.main, "footprint": footprint.main, "start": start.main, "takeover": takeover.main}


def machine_ms() -> float:
    """How long a million turns of a plain loop take here: machines, and hours of one, differ by several times."""
    took = []
    for _ in range(5):
        began = time.process_time()
        for _ in range(1_000_000):
            pass
        took.append(time.process_time() - began)
    return min(took) * 1_000


def main(arguments: list[str]) -> int:
    """Run one measurement; returns the exit status."""
    if len(arguments) != 1 or arguments[0] not in BENCHES:
        print("usage: python -m tests.bench " + "|".join(BENCHES), file=sys.stderr)
        return 2
    print(f"this machine: a million turns of a loop in {machine_ms():.0f} ms")
    BENCHES[arguments[0]]()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
