"""All gates, in the order in which they fail fastest: `python -m tests.check`.

Prints each gate with its time and exits non-zero with the first that fails. Further arguments go to
pytest.
"""

import os
import subprocess
import sys
import time

GATES: tuple[tuple[str, list[str]], ...] = (
    ("flake8", ["-m", "flake8", "run.py", "actors", "messages", "stores", "tests"]),
    ("mypy", ["-m", "mypy"]),
    # One more than there are cores: a test of real processes waits a good part of its time, and each has its own home.
    ("pytest", ["-m", "pytest", "-q", "-n", str((os.cpu_count() or 1) + 1), "--dist", "worksteal"]),
)


def main(arguments: list[str]) -> int:
    """Run every gate; returns the exit status of the first that fails, else 0."""
    for name, command in GATES:
        began = time.monotonic()
        more = arguments if name == "pytest" else []
        status = subprocess.run([sys.executable, *command, *more], check=False).returncode
        print(f"{name}: {'ok' if status == 0 else 'failed'} in {time.monotonic() - began:.0f} s")
        if status:
            return status
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
