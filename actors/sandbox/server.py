"""The practice server: one process per home that is the bot's whole Telegram, on loopback only.

It answers until nobody has used it for a minute, or until SIGTERM, and keeps everything in its own
file: a server started later on the same home goes on where this one stopped.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
import signal
import socket
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, BinaryIO

from aiohttp import web

from actors.sandbox.access import Access, set_headers, this_machine_only
from actors.sandbox.attendance import Attendance
from actors.sandbox.bot_api import BotApi
from actors.sandbox.calls import CallLog
from actors.sandbox.chat import PracticeChat
from actors.sandbox.control import Control
from actors.sandbox.credentials import bot_id_of, practice_key, practice_token
from actors.sandbox.failure import PracticeChatFailed
from actors.sandbox.faults import Faults
from actors.sandbox.page_routes import PageRoutes
from actors.sandbox.person_side import PersonSide
from actors.sandbox.port_file import PortFile
from actors.sandbox.updates import UpdateQueue
from actors.stack_room import with_room
from stores.errors import StoreError
from stores.practice_chat import PracticeChatStore
from stores.private_files import make_private_directory

LOOPBACK = "127.0.0.1"
PREFERRED_PORT = 8787
IDLE_S = 60.0
IDLE_VARIABLE = "SWITCHBOARD_PRACTICE_IDLE_S"
LARGEST_BODY = 1 << 20
_LOOK_EVERY_S = 2.0
_END_WITHIN_S = 1.0


def serve(home: Path, port: int | None = None) -> None:
    """Serve the home's practice chat until it is over; raises PracticeChatFailed when it cannot."""
    directory = Path(os.path.abspath(home)) / "practice"
    os.umask(0o077)
    make_private_directory(directory)
    with _only_server(directory):
        try:
            PracticeServer(directory, port, _idle_s()).run()
        except StoreError as problem:
            raise PracticeChatFailed(str(problem)) from problem


class PracticeServer:
    """`directory` is <home>/practice."""

    def __init__(self, directory: Path, port: int | None = None, idle_s: float = IDLE_S) -> None:
        self._directory = directory
        self._port = port
        self._look_every_s = min(_LOOK_EVERY_S, max(idle_s / 4, 0.05))
        self._attendance = Attendance(directory, int(idle_s * 1000), _monotonic_ms())
        self._port_path = directory / "port.json"
        self._over: asyncio.Event | None = None

    def run(self) -> None:
        """Until the end; blocking."""
        listening = bound_socket(self._port, PortFile.read(self._port_path))
        store = PracticeChatStore(self._directory / "chat.db")
        try:
            store.open()
            # Whoever started this may want to remove the directory it stood in.
            os.chdir("/")
            with_room(asyncio.run, self._serve(listening, store))
        finally:
            store.close()
            listening.close()

    async def _serve(self, listening: socket.socket, store: PracticeChatStore) -> None:
        self._over = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, self._over.set)
        # The terminal it came from may go.
        loop.add_signal_handler(signal.SIGHUP, lambda: None)
        token = practice_token(self._directory)
        access = Access(practice_key(self._directory))
        chat = PracticeChat(store, bot_id_of(token), _wall_ms)
        updates = UpdateQueue(chat, _wall_ms)
        page = PageRoutes(access, chat)
        calls, faults = CallLog(), Faults()
        app = web.Application(middlewares=[this_machine_only], client_max_size=LARGEST_BODY)
        app.on_response_prepare.append(set_headers)
        app.add_routes(BotApi(chat, token, updates, calls, faults).routes())
        app.add_routes(
            Control(access, chat, PersonSide(chat), calls, faults, self._pinged).routes()
        )
        app.add_routes(page.routes())
        runner = web.AppRunner(
            app, access_log=None, handler_cancellation=True, shutdown_timeout=_END_WITHIN_S
        )
        await runner.setup()
        await web.SockSite(runner, listening, backlog=128).start()
        here = PortFile.current(listening.getsockname()[1])
        here.write(self._port_path)
        print(f"The practice chat answers on port {here.port} (process {here.pid}).", flush=True)
        try:
            await self._until_over()
        finally:
            if PortFile.read(self._port_path) == here:
                self._port_path.unlink(missing_ok=True)
            updates.end()
            page.end()
            await runner.cleanup()
        print("The practice chat has ended.", flush=True)

    async def _until_over(self) -> None:
        assert self._over is not None
        while not self._attendance.is_over(_monotonic_ms()):
            with suppress(TimeoutError):
                await asyncio.wait_for(self._over.wait(), self._look_every_s)
                return

    def _pinged(self) -> dict[str, Any]:
        """An instance asks whether we answer, and is about to count as a user."""
        self._attendance.note(_monotonic_ms())
        return {"pid": os.getpid()}


def bound_socket(port: int | None, earlier: PortFile | None) -> socket.socket:
    """A socket on the wanted port, or on the usual one when it is free, or on any."""
    wanted = [port] if port is not None else [PREFERRED_PORT, 0]
    if port is None and earlier is not None:
        # After a crash those who know the old address should find us there.
        wanted.insert(0, earlier.port)
    for number in wanted:
        found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
        try:
            found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            found.bind((LOOPBACK, number))
            found.listen(128)
            return found
        except (OSError, OverflowError):
            found.close()
    raise PracticeChatFailed(
        f"Port {port} is in use by another program. Choose another one with --sandbox-port, "
        "or leave it out."
        if port is not None
        else "There is no free port on this machine."
    )


def _only_server(directory: Path) -> BinaryIO:
    """A lock held for life: two servers on one home would give out the same ids."""
    descriptor = os.open(
        directory / "server.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
    )
    lock = os.fdopen(descriptor, "r+b", buffering=0)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        lock.close()
        raise PracticeChatFailed("The practice chat of this home runs already.") from None
    return lock


def _idle_s() -> float:
    text = os.environ.get(IDLE_VARIABLE, "")
    try:
        return max(0.1, float(text)) if text else IDLE_S
    except ValueError:
        print(f"{IDLE_VARIABLE} is no number; it is left aside.", file=sys.stderr)
        return IDLE_S


def _wall_ms() -> int:
    return time.time_ns() // 1_000_000


def _monotonic_ms() -> int:
    return time.monotonic_ns() // 1_000_000
