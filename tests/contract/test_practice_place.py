"""Where the practice chat answers, with a real port file and a scripted start."""

import asyncio
import dataclasses
import threading
import time
from pathlib import Path

import pytest

from actors import practice_place
from actors.practice_place import PracticePlace
from actors.sandbox.failure import PracticeChatFailed
from actors.sandbox.launch import PracticeAddress
from actors.sandbox.port_file import PortFile


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> "Place":
    """A practice chat at port 1, which is this process."""
    monkeypatch.setattr(practice_place, "until_next", lambda period: 0.001)
    return Place(tmp_path / "port.json")


class Place:
    """A practice chat that starts at the next port each time."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.port = 0
        self.failures = 0
        self.seen = PracticePlace(path, self.start(), self.start)

    def start(self) -> PracticeAddress:
        """A new one, after so many failures."""
        if self.failures:
            self.failures -= 1
            raise PracticeChatFailed("no")
        self.port += 1
        PortFile.current(self.port).write(self.path)
        return PracticeAddress(self.port, "key", "token")

    def end(self) -> None:
        """It is killed: the file stays and names nobody."""
        dead = dataclasses.replace(PortFile.current(self.port), birth="1:start:0")
        dead.write(self.path)

    async def kept(self, within: float = 5.0) -> PracticeAddress:
        """Keep it until it is another."""
        return await asyncio.wait_for(self.seen.keep(), within)


def test_one_that_runs_is_left_alone(place: Place) -> None:
    with pytest.raises(TimeoutError):
        asyncio.run(place.kept(0.1))
    assert place.port == 1


def test_one_that_ended_is_started_again_however_often_that_fails(place: Place) -> None:
    place.end()
    place.failures = 3
    assert asyncio.run(place.kept()).port == 2
    assert place.seen.api_root() == "http://127.0.0.1:2"


def test_a_start_that_hangs_holds_up_nobodys_end(place: Place) -> None:
    place.end()
    hanging, release = place.seen, threading.Event()
    hanging._start = lambda: release.wait(30) and place.start()
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        asyncio.run(place.kept(0.1))
    assert time.monotonic() - began < 5
    release.set()


def test_one_that_somebody_else_started_is_found(place: Place) -> None:
    PortFile.current(7).write(place.path)
    asyncio.run(place.kept())
    # Asked for where to lead, it is known from then on.
    PortFile.current(9).write(place.path)
    assert place.seen.api_root() == "http://127.0.0.1:9"
    with pytest.raises(TimeoutError):
        asyncio.run(place.kept(0.1))


def test_a_home_that_was_taken_away_gets_no_new_one(place: Place) -> None:
    place.path.parent.rename(place.path.parent.with_name("elsewhere"))
    with pytest.raises(TimeoutError):
        asyncio.run(place.kept(0.1))
    assert place.port == 1


def test_where_there_is_none_the_last_address_stands(place: Place) -> None:
    place.path.unlink()
    assert place.seen.api_root() == "http://127.0.0.1:1"
