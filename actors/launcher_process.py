"""What makes a forked copy of main the launcher: a session, a silence and a bond to main of its own."""

from __future__ import annotations

import os
import signal
import warnings
from pathlib import Path

from actors import orphans


def become_launcher(main: int, output: Path | None) -> None:
    orphans.drop_inherited()
    # A session of its own: the terminal's signals are main's, and it decides.
    os.setsid()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    null = os.open(os.devnull, os.O_RDWR)
    written = null if output is None else os.open(
        output, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    for target, source in ((0, null), (1, written), (2, written)):
        os.dup2(source, target)
    for fd in {null, written} - {0, 1, 2}:
        os.close(fd)
    # The at-fork thread only waits for the launcher's end and holds nothing across a fork.
    warnings.filterwarnings("ignore", "This process .* is multi-threaded", DeprecationWarning)
    _title()
    orphans.install()
    orphans.become_subreaper()
    when_main_dies(signal.SIGCONT, main)


def when_main_dies(number: int, main: int) -> None:
    """What the kernel sends us then: SIGCONT to go and clean up, though somebody had stopped us."""
    orphans.signal_on_parent_death(number)
    if os.getppid() != main:
        raise SystemExit("main ended")


def _title() -> None:
    orphans.name_process(orphans.LAUNCHER_NAME)
    try:
        from setproctitle import setproctitle
    except ImportError:
        return
    setproctitle("switchboard launcher")
