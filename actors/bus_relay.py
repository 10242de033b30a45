"""Forwards to followers that listen on a socket of their own: one connection, one line, one answer."""

import asyncio
from typing import Any

from actors.bus_line import LineReader, LineTooLong
from actors.orphans import close_in_children, forget
from actors.plans.relays import TransportFailed
from messages.bus import InvalidEnvelope, parse_line

RELAY_CONNECT_S = 2.0


class BusRelay:
    """The I/O object of the FollowerRegistry: what takes as long as somebody else wants."""

    async def open(self) -> None:
        """Nothing is kept open between two relays."""

    async def close(self) -> None:
        """Whoever still waits is cancelled with the loop."""

    async def perform_relay(self, path: str, line: bytes, timeout_s: float) -> Any:
        """One request to a follower: its answer, None where none came."""
        try:
            async with asyncio.timeout(timeout_s):
                async with asyncio.timeout(RELAY_CONNECT_S):
                    reader, writer = await asyncio.open_unix_connection(path)
                # A child that kept it would hide the end of it from the follower.
                descriptor = writer.get_extra_info("socket").fileno()
                close_in_children(descriptor)
                try:
                    writer.write(line)
                    answer = await LineReader(reader).next()
                finally:
                    forget(descriptor)
                    writer.transport.abort()
        except TimeoutError:
            return TransportFailed("The follower did not answer in time.")
        except OSError as failure:
            return TransportFailed(f"The follower could not be reached: {failure.strerror}.")
        if answer is None or isinstance(answer, LineTooLong):
            return None
        parsed = parse_line(answer)
        return None if isinstance(parsed, InvalidEnvelope) else parsed
