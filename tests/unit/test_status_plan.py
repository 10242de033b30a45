"""What status says, for programs and for people."""

import dataclasses

import pytest

from actors.plans.status import StatusFacts, ThreadFacts, described, duration, screen


@dataclasses.dataclass(frozen=True)
class Owner:
    pid: int = 42
    instance_id: str = "42:1"


@dataclasses.dataclass(frozen=True)
class Lease:
    owner: Owner | None = Owner()
    epoch: int = 3
    heartbeat_ms: int | None = 9_000
    endpoint: str | None = "/bus.sock"


@dataclasses.dataclass(frozen=True)
class Binding:
    thread_id: int | None = 7
    thread_name: str | None = "api · claude"
    slot: str | None = "A"
    status: str = "active"
    instance_id: str | None = "42:1"
    inactive_since_ms: int | None = None
    updated_ms: int = 5


@dataclasses.dataclass(frozen=True)
class Identity:
    owner: Owner | None = Owner()
    released_ms: int | None = None
    claimed_ms: int = 4
    directory: str | None = "~/api"
    command: str | None = "switchboard -- claude"


@dataclasses.dataclass(frozen=True)
class Counts:
    pending: int = 1
    retrying: int = 2
    queued: int = 3
    dead: int = 4
    choosing: int = 0


LIVE = {
    "state": "serving",
    "token": "ok",
    "followers": [{"instance_id": "42:1", "pid": 42, "slot": "A", "birth": "private"}],
    "poller": {"phase": "long-poll", "last_response_age_ms": 3_000, "cursor": 99},
    "actors": [{"name": "poller", "pid": 50, "restarts": 0, "uptime_ms": 1}],
}
FACTS = StatusFacts(
    bot="work", bot_shown="@work_bot", home="/h", api_root=None, owner_id=5, lease=Lease(),
    leader_is_dead=False, boot_ms=10_000, wall_ms=1,
    threads=(ThreadFacts(Binding(), Identity(), True, 2),), cursor=98, counts=Counts(), live=LIVE,
    rss={50: 1_000},
)


def test_the_object_for_programs_is_the_one_of_the_contract():
    said = described(FACTS)
    assert said == {
        "bot": "work",
        "home": "/h",
        "api_root": None,
        "leader": {
            "pid": 42, "instance_id": "42:1", "epoch": 3, "heartbeat_age_ms": 1_000,
            "state": "serving",
        },
        "followers": [{
            "instance_id": "42:1", "pid": 42, "slot": "A", "thread_name": None, "thread_id": None,
            "generation": None, "heartbeat_age_ms": None, "capabilities": None,
        }],
        "threads": [{
            "thread_id": 7, "thread_name": "api · claude", "slot": "A", "state": "running",
            "instance_id": "42:1",
        }],
        "poller": {"phase": "long-poll", "last_response_age_ms": 3_000, "cursor": 99},
        "inbox": {"pending": 1, "retrying": 2, "queued": 3, "dead": 4},
        "actors": [{
            "name": "poller", "pid": 50, "rss": 1_000, "restarts": 0, "uptime_ms": 1,
        }],
    }


@pytest.mark.parametrize(
    ("changes", "leader"),
    [
        ({"lease": None}, None),
        ({"lease": Lease(owner=None)}, None),
        ({"leader_is_dead": True}, None),
        ({"live": {}}, "silent"),
        ({"live": {}, "lease": Lease(endpoint=None)}, "starting"),
        ({"boot_ms": 17_001}, "stale"),
    ],
)
def test_who_leads_as_far_as_can_be_known(changes, leader):
    said = described(dataclasses.replace(FACTS, **changes))["leader"]
    assert leader == (said if said is None else said["state"])


def test_without_a_leader_rows_still_tell():
    said = described(dataclasses.replace(FACTS, lease=None, live={}, asked=3, given_up=2))
    assert said["poller"] == {"phase": "stopped", "last_response_age_ms": None, "cursor": 98}
    assert said["inbox"]["dead"] == 4 + 2
    assert said["threads"][0]["thread_id"] == 7


@pytest.mark.parametrize(
    ("binding", "identity", "alive", "state"),
    [
        (Binding(), Identity(), True, "running"),
        (Binding(status="pending"), Identity(), True, "starting"),
        (Binding(), Identity(), False, "lost"),
        (Binding(), Identity(owner=None, released_ms=6), False, "stopped"),
        (Binding(), None, False, "stopped"),
    ],
)
def test_the_state_of_a_thread(binding, identity, alive, state):
    assert ThreadFacts(binding, identity, alive).state == state


@pytest.mark.parametrize(
    ("working", "state"), [(None, "running"), (True, "working"), (False, "idle")]
)
def test_people_see_whether_a_process_is_at_something(working, state):
    facts = ThreadFacts(Binding(), Identity(), True, working=working)
    assert (facts.state, facts.state_shown) == ("running", state)
    lost = ThreadFacts(Binding(), Identity(), False, working=working)
    assert lost.state_shown == "lost"


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"lease": None}, "nobody talks to Telegram now"),
        ({"live": {}}, "does not answer"),
        ({"live": {}, "lease": Lease(endpoint=None)}, "is starting"),
        ({"live": {**LIVE, "token": "refused"}}, "refuses the token"),
        ({"live": {**LIVE, "poller_conflict": "foreign-poller"}}, "another program reads"),
        ({"live": {**LIVE, "poller": {}}}, "not heard yet"),
    ],
)
def test_the_line_about_telegram(changes, sentence):
    assert sentence in screen(dataclasses.replace(FACTS, **changes), {}).above[0]


def test_durations_as_people_say_them():
    assert [duration(ms) for ms in (0, 3_500, 119_000, 120_000, 7_200_000, 200_000_000)] == [
        "0 s", "3 s", "119 s", "2 min", "2 h", "2 days"
    ]
