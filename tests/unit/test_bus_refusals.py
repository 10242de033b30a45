"""For every kind on the bus: each field missing, of the wrong type, too large or unexpected gets the
contract's ack and changes nothing; and whatever a line is, it is answered.
"""

import copy
import json
import random
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from actors.plans.bus_request import Asked, BusRequest
from actors.plans.follower_registry import FollowerRegistryPlan
from messages.bus import InvalidEnvelope, parse_line
from messages.bus_texts import M
from tests.support.bus_samples import KINDS, SECRET, sample
from tests.support.registry_desk import LATER, acks, opened, registered

INVALID = M.INVALID_ENVELOPE
INCOMPATIBLE = "The protocols do not fit: missing-identity."
TAKEN = "taken"
"""Not refused for its shape: the same as without the field, or as with another value of it."""

REQUESTS = tuple(kind for kind in KINDS if kind != "bus.ack")

DROPPED: dict[str, str] = {
    "auth": M.UNAUTHORIZED,
    "registration.slot": TAKEN,
    "registration.protocol": INCOMPATIBLE,
}
"""Fields of which a malformed value counts as absent, and what follows."""

OPTIONAL: dict[str, str] = {
    "registrationGeneration": M.STALE_GENERATION,
    "forwardCommentBatchPosition": TAKEN,
    "oldTarget": TAKEN,
    "oldTarget.threadId": TAKEN,
    "registration.target.threadId": TAKEN,
    "deliveryId": TAKEN,
    "selector.chatId": TAKEN,
    "registration.registrationGeneration": M.GENERATION_REQUIRED,
    **{
        f"registration.{name}": TAKEN
        for name in (
            "previousInstanceId", "profileKey", "threadName", "cwd", "sessionId", "pid", "target",
            "busSocketPath", "sessionGeneration", "processBirthId",
        )
    },
    **DROPPED,
}
"""Fields that may be missing, and what follows."""

BY_KIND: dict[tuple[str, str], str] = {
    ("follower.setThreadDisplayMode", "registrationGeneration"): M.DISPLAY_AUTHORITY,
    ("follower.offerQueueHandoff", "registrationGeneration"): INVALID,
    ("follower.resetThreadName", "registrationGeneration"): M.STALE_OR_UNKNOWN,
    ("leader.replaceFollowerTarget", "recipientRegistrationGeneration"): M.NOT_HANDLED,
    ("leader.conveyWish", "recipientRegistrationGeneration"): M.NOT_HANDLED,
    ("follower.restoreWorkspace", "registration.registrationGeneration"): TAKEN,
}
"""Where a kind has its own answer to a missing field."""

WRONG = st.sampled_from([None, True, 3.5, [], {}, [1], {"x": 1}, "", -1, 2**60, float("1e300")])
LARGE = "x" * 70_000


def fields_of(said: dict[str, Any], prefix: str = "") -> Iterator[str]:
    """The dotted names of the contract's own fields; what Telegram and the API give is not looked into."""
    for name, value in said.items():
        if name == "kind":
            continue
        yield f"{prefix}{name}"
        looked_into = ("registration", "selector", "delivery", "target", "oldTarget")
        inner = name in looked_into or (name == "message" and prefix == "" and "target" in value)
        if isinstance(value, dict) and inner:
            yield from fields_of(value, f"{prefix}{name}.")


def changed(said: dict[str, Any], name: str, value: Any) -> dict[str, Any]:
    """A copy with another value at this name; `...` removes it."""
    said = copy.deepcopy(said)
    *path, last = name.split(".")
    inner = said
    for step in path:
        inner = inner[step]
    if value is ...:
        inner.pop(last, None)
    else:
        inner[last] = value
    return said


def standing() -> FollowerRegistryPlan:
    """A leader with two followers, of whom the second has its own socket."""
    return registered(registered(opened()), "12:1", 6, "B", 2, bus_socket_path="/tmp/x.sock")


STANDING = standing()


def heard(said: dict[str, Any]) -> tuple[FollowerRegistryPlan, str | None, Any]:
    """What the leader makes of a line: its state, the text of its ack, all effects."""
    envelope = parse_line(json.dumps(said).encode())
    if isinstance(envelope, InvalidEnvelope):
        # The actor answers it with this text, under the id `invalid`, before any plan sees it.
        return STANDING, M.INVALID_ENVELOPE, ()
    request = BusRequest(Asked("k", envelope.request_id), 1, None, envelope)
    plan, effects = STANDING.on_bus_request(request, None, LATER)
    said_acks = acks(effects)
    return plan, said_acks[0].message if said_acks else None, effects


CASES = [(kind, name) for kind in REQUESTS for name in fields_of(sample(kind))]


def expected_missing(kind: str, name: str) -> str:
    """The contract's answer to a missing field."""
    return BY_KIND.get((kind, name), OPTIONAL.get(name, INVALID))


@pytest.mark.parametrize(("kind", "name"), CASES)
def test_a_missing_field_gets_the_contracts_ack(kind: str, name: str) -> None:
    """The envelope is invalid, or the answer is that of the field; what is refused changes nothing."""
    plan, text, _ = heard(changed(sample(kind), name, ...))
    wanted = expected_missing(kind, name)
    if wanted == TAKEN:
        assert text != INVALID
    else:
        assert text == wanted
        assert plan == STANDING


def expected_wrong(kind: str, name: str, value: Any) -> set[str | None]:
    """The answers that the contract allows to a value of the wrong type."""
    if name == "auth":
        return {M.UNAUTHORIZED}
    if name in DROPPED:
        return {heard(changed(sample(kind), name, ...))[1]}
    may_be_absent = name in OPTIONAL or (kind, name) in BY_KIND
    if value is None and may_be_absent and not name.lower().endswith("target"):
        # Said to be absent.
        return {INVALID, heard(changed(sample(kind), name, ...))[1]}
    if value == "" and name.endswith("egistrationGeneration"):
        return {INVALID, heard(changed(sample(kind), name, ...))[1]}
    return {INVALID}


OPEN_FIELDS = {
    "args", "message", "query", "reactionUpdate", "payload", "registration.protocol",
    "registration.connectedAtMs", "sentAtMs", "method", "donorAcquiredAtMs",
}
"""Fields of which some of the wrong values are right ones."""


@settings(max_examples=400, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(case=st.sampled_from(CASES), value=WRONG)
def test_a_value_of_the_wrong_type_gets_the_contracts_ack(case: tuple[str, str], value: Any) -> None:
    """Whatever it is, nothing changes unless the value is a right one."""
    kind, name = case
    plan, text, effects = heard(changed(sample(kind), name, value))
    if name in OPEN_FIELDS or _is_right(name, value):
        return
    allowed = expected_wrong(kind, name, value)
    assert text in allowed, (kind, name, value)
    if text is not None:
        assert plan == STANDING or text not in (INVALID, M.UNAUTHORIZED)


def _is_right(name: str, value: Any) -> bool:
    last = name.rpartition(".")[2]
    numbers = {"chatId": int, "connectedAtMs": (int, float), "sentAtMs": (int, float)}
    if last in numbers:
        fits = isinstance(value, numbers[last]) and not isinstance(value, bool)
        return fits and abs(value) < 2**53
    return False


TEXTS = frozenset(
    {
        *("requestId", "instanceId", "registrationGeneration", "method", "threadName", "profileKey"),
        *("recipientInstanceId", "recipientRegistrationGeneration", "previousInstanceId", "cwd"),
        *("sessionId", "busSocketPath", "processBirthId", "recipientBindingKey", "deliveryId", "mode"),
        *("donorProcessBirthId", "donorAcquisitionId", "handoffToken", "reason", "text", "bindingKey"),
    }
)
BOUNDED = [(kind, name) for kind, name in CASES if name.rpartition(".")[2] in TEXTS]


@pytest.mark.parametrize(("kind", "name"), BOUNDED)
def test_a_text_that_is_too_long_is_no_envelope(kind: str, name: str) -> None:
    """Every text has a bound."""
    assert heard(changed(sample(kind), name, LARGE))[:2] == (STANDING, INVALID)


@pytest.mark.parametrize("kind", REQUESTS)
def test_a_secret_that_is_too_long_is_a_wrong_one(kind: str) -> None:
    """And changes nothing."""
    assert heard(changed(sample(kind), "auth", LARGE))[:2] == (STANDING, M.UNAUTHORIZED)


@settings(max_examples=100, deadline=None)
@given(kind=st.sampled_from(REQUESTS), name=st.text(min_size=1), value=WRONG)
def test_an_unexpected_field_makes_no_difference(kind: str, name: str, value: Any) -> None:
    """A newer peer may say more; it is the same request."""
    known = sample(kind)
    if name not in known:
        assert heard({**known, name: value})[:2] == heard(known)[:2]


@pytest.mark.parametrize("kind", REQUESTS)
def test_with_the_wrong_secret_every_kind_is_unauthorized(kind: str) -> None:
    """Of the same length and of another, and without any; nothing changes."""
    for secret in ("t" * len(SECRET), "short", "", ...):
        assert heard(changed(sample(kind), "auth", secret))[:2] == (STANDING, M.UNAUTHORIZED)


RESERVED = {
    "follower.offerQueueHandoff": M.HANDOFF_CAPABILITY,
    "follower.setThreadDisplayMode": M.DISPLAY_AUTHORITY,
    "follower.renameThread": M.RENAME_UNAVAILABLE,
    "follower.resetThreadName": M.RESET_UNAVAILABLE,
}


@pytest.mark.parametrize(("kind", "text"), RESERVED.items())
def test_what_is_not_available_is_refused_in_its_own_words(kind: str, text: str) -> None:
    """To exactly the live registration; to any other, that it is none."""
    assert heard(sample(kind))[:2] == (STANDING, text)
    unknown = {
        "follower.offerQueueHandoff": M.UNKNOWN_FOLLOWER,
        "follower.renameThread": M.STALE_GENERATION,
        "follower.resetThreadName": M.STALE_OR_UNKNOWN,
    }.get(kind, text)
    assert heard(changed(sample(kind), "instanceId", "99:1"))[:2] == (STANDING, unknown)
    if "target" in sample(kind):
        other = changed(sample(kind), "target.threadId", 6)
        assert heard(other)[:2] == (STANDING, unknown)


@pytest.mark.case("L34")
def test_a_workspace_cannot_be_restored_here() -> None:
    """The capability is missing, which is told by code, with our protocol; whoever has none hears that."""
    plan, text, effects = heard(sample("follower.restoreWorkspace"))
    (ack,) = acks(effects)
    assert text == "The protocols do not fit: missing-capability." and plan == STANDING
    assert ack.error and ack.error.code == "incompatible-protocol" and ack.protocol is not None
    without = changed(sample("follower.restoreWorkspace"), "registration.protocol", ...)
    assert heard(without)[1] == INCOMPATIBLE


@pytest.mark.case("L32")
def test_what_only_a_follower_may_hear_is_not_handled_by_a_leader() -> None:
    """A new thread, offered work, custody of input."""
    for kind in ("leader.offerQueueHandoff", "leader.offerInputCustodyHandoff", "leader.wakeInputCustody"):
        assert heard({"kind": kind, "requestId": "1", "auth": SECRET})[1] == M.NOT_HANDLED
    assert heard(sample("leader.replaceFollowerTarget"))[:2] == (STANDING, M.NOT_HANDLED)


@pytest.mark.case("L22")
def test_ten_thousand_random_lines_are_each_read_or_refused() -> None:
    """Noise and broken samples: no line raises, none changes who is registered."""
    chance = random.Random(4)
    # What an operator says with the secret changes who is registered, and rightly so.
    kinds = [kind for kind in KINDS if not kind.startswith("operator.")]
    lines = [json.dumps(sample(kind)).encode() for kind in kinds]
    for _ in range(10_000):
        line = bytearray(chance.choice(lines) if chance.random() < 0.7 else chance.randbytes(60))
        for _ in range(chance.randrange(1, 6)):
            where = chance.randrange(len(line))
            line[where:where + chance.randrange(3)] = chance.randbytes(chance.randrange(3))
        envelope = parse_line(bytes(line))
        if not isinstance(envelope, InvalidEnvelope):
            request = BusRequest(Asked("k", envelope.request_id), 1, None, envelope)
            plan, _ = STANDING.on_bus_request(request, None, LATER)
            assert set(plan.roster.followers) == set(STANDING.roster.followers)
