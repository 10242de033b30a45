"""The guard of one command: a process of its own that lets nothing of the command outlive `run.py`.

Executed as `python -I -S guard.py --watch-pid PID [--watch-birth TICKS] [--report-fd N] -- CMD
ARG…`. It imports nothing but the standard library and nothing of ours.

- CMD gets a session and process group of its own, the guard's standard streams, and no other
  descriptor.
- The guard adopts orphaned descendants (child subreaper), so that one which left the group is still
  found.
- When the watched process is gone, every descendant is killed at once. The watch is a pidfd opened
  before the birth is compared, woken besides by the parent-death signal; elsewhere the parent pid
  is polled.
- SIGTERM ends the command: TERM to its group, KILL to whatever is left after 5 s. SIGQUIT kills at
  once.
- When CMD ends, what it left behind is ended as well: TERM, and KILL half a second later.
- When the guard itself is killed, CMD gets SIGKILL from the kernel; the rest carries the run's mark
  in its environment and is found by it (see `leftovers`).

The exit status is CMD's, or 128 + n for a signal; 127 and 126 if it could not be executed. The
report descriptor gets one line for each of: `started PID`, `refused ERRNO`.
"""

import ctypes
import errno
import os
import select
import signal
import sys
import time

STOP_GRACE = 5.0
"""Seconds between TERM and KILL when the command is asked to end."""

LEFT_BEHIND_GRACE = 0.5
"""Seconds that processes left behind by a command which ended by itself have after TERM."""

KILL_DEADLINE = 2.0
"""Seconds after which processes that no KILL ends (stuck, or another user's) are let go."""

POLL = 0.2
"""Seconds between looks at the parent where there is no pidfd."""

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
WATCHED_GONE = signal.SIGUSR1
HANDLED = (signal.SIGTERM, signal.SIGQUIT, signal.SIGCHLD, WATCHED_GONE)


def prctl(option: int, argument: int) -> None:
    """Call prctl(2) where it exists."""
    if sys.platform.startswith("linux"):
        ctypes.CDLL(None, use_errno=True).prctl(option, argument, 0, 0, 0)


def start_ticks(pid: int) -> str | None:
    """When the process was started, in clock ticks since boot; None where it cannot be read."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as stat:
            # The name before the last parenthesis may itself hold spaces and parentheses.
            return stat.read().rpartition(b")")[2].split()[19].decode()
    except (OSError, IndexError):
        return None


def parents() -> dict[int, int]:
    """The parent of every process of this machine, by pid."""
    try:
        pids = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return _parents_by_ps()
    found = {}
    for pid in pids:
        try:
            with open(f"/proc/{pid}/stat", "rb") as stat:
                found[pid] = int(stat.read().rpartition(b")")[2].split()[1])
        except (OSError, IndexError):
            continue
    return found or _parents_by_ps()


def _parents_by_ps() -> dict[int, int]:
    import subprocess  # only where /proc is missing: the import costs more than all the rest

    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], stdout=subprocess.PIPE, check=False)
    rows = [line.split() for line in listed.stdout.splitlines()]
    return {int(row[0]): int(row[1]) for row in rows if len(row) == 2}


def descendants() -> list[int]:
    """Every process below this one."""
    children: dict[int, list[int]] = {}
    for pid, parent in parents().items():
        children.setdefault(parent, []).append(pid)
    found, todo = [], [os.getpid()]
    while todo:
        below = children.get(todo.pop(), [])
        found.extend(below)
        todo.extend(below)
    return found


def send(pid: int, number: int) -> None:
    """Signal a process that may be gone, or not ours."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        pass


def group_of(pid: int) -> int | None:
    """The process group of a process that may be gone."""
    try:
        return os.getpgid(pid)
    except (ProcessLookupError, PermissionError):
        return None


class Watch:
    """Tells whether the watched process is gone."""

    def __init__(self, pid: int, birth: str | None) -> None:
        self.pid = pid
        self.fd: int | None = None
        self.never_there = False
        self.is_parent = os.getppid() == pid
        try:
            self.fd = os.pidfd_open(pid)
        except AttributeError:
            pass
        except OSError as failure:
            self.never_there = failure.errno == errno.ESRCH
        # Opened first, compared second: from here on the descriptor cannot mean another process.
        if birth is not None and start_ticks(pid) not in (birth, None):
            self.never_there = True

    def is_gone(self) -> bool:
        """Whether the watched process has ended."""
        if self.never_there:
            return True
        if self.fd is not None:
            return bool(select.select([self.fd], [], [], 0)[0])
        if self.is_parent:
            return os.getppid() != self.pid
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return True
        except PermissionError:
            pass
        return False


class Guard:
    """Runs one command."""

    def __init__(self, watch: Watch, report: int | None) -> None:
        self.watch = watch
        self.report = report
        self.command: int | None = None
        self.status: int | None = None
        self.kill_at: float | None = None

    def run(self, argv: list[str]) -> int:
        """Run the command and return the exit status."""
        wake_reader, wake_writer = os.pipe()
        os.set_blocking(wake_reader, False)
        os.set_blocking(wake_writer, False)
        # A signal that arrives between a check and the wait leaves a byte, so that the wait ends.
        signal.set_wakeup_fd(wake_writer, warn_on_full_buffer=False)
        for number in HANDLED:
            signal.signal(number, self.on_signal)
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        prctl(PR_SET_PDEATHSIG, WATCHED_GONE)
        if self.watch.is_gone():
            return 128 + signal.SIGKILL
        refused = self.start(argv)
        if refused is not None:
            return 127 if refused in (errno.ENOENT, errno.ENOTDIR) else 126
        waited = [wake_reader] if self.watch.fd is None else [wake_reader, self.watch.fd]
        while self.status is None:
            ready, _, _ = select.select(waited, [], [], self.patience())
            if wake_reader in ready:
                os.read(wake_reader, 4096)
            if self.watch.is_gone() or self.is_overdue():
                self.kill_everything()
                break
            self.reap()
        self.end_left_behind()
        return 128 + signal.SIGKILL if self.status is None else self.status

    def is_overdue(self) -> bool:
        """Whether the command had its time to end."""
        return self.kill_at is not None and self.kill_at <= time.monotonic()

    def patience(self) -> float | None:
        """How long nothing needs to be looked at."""
        limits = [POLL] if self.watch.fd is None else []
        if self.kill_at is not None:
            limits.append(max(0.0, self.kill_at - time.monotonic()))
        return min(limits, default=None)

    def start(self, argv: list[str]) -> int | None:
        """Start the command; returns the error number if the system refuses it."""
        reader, writer = os.pipe()
        guard = os.getpid()
        # A request to end that comes in between reaches the command when it unblocks its signals.
        signal.pthread_sigmask(signal.SIG_BLOCK, HANDLED)
        self.command = os.fork()
        if self.command == 0:
            become(argv, guard, writer)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, HANDLED)
        os.close(writer)
        told = os.read(reader, 16)
        os.close(reader)
        self.say(f"refused {int(told)}" if told else f"started {self.command}")
        # Only the command holds its streams, so that its output ends when it does.
        null = os.open(os.devnull, os.O_RDWR)
        for stream in (0, 1, 2):
            os.dup2(null, stream)
        if told:
            os.waitpid(self.command, 0)
            return int(told)
        return None

    def say(self, line: str) -> None:
        """Tell the watched process, which may be gone."""
        if self.report is not None:
            try:
                os.write(self.report, line.encode() + b"\n")
            except OSError:
                pass

    def on_signal(self, number: int, _frame: object) -> None:
        """TERM and QUIT are requests; the others only end the wait."""
        if number == signal.SIGQUIT:
            self.kill_at = time.monotonic()
        elif number == signal.SIGTERM and self.kill_at is None:
            self.kill_at = time.monotonic() + STOP_GRACE
            self.end_politely()

    def end_politely(self) -> None:
        """TERM to the command's group and to those who left it; wakes stopped ones for it."""
        group = self.command or 0
        if group:
            send(-group, signal.SIGTERM)
            send(-group, signal.SIGCONT)
        for pid in descendants():
            # Once each: to many programs a second TERM means to drop everything.
            if group_of(pid) != group:
                send(pid, signal.SIGTERM)
                send(pid, signal.SIGCONT)

    def reap(self) -> bool:
        """Collect the children that ended, and the command's status; False when none is left."""
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return False
            if pid == 0:
                return True
            if pid == self.command:
                code = os.waitstatus_to_exitcode(status)
                self.status = code if code >= 0 else 128 - code

    def kill_everything(self) -> None:
        """KILL every descendant until none is left: one may fork while it is being looked for."""
        deadline = time.monotonic() + KILL_DEADLINE
        while time.monotonic() < deadline:
            for pid in descendants():
                send(pid, signal.SIGKILL)
            if not self.reap():
                return
            time.sleep(0.01)

    def end_left_behind(self) -> None:
        """End what the command left running."""
        if not self.reap():
            return
        if self.kill_at is None:
            self.kill_at = time.monotonic() + LEFT_BEHIND_GRACE
            self.end_politely()
        while not (self.is_overdue() or self.watch.is_gone()):
            if not self.reap():
                return
            time.sleep(0.01)
        self.kill_everything()


def become(argv: list[str], guard: int, writer: int) -> None:
    """In the child: become the command, or tell the guard why not."""
    try:
        signal.set_wakeup_fd(-1)
        os.setsid()
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != guard:
            os._exit(128 + signal.SIGKILL)
        # Python ignores some signals and the guard handles others; the command starts with the
        # defaults.
        for number in signal.valid_signals() - {signal.SIGKILL, signal.SIGSTOP}:
            try:
                signal.signal(number, signal.SIG_DFL)
            except (OSError, ValueError):
                continue
        signal.pthread_sigmask(signal.SIG_SETMASK, ())
        os.execvp(argv[0], argv)
    except OSError as failure:
        os.write(writer, str(failure.errno or errno.EIO).encode())
    except ValueError:  # a null byte in an argument
        os.write(writer, str(errno.EINVAL).encode())
    finally:
        os._exit(127)


def main(argv: list[str]) -> int:
    """Read the options and run the command behind `--`."""
    options, command = argv[: argv.index("--")], argv[argv.index("--") + 1:]
    given = dict(zip(options[::2], options[1::2], strict=True))
    report = given.get("--report-fd")
    if report is not None:
        os.set_inheritable(int(report), False)
    # The terminal's signals are for run.py, which then decides about the command.
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTSTP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)
    if os.getpid() != os.getpgid(0):
        os.setsid()
    watch = Watch(int(given["--watch-pid"]), given.get("--watch-birth"))
    return Guard(watch, None if report is None else int(report)).run(command)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
