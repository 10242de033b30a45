"""The last resort against processes of a run whose guard was killed too.

Every process of a run inherits `SWITCHBOARD_RUN=<run id>` in its environment, and the run id ends
with the token of its delivery. Only the processes of this user can be read, and only they can be
ended.
"""

import contextlib
import os

MARK = "SWITCHBOARD_RUN"


def end_marked(token: str) -> int:
    """SIGKILL every process that carries the mark of the run; how many there were."""
    import psutil  # needed once in a long while only

    ended = 0
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):
            mark = process.environ().get(MARK, "")
            if process.pid != os.getpid() and mark.endswith(f"-{token}"):
                process.kill()  # psutil compares the birth before it signals
                ended += 1
    return ended
