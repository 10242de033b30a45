"""Main's end of the launcher: commands down, events up, and the knowledge that it has ended."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
from collections.abc import AsyncIterator
from typing import Any

from messages import launcher as said

_CHUNK = 64 * 1024
_ASK_EVERY = 0.01


class LauncherHandle:
    """One launcher, seen from main. Closing it, like the end of main, ends all that is below it."""

    def __init__(self, pid: int, stream: socket.socket) -> None:
        stream.setblocking(False)
        self.pid = pid
        self._stream = stream
        self._unread: list[bytes] = []
        self._partial = b""
        self._reaped = False

    def fileno(self) -> int:
        return self._stream.fileno()

    async def send(self, command: Any) -> None:
        """A body of `messages/launcher.py`; ConnectionError when the launcher is gone."""
        line = said.to_line(command)
        await asyncio.get_running_loop().sock_sendall(self._stream, line)

    async def events(self) -> AsyncIterator[Any]:
        """What the launcher reports; ends when it has ended, which main ought to take to heart."""
        while True:
            while self._unread:
                yield said.from_line(self._unread.pop(0))
            try:
                chunk = await asyncio.get_running_loop().sock_recv(self._stream, _CHUNK)
            except OSError:
                return
            if not chunk:
                return
            *self._unread, self._partial = (self._partial + chunk).split(b"\n")

    async def end(self, within: float = 2.0) -> None:
        """Lets the launcher kill its tree and end, or kills it; afterwards it is reaped."""
        try:
            await self.send(said.EndLauncher())
        except OSError:
            pass
        deadline = asyncio.get_running_loop().time() + within
        while not self.reap():
            if asyncio.get_running_loop().time() > deadline:
                self.kill()
                deadline += within
            await asyncio.sleep(_ASK_EVERY)
        self.close()

    def kill(self) -> None:
        """SIGKILL; its descendants notice and end themselves."""
        if not self._reaped:
            os.kill(self.pid, signal.SIGKILL)

    def reap(self) -> bool:
        """Whether the launcher has ended; if so it leaves no zombie."""
        if not self._reaped:
            try:
                pid, _ = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                pid = self.pid
            self._reaped = pid == self.pid
        return self._reaped

    def close(self) -> None:
        """Idempotent. The launcher, if it still runs, ends at once."""
        self._stream.close()
