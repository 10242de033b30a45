"""The home: where things are, and that nobody else can look."""

import os
import stat

import pytest

from stores.errors import HomeUnusable, StoreDamaged
from stores.home import Home


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_the_choice_of_the_place(tmp_path, monkeypatch):
    monkeypatch.setenv("SWITCHBOARD_HOME", str(tmp_path / "from-environment"))
    assert Home(tmp_path / "given").path == tmp_path / "given"
    assert Home().path == tmp_path / "from-environment"
    monkeypatch.delenv("SWITCHBOARD_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert Home().path.name == "switchboard"


def test_what_is_where(tmp_path):
    home = Home(tmp_path / "home")
    directory = tmp_path / "home" / "bots" / "77"
    assert home.bot_directory("77") == home.bot_directory(77) == directory
    assert home.bus_database(77) == directory / "bus.db"
    assert home.ingress_database(77) == directory / "ingress.db"
    assert home.inbox_database(77, "manual:abc").name == "inbox-5e6c691b0f900c51.db"
    with pytest.raises(ValueError):
        home.bot_directory("../77")


@pytest.mark.case("F220")
def test_all_directories_are_private_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        home = Home(tmp_path / "deep" / "home").ensure(77)
    finally:
        os.umask(before)
    made = [home.path, home.path.parent, *(p for p in home.path.rglob("*") if p.is_dir())]
    assert {mode(path) for path in made} == {0o700}
    assert {path.name for path in made} >= {"practice", "logs", "bots", "77", "runs"}


def test_an_empty_directory_is_closed_and_one_with_other_things_is_left(tmp_path):
    empty, full = tmp_path / "empty", tmp_path / "full"
    for directory in (empty, full):
        directory.mkdir()
        directory.chmod(0o755)
    (full / "thesis.txt").write_text("mine")
    assert mode(Home(empty).ensure().path) == 0o700
    with pytest.raises(HomeUnusable, match="holds other things"):
        Home(full).ensure()
    assert mode(full) == 0o755


def test_an_unusable_home_is_one_clear_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file", tmp_path / "file" / "below"):
        with pytest.raises(HomeUnusable, match="The home directory cannot be used") as raised:
            Home(path).ensure()
        assert "\n" not in str(raised.value) and str(path) in str(raised.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_an_unreadable_parent_is_told(tmp_path):
    locked = tmp_path / "locked"
    locked.mkdir(mode=0)
    try:
        with pytest.raises(HomeUnusable):
            Home(locked / "home").ensure()
    finally:
        locked.chmod(0o700)


@pytest.mark.case("F9")
def test_a_long_socket_path_becomes_a_short_private_one(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    room = 80 - len(os.fsencode(Home("/x").socket_path(7))) + 1
    fitting, long = Home("/" + "x" * room), Home("/" + "x" * (room + 1))
    assert fitting.socket_path(7) == fitting.bot_directory(7) / "bus.sock"
    assert len(os.fsencode(fitting.socket_path(7))) == 80
    path = long.socket_path(7)
    assert path.parent == tmp_path / f"switchboard-{os.geteuid()}"
    assert len(path.stem) == 16 and path == long.socket_path(7) != long.socket_path(8)
    assert mode(long.ensure_socket_directory(7).parent) == 0o700


def test_a_link_in_a_shared_place_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    (tmp_path / "mine").mkdir()
    (tmp_path / f"switchboard-{os.geteuid()}").symlink_to(tmp_path / "mine")
    with pytest.raises(HomeUnusable, match="symbolic link"):
        Home("/" + "x" * 90).ensure_socket_directory(7)


@pytest.mark.parametrize("lost", [True, False])
def test_half_of_a_bots_records_is_refused_and_left_alone(tmp_path, lost):
    home = Home(tmp_path / "home").ensure(77)
    bus, ingress = home.bus_database(77), home.ingress_database(77)
    ingress.touch()
    home.ensure(77)
    ingress.write_bytes(b"journal")
    if not lost:
        bus.touch()
    with pytest.raises(StoreDamaged, match="bus.db is missing or empty"):
        home.ensure(77)
    assert ingress.read_bytes() == b"journal" and bus.exists() is not lost
    bus.write_bytes(b"records")
    home.ensure(77)
