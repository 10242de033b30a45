"""Where the practice chat of this home answers, and that there is one as long as somebody leads.

The practice chat is no part of an instance. When it is killed, whoever leads starts it again; it may
answer at another port then, and whoever leads next asks here first.
"""

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path

from actors.clock import until_next
from actors.event_log import log_event
from actors.sandbox.failure import PracticeChatFailed
from actors.sandbox.launch import PracticeAddress
from actors.sandbox.port_file import PortFile
from stores.errors import StoreError

LOOK_EVERY_S = 2.0


class PracticePlace:
    """The practice chat, as this process knows it."""

    def __init__(
        self, port_file: Path, address: PracticeAddress, start: Callable[[], PracticeAddress]
    ) -> None:
        self._port_file = port_file
        self._start = start
        self._here = PortFile.read(port_file)
        self.address = address

    def api_root(self) -> str:
        """Where it answers, or did last."""
        found = PortFile.read(self._port_file)
        if found is None or found.is_dead:
            return self.address.api_root
        self._here = found
        return f"http://127.0.0.1:{found.port}"

    async def keep(self) -> PracticeAddress:
        """Start it when it is gone; returns its address once it is another process than before."""
        told = ""
        while True:
            await asyncio.sleep(until_next(LOOK_EVERY_S))
            found = PortFile.read(self._port_file)
            if found is not None and found == self._here and not found.is_dead:
                continue
            if not self._port_file.parent.is_dir():
                # The home was taken away; making another in its place would help nobody.
                continue
            try:
                # It finds the one that somebody else started meanwhile.
                self.address = await self._started()
            except (PracticeChatFailed, StoreError, OSError) as failure:
                if str(failure) != told:
                    told = str(failure)
                    log_event("practice.not_started", "ERROR", text=told)
                continue
            self._here = PortFile.read(self._port_file)
            log_event("practice.started_again", "WARNING", port=self.address.port)
            return self.address

    async def _started(self) -> PracticeAddress:
        # Not in the loop's own threads: the end of this process would wait for a start that hangs.
        outcome: Future[PracticeAddress] = Future()

        def start() -> None:
            try:
                outcome.set_result(self._start())
            except Exception as failure:
                outcome.set_exception(failure)

        threading.Thread(target=start, name="practice-start", daemon=True).start()
        return await asyncio.shield(asyncio.wrap_future(outcome))
