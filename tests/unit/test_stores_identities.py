"""Identities: the same command line is the same identity, two at once are two."""

import dataclasses

import pytest

from stores.identities import Identities, base_identity, binding_key_of
from stores.process_birth import Liveness
from tests.support.stores import ANN, BEN, bus_database

CAT = dataclasses.replace(ANN, pid=303, birth="303:start:5", instance_id="303:1")


@pytest.fixture
def identities(tmp_path):
    with bus_database(tmp_path) as database:
        yield Identities(database)


class World:
    """Who lives, by pid; everybody else is dead."""

    def __init__(self, **judged):
        self.judged = {int(pid.removeprefix("p")): liveness for pid, liveness in judged.items()}

    def __call__(self, pid, boot_id, birth):
        assert boot_id == "boot" and birth.startswith(f"{pid}:start:")
        return self.judged.get(pid, Liveness.DEAD)


NOBODY = World()
ANN_LIVES = World(p101=Liveness.ALIVE)


def test_the_base_depends_on_each_of_its_parts():
    parts = ("77", "/home", "/srv/api", "api · claude")
    base = base_identity(*parts)
    assert base == base_identity(77, *parts[1:]) and len(base) == 20
    for place in range(4):
        other = [*parts]
        other[place] = other[place] + "1"
        assert base_identity(*other) != base
    assert base_identity(1, "a", "bc", "d") != base_identity(1, "ab", "c", "d")
    assert base_identity(1, "a", "\udcff", "d")


def test_keys_of_the_first_and_later_ones():
    assert [binding_key_of("abc", number) for number in range(3)] == [
        "manual:abc", "manual:abc-1", "manual:abc-2"
    ]


def test_the_first_claim_and_what_is_remembered(identities):
    claimed = identities.claim(
        "abc", ANN, NOBODY, 100, "claude", "/srv/api", "api", "switchboard -- claude"
    )
    assert (claimed.binding_key, claimed.ordinal, claimed.shown_number) == ("manual:abc", 0, 1)
    assert identities.get("manual:abc") == claimed == identities.all()[0]
    assert (claimed.owner, claimed.directory, claimed.command) == (
        ANN, "/srv/api", "switchboard -- claude"
    )


def test_two_at_once_are_two(identities):
    identities.claim("abc", ANN, NOBODY, 100)
    second = identities.claim("abc", BEN, ANN_LIVES, 200)
    assert (second.binding_key, second.shown_number) == ("manual:abc-1", 2)
    assert identities.claim("xyz", CAT, ANN_LIVES, 300).ordinal == 0


def test_the_thread_of_a_dead_process_is_taken_again(identities):
    identities.claim("abc", ANN, NOBODY, 100)
    assert identities.claim("abc", BEN, NOBODY, 200).binding_key == "manual:abc"


def test_the_lowest_free_one_is_taken(identities):
    for owner, world in ((ANN, NOBODY), (BEN, ANN_LIVES)):
        identities.claim("abc", owner, world, 100)
    assert identities.claim("abc", CAT, World(p202=Liveness.ALIVE), 200).ordinal == 0


@pytest.mark.case("F4")
def test_who_cannot_be_judged_lives(identities):
    identities.claim("abc", ANN, NOBODY, 100)
    assert identities.claim("abc", BEN, World(p101=Liveness.UNVERIFIABLE), 200).ordinal == 1


def test_the_same_process_again_gets_what_it_has(identities):
    identities.claim("abc", ANN, NOBODY, 100)
    identities.claim("abc", BEN, ANN_LIVES, 150)
    again = dataclasses.replace(BEN, instance_id="202:9999")
    both = World(p101=Liveness.ALIVE, p202=Liveness.ALIVE)
    assert identities.claim("abc", again, both, 200).ordinal == 1
    assert identities.get("manual:abc-1").owner == again


def test_a_release_is_its_owners_alone(identities):
    identities.claim("abc", ANN, NOBODY, 100)
    assert not identities.release("manual:abc", BEN.instance_id, 200)
    assert identities.release("manual:abc", ANN.instance_id, 200)
    released = identities.get("manual:abc")
    assert (released.owner, released.released_ms) == (None, 200)
    assert identities.claim("abc", BEN, ANN_LIVES, 300).ordinal == 0


# -- absences --------------------------------------------------------------------------------------


def test_one_that_comes_back_knows_since_when_it_was_away_until_it_is_welcomed(identities):
    first = identities.claim("base", ANN, ANN_LIVES, 1_000)
    assert first.away_since_ms is None and identities.returning() == ()
    identities.record_farewell(first.binding_key, ANN.instance_id, 1_900)
    assert identities.get(first.binding_key).farewell_ms == 1_900
    identities.release(first.binding_key, ANN.instance_id, 2_000)
    back = identities.claim("base", BEN, NOBODY, 9_000)
    assert back.away_since_ms == 2_000
    assert identities.claim("base", BEN, World(p202=Liveness.ALIVE), 9_001).away_since_ms == 2_000
    (known,) = identities.returning()
    assert (known.farewell_ms, known.away_since_ms) == (None, 2_000)
    assert not identities.record_welcome(back.binding_key, ANN.instance_id)
    assert identities.record_welcome(back.binding_key, BEN.instance_id)
    assert identities.returning() == ()


def test_of_one_that_died_nobody_knows_since_when(identities):
    identities.claim("base", ANN, ANN_LIVES, 1_000)
    assert identities.claim("base", BEN, NOBODY, 9_000).away_since_ms == 0
