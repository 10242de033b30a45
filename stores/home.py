"""Where everything lives: the home directory, closed to other users, and the names inside it.

Nobody else builds a path into the home. The numeric part of a bot token is the bot id, so threads,
offsets and inboxes of two bots never share a directory.
"""

from __future__ import annotations

import hashlib
import os
import stat
import tempfile
from pathlib import Path

from stores.errors import HomeUnusable, StoreDamaged
from stores.private_files import DIRECTORY_MODE, make_private_directory

BUS_FILE, INGRESS_FILE = "bus.db", "ingress.db"

# sockaddr_un holds 104 bytes on macOS and 108 on Linux; a temporary name needs room beside it.
LONGEST_SOCKET_PATH = 80


class Home:
    """One home directory."""

    def __init__(self, path: Path | str | None = None) -> None:
        """The given one, else $SWITCHBOARD_HOME, else the usual place for user data."""
        chosen = path or os.environ.get("SWITCHBOARD_HOME") or _usual_place()
        self.path = Path(os.path.abspath(Path(chosen).expanduser()))

    @property
    def config(self) -> Path:
        return self.path / "config.json"

    @property
    def practice(self) -> Path:
        return self.path / "practice"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def shell_history(self) -> Path:
        """What was typed in the shell."""
        return self.path / "shell.history"

    def bot_directory(self, bot_id: int | str) -> Path:
        """Everything about one bot."""
        return self.path / "bots" / str(int(bot_id))

    def runs(self, bot_id: int | str) -> Path:
        """Full outputs of commands."""
        return self.bot_directory(bot_id) / "runs"

    def bus_database(self, bot_id: int | str) -> Path:
        return self.bot_directory(bot_id) / BUS_FILE

    def ingress_database(self, bot_id: int | str) -> Path:
        return self.bot_directory(bot_id) / INGRESS_FILE

    def inbox_database(self, bot_id: int | str, binding_key: str) -> Path:
        """The inbox of one binding; its key may hold any character, so the name is a digest."""
        digest = hashlib.sha256(binding_key.encode()).hexdigest()[:16]
        return self.bot_directory(bot_id) / f"inbox-{digest}.db"

    def console_history(self, bot_id: int | str, binding_key: str) -> Path:
        """What was typed in the console of one binding."""
        return self.inbox_database(bot_id, binding_key).with_suffix(".history")

    def socket_path(self, bot_id: int | str) -> Path:
        """Where the bus listens: beside the databases, or at a short name when that is too long."""
        path = self.bot_directory(bot_id) / "bus.sock"
        if len(os.fsencode(path)) <= LONGEST_SOCKET_PATH:
            return path
        digest = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
        return _socket_directory() / f"{digest}.sock"

    def ensure(self, bot_id: int | str | None = None) -> Home:
        """Make the directories, all 0700; with a bot id, those of that bot as well."""
        wanted = [self.path, self.practice, self.path / "bots", self.logs]
        if bot_id is not None:
            wanted += [self.bot_directory(bot_id), self.runs(bot_id)]
        for directory in wanted:
            self._make(directory)
        if bot_id is not None:
            self._refuse_half_of(bot_id)
        return self

    def _refuse_half_of(self, bot_id: int | str) -> None:
        """Of a lost `bus.db` the journal tells: begun anew it would not know a thread, and lead under old epochs."""
        bus, ingress = self.bus_database(bot_id), self.ingress_database(bot_id)
        if _size(ingress) and not _size(bus):
            raise StoreDamaged(
                f"({bus} is missing or empty, and what is beside it is not. Put it back, or move the whole "
                "directory away to begin anew.)"
            )

    def ensure_socket_directory(self, bot_id: int | str) -> Path:
        """Make the directory of the socket, closed and ours, and tell the socket's path."""
        path = self.socket_path(bot_id)
        self._make(path.parent)
        return path

    def _make(self, directory: Path) -> None:
        try:
            self._claim(directory)
        except OSError as problem:
            raise HomeUnusable(f"{directory}: {problem.strerror or problem}.") from problem

    def _claim(self, directory: Path) -> None:
        if os.path.lexists(directory):
            self._refuse_what_is_not_ours(directory)
        make_private_directory(directory)
        if not os.access(directory, os.R_OK | os.W_OK | os.X_OK):
            raise HomeUnusable(f"{directory} cannot be read and written.")

    def _refuse_what_is_not_ours(self, directory: Path) -> None:
        if directory.is_symlink() and directory != self.path:
            # In a shared place somebody else may have put it there.
            raise HomeUnusable(f"{directory} is a symbolic link.")
        found = directory.stat()
        if not stat.S_ISDIR(found.st_mode):
            raise HomeUnusable(f"{directory} is not a directory.")
        if found.st_uid != os.geteuid():
            raise HomeUnusable(f"{directory} belongs to another user.")
        open_to_others = stat.S_IMODE(found.st_mode) != DIRECTORY_MODE
        if directory == self.path and open_to_others and self._holds_other_things():
            # Closing /tmp or a project directory would break what else lives there.
            raise HomeUnusable(f"{directory} is open to other users and holds other things.")

    def _holds_other_things(self) -> bool:
        names = {entry.name for entry in self.path.iterdir()}
        return bool(names) and not names & {"config.json", "bots", "practice"}


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _usual_place() -> str:
    from platformdirs import user_data_dir

    return user_data_dir("switchboard", appauthor=False)


def _socket_directory() -> Path:
    return Path(tempfile.gettempdir()) / f"switchboard-{os.geteuid()}"
