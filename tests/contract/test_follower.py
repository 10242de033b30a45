"""The follower against a scripted leader: a real socket, real lines."""

import asyncio
import contextlib
import os

import pytest

from actors.bus_thread import BusThread
from actors.follower import EndpointUnreachable, Follower, RegistrationRefused
from actors.plans.follower import FollowerPlan
from actors.thread import Button, CallRefused, CommitUnknown, LeaderUnavailable
from messages.bus import Ack, AckError, Disconnect, ReplaceFollowerTarget, Target
from messages.bus_protocol import OURS
from messages.bus_texts import M
from tests.support.eventually import eventually_async
from tests.support.scripted_leader import DROP, ScriptedLeader


class Rig:
    """A follower, its scripted leader, and what was journalled."""

    def __init__(self, leader):
        self.leader = leader
        self.admitted = []
        self.registrations = 0
        self.failing = None
        pid = os.getpid()
        plan = FollowerPlan(
            instance_id=f"{pid}:1", binding_key="manual:x", thread_name="api · echo", cwd="/api",
            pid=pid, birth=f"{pid}:start:1",
        )
        self.follower = Follower(plan, self._admit)
        self.thread = BusThread(self.follower)

    async def _admit(self, kind, delivery_id, update_id, carrier):
        if self.failing is not None:
            raise self.failing
        self.admitted.append((kind, update_id, carrier))

    def serve(self, secret=None):
        return self.follower.serve(self.leader.path, secret or self.leader.secret, self._registered)

    def _registered(self):
        self.registrations += 1

    @contextlib.asynccontextmanager
    async def serving(self):
        task = asyncio.create_task(self.serve())
        await eventually_async(lambda: self.registrations or task.done())
        try:
            yield task
        finally:
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)


def against_leader(test):
    """Run the test on a loop of its own, with a rig."""

    async def running(directory):
        async with ScriptedLeader(directory) as leader:
            await test(Rig(leader))

    def wrapped(tmp_path):
        asyncio.run(running(tmp_path))

    wrapped.__name__, wrapped.__doc__ = test.__name__, test.__doc__
    wrapped.pytestmark = getattr(test, "pytestmark", [])
    return wrapped


@against_leader
@pytest.mark.case("F28")
async def test_it_registers_and_beats_at_once(rig):
    async with rig.serving():
        await eventually_async(lambda: rig.leader.heard("follower.heartbeat"), within=0.9)
        (request,) = rig.leader.heard("follower.register")
        said = request.registration
        assert request.auth == rig.leader.secret
        assert said.registration_generation == request.request_id == f"{said.instance_id}:1"
        assert said.protocol == OURS
        beat = rig.leader.heard("follower.heartbeat")[0]
        assert beat.registration_generation == request.request_id
        await eventually_async(lambda: rig.follower.plan.roster == ("B",))
        assert rig.follower.plan.is_registered


@against_leader
@pytest.mark.case("F29")
async def test_one_heartbeat_is_in_flight_at_most(rig):
    rig.leader.answers["follower.heartbeat"] = lambda request: None
    async with rig.serving():
        await eventually_async(lambda: rig.leader.heard("follower.heartbeat"))
        with contextlib.suppress(AssertionError):
            await eventually_async(
                lambda: len(rig.leader.heard("follower.heartbeat")) > 1, within=1.5
            )
        assert len(rig.leader.heard("follower.heartbeat")) == 1


@against_leader
@pytest.mark.case("F22")
async def test_a_refusal_is_told_in_the_leaders_words(rig):
    rig.leader.answer(
        "follower.register",
        lambda request: Ack(
            request_id=request.request_id, ok=False, message="No room.", protocol=OURS
        ),
    )
    with pytest.raises(RegistrationRefused, match=r"^No room\.$"):
        await rig.serve()
    assert not rig.leader.heard("follower.heartbeat")
    assert not rig.follower.plan.is_registered


@against_leader
@pytest.mark.case("F20")
async def test_a_leader_without_identity_is_refused(rig):
    rig.leader.answer(
        "follower.register",
        lambda request: Ack(request_id=request.request_id, ok=True, result=rig.leader.target),
    )
    with pytest.raises(RegistrationRefused, match="missing-identity"):
        await rig.serve()


@against_leader
async def test_nobody_there_is_told_apart(rig):
    rig.leader.path += ".gone"
    with pytest.raises(EndpointUnreachable):
        await rig.serve()


@against_leader
@pytest.mark.case("F26")
async def test_after_the_end_of_the_stream_it_registers_with_what_it_had(rig):
    async with rig.serving() as task:
        rig.leader.drop()
        await asyncio.wait_for(task, 1)
    assert not rig.follower.plan.is_registered
    async with rig.serving():
        await eventually_async(lambda: len(rig.leader.heard("follower.register")) == 2)
        first, second = rig.leader.heard("follower.register")
        said = second.registration
        assert (said.target, said.slot) == (Target(chat_id=5, thread_id=6), "B")
        assert said.registration_generation != first.registration.registration_generation
    assert not [one for one in rig.leader.received if isinstance(one, Disconnect)]


@against_leader
@pytest.mark.case("F31")
async def test_a_refused_heartbeat_ends_the_connection(rig):
    rig.leader.answer(
        "follower.heartbeat",
        lambda request: Ack(request_id=request.request_id, ok=False, message=M.UNKNOWN_FOLLOWER),
    )
    await asyncio.wait_for(rig.serve(), 1)
    assert rig.registrations == 1


@against_leader
@pytest.mark.case("F32")
async def test_a_leader_that_closes_instead_of_answering_is_lost(rig):
    rig.leader.answer("follower.heartbeat", DROP)
    await asyncio.wait_for(rig.serve(), 1)


@against_leader
@pytest.mark.case("F30")
async def test_a_wait_for_a_leader_is_given_up_at_once(rig):
    rig.leader.answers["follower.register"] = lambda request: None
    task = asyncio.create_task(rig.serve())
    await eventually_async(lambda: rig.leader.heard("follower.register"))
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(task, 0.5)


# -- forwards ------------------------------------------------------------------------------------


@against_leader
async def test_a_forward_is_journalled_and_then_acknowledged_with_its_receipt(rig):
    async with rig.serving():
        ack = await rig.leader.forward(update_id=9)
        assert rig.admitted == [("message", 9, {"text": "hi"})]
        assert ack.ok
        assert set(ack.result) == {"deliveryId", "sourceUpdateId"}
        assert ack.result["sourceUpdateId"] == 9


@against_leader
async def test_forwards_are_journalled_in_their_order(rig):
    async with rig.serving():
        await asyncio.gather(*(rig.leader.forward(update_id=one) for one in range(20)))
        assert [update for _, update, _ in rig.admitted] == list(range(20))


@against_leader
@pytest.mark.case("F64", "F67")
async def test_what_could_not_be_journalled_is_not_acknowledged(rig):
    async with rig.serving():
        rig.failing = OSError("disk full")
        ack = await rig.leader.forward()
        assert (ack.ok, ack.message) == (False, "disk full")
        rig.failing = None
        assert (await rig.leader.forward()).ok


@against_leader
@pytest.mark.case("F60", "F61", "F69")
async def test_a_forward_for_somebody_else_writes_nothing(rig):
    async with rig.serving():
        for changes, text in (
            ({"generation": "old"}, M.STALE_GENERATION),
            ({"binding_key": "manual:y"}, M.NOT_BINDING),
            ({"instance_id": "1:1"}, M.NOT_RECIPIENT),
            ({"auth": "wrong"}, M.UNAUTHORIZED),
        ):
            ack = await rig.leader.forward(**changes)
            assert (ack.ok, ack.message) == (False, text)
        assert rig.admitted == []


@against_leader
@pytest.mark.case("F50")
async def test_a_new_thread_is_used_from_then_on_under_the_same_registration(rig):
    async with rig.serving():
        registration = rig.leader.heard("follower.register")[0].registration
        ack = await rig.leader.push(ReplaceFollowerTarget(
            request_id="t1", auth=rig.leader.secret,
            recipient_instance_id=registration.instance_id,
            recipient_registration_generation=registration.registration_generation,
            target=Target(chat_id=5, thread_id=60), reason="thread-restore", sent_at_ms=1,
        ))
        assert ack.ok
        await rig.thread.send("x")
        body = rig.leader.heard("follower.callApi")[0].args[1]
        assert body["message_thread_id"] == 60
        assert (await rig.leader.forward()).ok


# -- calls ---------------------------------------------------------------------------------------


@against_leader
async def test_what_the_session_says_becomes_calls(rig):
    async with rig.serving():
        assert await rig.thread.send("a", reply_to=3, buttons=[Button("Yes", "s:ok:1")]) == 77
        await rig.thread.edit(77, "b")
        await rig.thread.typing()
        await rig.thread.answer_callback("q", "done")
        calls = [one.args for one in rig.leader.heard("follower.callApi")]
        assert [name for name, _ in calls] == [
            "sendMessage", "editMessageText", "sendChatAction", "answerCallbackQuery"
        ]
        send = calls[0][1]
        assert (send["chat_id"], send["message_thread_id"], send["text"]) == (5, 6, "a")
        assert send["reply_parameters"] == {"message_id": 3, "allow_sending_without_reply": True}
        assert send["reply_markup"] == {
            "inline_keyboard": [[{"text": "Yes", "callback_data": "s:ok:1"}]]
        }
        assert "reply_markup" not in calls[1][1]


@against_leader
@pytest.mark.case("F54", "F55")
async def test_without_a_leader_nothing_is_sent_and_some_things_never(rig):
    with pytest.raises(LeaderUnavailable):
        await rig.thread.send("x")
    async with rig.serving():
        with pytest.raises(CallRefused):
            await rig.follower.call("getUpdates", {})
        assert not rig.leader.heard("follower.callApi")


@against_leader
@pytest.mark.case("F53")
async def test_a_connection_lost_under_a_call(rig):
    rig.leader.answer("follower.callApi", DROP)
    async with rig.serving():
        with pytest.raises(CommitUnknown):
            await rig.thread.send("x")
    rig.registrations = 0
    rig.leader.answer("follower.callApi", DROP)
    async with rig.serving():
        with pytest.raises(LeaderUnavailable):
            await rig.thread.edit(7, "x")


@against_leader
async def test_what_the_leader_says_of_a_call(rig):
    def refusing(text, **error):
        return lambda request: Ack(
            request_id=request.request_id, ok=False, message=text,
            error=AckError(**error) if error else None,
        )

    async with rig.serving():
        rig.leader.answer(
            "follower.callApi",
            refusing("unclear", code="commit-unknown", method="sendMessage"),
            refusing("Bad Request: no"),
            refusing("Bad Request: message is not modified: x"),
            refusing(M.API_UNAVAILABLE),
        )
        with pytest.raises(CommitUnknown):
            await rig.thread.send("x")
        with pytest.raises(CallRefused) as refused:
            await rig.thread.send("x")
        assert refused.value.description == "Bad Request: no"
        await rig.thread.edit(1, "x")
        with pytest.raises(LeaderUnavailable):
            await rig.thread.send("x")


@against_leader
@pytest.mark.case("L143")
async def test_a_call_of_a_replaced_registration_ends_it(rig):
    async with rig.serving() as task:
        rig.leader.answer(
            "follower.callApi",
            lambda request: Ack(
                request_id=request.request_id, ok=False, message=M.STALE_GENERATION
            ),
        )
        with pytest.raises(LeaderUnavailable):
            await rig.thread.send("x")
        await asyncio.wait_for(task, 0.5)


@against_leader
async def test_a_message_too_long_for_a_line_is_refused_before_it_is_written(rig):
    async with rig.serving():
        with pytest.raises(CallRefused):
            await rig.thread.send("x" * (1 << 20))
        assert (await rig.thread.send("y")) == 77


# -- giving the thread up ------------------------------------------------------------------------


@against_leader
async def test_who_gave_its_thread_up_asks_for_no_other(rig):
    async with rig.serving() as task:
        await rig.thread.leave()
        (said,) = rig.leader.heard("follower.disconnect")
        assert said.registration_generation == rig.follower.plan.generation
        rig.leader.drop()
        await asyncio.wait_for(task, 2)
    again = asyncio.create_task(rig.serve())
    done, _ = await asyncio.wait({again}, timeout=0.1)
    assert not done and len(rig.leader.heard("follower.register")) == 1
    again.cancel()
    await asyncio.gather(again, return_exceptions=True)


@against_leader
async def test_a_thread_that_could_not_be_given_up_stays(rig):
    with pytest.raises(LeaderUnavailable):
        await rig.thread.leave()
    rig.leader.answer(
        "follower.disconnect",
        lambda request: Ack(request_id=request.request_id, ok=False, message="no rights"),
        DROP,
    )
    async with rig.serving():
        with pytest.raises(CallRefused, match="no rights"):
            await rig.thread.leave()
        with pytest.raises(CommitUnknown):
            await rig.thread.leave()
