"""The live followers as a value: who displaces whom, whose heartbeat counts, who may be routed to."""

import dataclasses
from typing import Any

import pytest

from actors.plans.roster import Follower, Pulse, Roster
from messages.bus_parts import Target
from messages.bus_protocol import DURABLE_ADMISSION, OURS, ProtocolIdentity


def follower(instance: str = "11:1", thread_id: int = 5, **changed: Any) -> Follower:
    """One follower, changed as told."""
    plain: dict[str, Any] = {
        "instance_id": instance, "binding_key": f"manual:{instance}", "generation": "g1", "pid": 11,
        "birth": None, "slot": "A", "thread_name": "api", "target": Target(chat_id=1, thread_id=thread_id),
        "connected_at": 100, "pulse": Pulse(100), "capabilities": (DURABLE_ADMISSION,), "connection": 1,
    }
    return Follower(**{**plain, **changed})


@pytest.mark.case("L5")
def test_entering_drops_whoever_shares_profile_or_target() -> None:
    """Each by itself is enough; whoever shares neither stays."""
    roster = Roster().enter(follower("11:1", 5)).enter(follower("12:1", 6)).enter(follower("13:1", 7))
    same_profile = roster.enter(follower("14:1", 8, binding_key="manual:11:1"))
    assert set(same_profile.followers) == {"12:1", "13:1", "14:1"}
    same_target = roster.enter(follower("14:1", 6))
    assert set(same_target.followers) == {"11:1", "13:1", "14:1"}


@pytest.mark.case("L6")
def test_registering_again_proves_no_life() -> None:
    """The heartbeat stays the old one; yet a fresh registration is not silent before its first heartbeat."""
    roster = Roster().enter(follower(pulse=Pulse(100)))
    again = roster.enter(follower(generation="g2", connected_at=9_000, pulse=Pulse(9_000)))
    (one,) = again
    assert (one.heartbeat_at, one.connected_at) == (100, 9_000)
    assert one.describe(9_400)["heartbeat_age_ms"] == 400


@pytest.mark.case("L7")
def test_what_is_read_of_the_roster_cannot_change_it() -> None:
    """Followers are frozen through and through; a description is a copy."""
    roster = Roster().enter(follower())
    view = roster.get("11:1")
    assert view is not None
    for name, value in (("target", Target(chat_id=2)), ("capabilities", ())):
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(view, name, value)
    with pytest.raises(dataclasses.FrozenInstanceError):
        view.target.chat_id = 2
    assert isinstance(view.capabilities, tuple)
    described = view.describe(200)
    described["capabilities"].append("x")
    described["thread_id"] = 9
    assert roster == Roster().enter(follower())


@pytest.mark.case("L27")
def test_who_may_lead_next() -> None:
    """Ascending letters, with durable admission only where the leader has it, and never its own."""
    roster = (
        Roster()
        .enter(follower("11:1", 5, slot="C"))
        .enter(follower("12:1", 6, slot="A", capabilities=()))
        .enter(follower("13:1", 7, slot="B"))
        .enter(follower("14:1", 8, slot=""))
        .enter(follower("15:1", 9, slot="D", own=True))
    )
    assert roster.eligible_slots(OURS) == ["B", "C"]
    assert roster.eligible_slots(ProtocolIdentity.of(2, "plain", ())) == ["A", "B", "C"]


@pytest.mark.case("L121")
@pytest.mark.parametrize(
    ("changed", "routable"),
    [({}, True), ({"connection": None}, False), ({"capabilities": ("duplex-v1",)}, False),
     ({"connection": None, "socket_path": "/x.sock"}, True)],
)
def test_whom_an_update_may_go_to(changed: dict[str, Any], routable: bool) -> None:
    """One that can be reached and journals what it takes."""
    assert follower(**changed).is_routable is routable
