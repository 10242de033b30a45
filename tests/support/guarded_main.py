"""Stands in for `run.py`: runs one command under a guard and waits, until it is killed.

Run as `python -m tests.support.guarded_main CMD ARG…`; says `guard PID` first, then what the
command says.
"""

import asyncio
import os
import sys

from actors.modes.guarded_process import GuardedProcess


async def main(command: list[str]) -> None:
    """Run the command and pass its output on."""
    process = await GuardedProcess.start(command, os.environ)
    print("guard", process._guard.pid, flush=True)
    while printed := await process.read():
        os.write(1, printed)
    ended = await process.wait()
    print("ended", ended.status, flush=True)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
