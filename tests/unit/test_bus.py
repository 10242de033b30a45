"""The envelopes of the bus: what is read, what is dropped, what is refused, what goes out."""

import hashlib
import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from messages import bus
from messages.bus import Ack, InvalidEnvelope, OtherEnvelope, parse_line
from messages.bus_protocol import OURS, Incompatible, ProtocolIdentity, agreed, compatibility
from messages.kind import MessageInvalid
from tests.support.bus_samples import DELIVERY, KINDS, sample

IDENTITY = {"protocolVersion": 1, "runtimeBuild": "other 9", "capabilities": ["a", "b"]}
REGISTRATION = {"instanceId": "7:1700000000000", "connectedAtMs": 1}


def line(kind, **fields):
    said = sample(kind) if kind in KINDS else {"kind": kind, "requestId": "7:1:1"}
    return json.dumps({**said, **fields}).encode()


def register(**fields):
    return parse_line(line("follower.register", registration={**REGISTRATION, **fields}))


@pytest.mark.parametrize("kind", sorted(bus.KINDS))
def test_every_kind_is_read_and_goes_out_as_it_came(kind):
    read = parse_line(line(kind, future="ignored"))
    assert read.KIND == kind
    out = bus.dump(read)
    assert out.endswith(b"\n")
    assert json.loads(out) == sample(kind)
    assert parse_line(out) == read


def test_the_catalogue_is_what_is_in_force():
    assert set(KINDS) == set(bus.KINDS)


@pytest.mark.parametrize(
    "garbage",
    [b"", b"{", b"[]", b"null", b'"x"', b"\xff\xfe", b"{}", b"[" * 100_000, b"1" * 10_000,
     b'{"kind":"bus.ack","requestId":"1","ok":NaN}', b'{"kind":7,"requestId":"1"}',
     b'{"kind":"follower.rename"}', b'{"kind":"x","requestId":""}'],
)
def test_garbage_is_no_envelope(garbage):
    read = parse_line(garbage)
    assert isinstance(read, InvalidEnvelope)
    assert read.byte_length == len(garbage)


def test_a_kind_that_is_not_in_force_is_told_apart_from_garbage():
    read = parse_line(line("leader.wakeInputCustody", auth="s"))
    assert read == OtherEnvelope(kind="leader.wakeInputCustody", request_id="7:1:1", auth="s")
    assert read.KIND == "leader.wakeInputCustody"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@given(kind=st.sampled_from(KINDS), data=st.data())
def test_whatever_a_field_holds_parsing_never_raises_and_what_is_read_goes_out(kind, data):
    said = json.loads(line(kind))
    name = data.draw(st.sampled_from(sorted(said)))
    said[name] = data.draw(JSON)
    read = parse_line(json.dumps(said).encode())
    if isinstance(read, bus.Envelope):
        assert parse_line(bus.dump(read)) == read


@given(fields=st.dictionaries(
    st.sampled_from(["requestId", "auth", "instanceId", "registrationGeneration", "sentAtMs"]),
    JSON | st.just("x" * 257) | st.just("a\0") | st.just("\ud800") | st.just(2**53),
))
def test_the_quick_way_for_heartbeats_agrees_with_the_schema(fields):
    said = {**json.loads(line("follower.heartbeat", auth="s")), **fields}
    written = json.dumps(said)
    assume("Infinity" not in written and "NaN" not in written)
    assert parse_line(written.encode()) == bus.load(said, len(written))


# -- registration --------------------------------------------------------------------------------


@pytest.mark.case("L2", "F16")
@pytest.mark.parametrize(
    "identity",
    [{**IDENTITY, "capabilities": ["b", "a"]}, {**IDENTITY, "capabilities": ["a", "a"]},
     {**IDENTITY, "capabilities": ["A"]}, {**IDENTITY, "capabilities": ["a" * 129]},
     {**IDENTITY, "capabilities": [f"c{n:02}" for n in range(33)]},
     {**IDENTITY, "runtimeBuild": " x"}, {**IDENTITY, "runtimeBuild": ""},
     {**IDENTITY, "runtimeBuild": "x" * 129}, {**IDENTITY, "protocolVersion": "1"}, "x", None, []],
)
def test_a_malformed_identity_counts_as_absent(identity):
    assert register(protocol=identity).registration.protocol is None


def test_a_good_identity_is_read():
    read = register(protocol=IDENTITY).registration.protocol
    assert read == ProtocolIdentity.of(1, "other 9", ["a", "b"])


@pytest.mark.parametrize("slot", ["a", "AA", "", 3, None, "Ä"])
def test_a_slot_that_is_none_is_dropped(slot):
    assert register(slot=slot).registration.slot is None


@pytest.mark.parametrize(
    "target",
    [None, {}, 7, {"chatId": "1"}, {"chatId": True}, {"chatId": 1, "threadId": "2"},
     {"chatId": 1, "threadId": 0}, {"chatId": 1.5}],
)
def test_a_malformed_target_spoils_the_envelope(target):
    assert isinstance(register(target=target), InvalidEnvelope)


@pytest.mark.parametrize(
    ("field", "bad"),
    [("instanceId", "x" * 257), ("threadName", "x" * 129), ("threadName", ""),
     ("threadName", "a\x1b[2J"), ("threadName", "  "), ("profileKey", ""), ("pid", 0),
     ("pid", True), ("sessionGeneration", 0), ("processBirthId", ""), ("cwd", "a\0b"),
     ("connectedAtMs", "1"), ("instanceId", "\ud800")],
)
def test_fields_out_of_bounds_spoil_the_envelope(field, bad):
    assert isinstance(register(**{field: bad}), InvalidEnvelope)


def test_a_secret_that_is_no_text_counts_as_absent():
    assert parse_line(line("operator.describe", auth=7)).auth is None


# -- identity ------------------------------------------------------------------------------------


@pytest.mark.case("L1")
def test_the_constructor_sorts_and_drops_repetitions():
    assert ProtocolIdentity.of(1, "x", ["b", "a", "b"]).capabilities == ("a", "b")


@pytest.mark.case("L3")
def test_versions_decide_and_builds_do_not():
    ours = ProtocolIdentity.of(2, "one", ["c"])
    assert compatibility(ours, ProtocolIdentity.of(2, "two", ["c"])) is None
    assert compatibility(ours, ProtocolIdentity.of(1, "two", ["c"])) is None
    three = ProtocolIdentity.of(3, "two", ["c"])
    assert compatibility(ours, three) is Incompatible.VERSION_MISMATCH
    assert compatibility(ours, None) is Incompatible.MISSING_IDENTITY


@pytest.mark.case("L4")
def test_durable_admission_is_needed_when_we_have_it():
    without = ProtocolIdentity.of(2, "x", [])
    assert compatibility(OURS, without) is Incompatible.MISSING_CAPABILITY
    assert compatibility(without, without) is None


def test_the_answer_carries_the_highest_common_version():
    assert agreed(OURS, ProtocolIdentity.of(1, "x", [])).protocol_version == 1
    assert agreed(OURS, OURS) == OURS
    assert agreed(OURS, None) == OURS


def test_the_version_is_that_of_the_package():
    from configparser import ConfigParser
    from pathlib import Path

    from messages.bus_protocol import VERSION

    settings = ConfigParser()
    settings.read(Path(bus.__file__).parents[1] / "setup.cfg", encoding="utf-8")
    assert settings["metadata"]["version"] == VERSION


# -- forwards ------------------------------------------------------------------------------------


@pytest.mark.case("L31", "F59")
def test_a_delivery_id_depends_on_kind_binding_and_update_alone():
    compact = (
        '{"version":1,"kind":"leader.forwardMessage",'
        '"recipientBindingKey":"manual:ä","sourceUpdateId":5}'
    )
    expected = "telegram-follower-v1-" + hashlib.sha256(compact.encode()).hexdigest()
    assert bus.delivery_id("leader.forwardMessage", "manual:ä", 5) == expected
    assert bus.delivery_id("leader.forwardEditedMessage", "manual:ä", 5) != expected


@pytest.mark.parametrize(("key", "update"), [("", 5), ("x", -1), ("x", 2**53), ("x", True)])
def test_what_can_be_no_delivery_has_no_id(key, update):
    with pytest.raises(ValueError, match="delivery"):
        bus.delivery_id("leader.forwardMessage", key, update)


@pytest.mark.case("L30")
@pytest.mark.parametrize(
    "delivery",
    [None, {}, {**DELIVERY, "deliveryId": "telegram-follower-v1-12"},
     {**DELIVERY, "deliveryId": DELIVERY["deliveryId"].upper()},
     {**DELIVERY, "sourceUpdateId": -1}, {**DELIVERY, "recipientBindingKey": ""}],
)
def test_a_forward_needs_its_delivery(delivery):
    read = parse_line(line("leader.forwardMessage", delivery=delivery))
    assert isinstance(read, InvalidEnvelope)


@pytest.mark.parametrize("kind", sorted(bus.FORWARDS))
def test_a_forward_is_made_whole(kind):
    made = bus.forward(
        kind, request_id="1", auth="s", instance_id="7:1", generation="g",
        binding_key="manual:x", update_id=5, carrier={"text": "hi"}, now=9,
    )
    assert made.carrier == {"text": "hi", bus.SOURCE_UPDATE_FIELD: 5}
    assert made.delivery.delivery_id == bus.delivery_id(kind, "manual:x", 5)
    assert parse_line(bus.dump(made)) == made


def test_a_replacement_needs_a_thread_and_the_reason():
    kind = "leader.replaceFollowerTarget"
    assert isinstance(parse_line(line(kind, target={"chatId": 1})), InvalidEnvelope)
    assert isinstance(parse_line(line(kind, reason="other")), InvalidEnvelope)


# -- acks and the way out ------------------------------------------------------------------------


def test_an_unknown_error_code_is_dropped():
    assert parse_line(line("bus.ack", error={"code": "odd"})).error is None
    read = parse_line(line("bus.ack", error={"code": "commit-unknown", "method": "sendMessage"}))
    assert read.error.code == "commit-unknown"
    assert read.error.method == "sendMessage"


@pytest.mark.parametrize(
    "ack",
    [Ack(request_id="", ok=True), Ack(request_id="1", ok=1),
     Ack(request_id="1", ok=True, message=7), Ack(request_id="1", ok=True, result=float("nan")),
     Ack(request_id="1", ok=True, result={1}),
     Ack(request_id="1", ok=True, result="x" * bus.MAX_LINE)],
)
def test_what_would_not_be_read_does_not_go_out(ack):
    with pytest.raises(MessageInvalid):
        bus.dump(ack)


def test_whom_the_ledger_keeps_a_request_under():
    assert register().sender == "7:1700000000000"
    assert parse_line(line("follower.heartbeat")).sender == "11:1"
    assert parse_line(line("leader.forwardMessage")).sender == "11:1"
    assert parse_line(line("operator.describe")).sender == "operator"
    assert parse_line(line("bus.ack")).sender == "ack"
