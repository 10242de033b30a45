"""Agents between themselves: whose thread is whose, and a message from one to the other (leader.md 7.5)."""

from typing import Any

import pytest

from actors.plans.agents import FIRST_UPDATE_ID, SOURCE_LABEL_FIELD, source_label
from actors.plans.follower_registry import FollowerRegistryPlan
from messages.bus import Ack, InvalidEnvelope, ResolveAgentTarget, RouteAgentMessage, load
from messages.bus_texts import M
from tests.support.registry_desk import (
    LATER,
    NOW,
    SECRET,
    acks,
    asks,
    opened,
    performed,
    registered,
)


def asking(kind: str, **fields: Any) -> Any:
    """A request of the follower in thread 5."""
    plain = {
        "kind": kind, "requestId": "a1", "auth": SECRET, "instanceId": "11:1",
        "registrationGeneration": "g1", "sentAtMs": 1, **fields,
    }
    return load(plain)


def resolving(**selector: Any) -> ResolveAgentTarget | InvalidEnvelope:
    """Which thread is this?"""
    return asking("follower.resolveAgentTarget", selector=selector)


def routing(thread_id: int = 6, chat_id: int = 1, **fields: Any) -> RouteAgentMessage | InvalidEnvelope:
    """Hand this over."""
    message = {
        "target": {"chatId": chat_id, "threadId": thread_id}, "messageId": 40, "text": "please look",
        **fields,
    }
    return asking("follower.routeAgentMessage", message=message)


def threads(*names: str) -> FollowerRegistryPlan:
    """Followers in threads 5, 6, … of these names; each over a connection of its own."""
    plan = opened()
    for number, name in enumerate(("asker", *names)):
        plan = registered(plan, f"{11 + number}:1", 5 + number, "ABCDEF"[number], number + 1)
        plan = FollowerRegistryPlan(**{
            **{field: getattr(plan, field) for field in plan.__dataclass_fields__},
            "roster": plan.roster.changed(f"{11 + number}:1", thread_name=name),
        })
    return plan


# -- which thread ---------------------------------------------------------------------------------


@pytest.mark.case("L29")
@pytest.mark.parametrize(
    "selector",
    [{"threadId": 5, "threadName": "api"}, {}, {"chatId": 1}, {"threadId": 0}, {"threadName": "  "},
     {"threadId": "5"}, {"threadId": 5, "chatId": "1"}],
)
def test_a_selector_names_a_thread_in_exactly_one_way(selector: dict[str, Any]) -> None:
    """By id or by name, not by both and not by neither."""
    assert isinstance(resolving(**selector), InvalidEnvelope)


def test_a_thread_is_found_by_its_id_or_by_its_name() -> None:
    """Names in any case, without outer blanks."""
    plan = threads("Atlas", "web")
    for selector in ({"threadId": 6}, {"threadName": " aTLAS "}, {"threadId": 6, "chatId": 1}):
        plan, effects = asks(plan, resolving(**selector), now=LATER)
        assert [(ack.ok, ack.result) for ack in acks(effects)] == [(True, {"chatId": 1, "threadId": 6})]
    assert plan.roster.followers["11:1"].heartbeat_at == LATER.boot


@pytest.mark.case("L127")
def test_a_name_that_several_threads_have_means_none() -> None:
    """Their ids still do."""
    plan = threads("Atlas", "atlas")
    _, effects = asks(plan, resolving(threadName="ATLAS"))
    assert [(ack.ok, ack.message) for ack in acks(effects)] == [(False, M.AGENT_TARGET_UNAVAILABLE)]
    for thread_id in (6, 7):
        _, effects = asks(plan, resolving(threadId=thread_id))
        assert acks(effects)[0].result == {"chatId": 1, "threadId": thread_id}


@pytest.mark.case("L128")
@pytest.mark.parametrize("selector", [{"threadId": 5}, {"threadName": "asker"}])
def test_nobody_is_an_agent_to_itself(selector: dict[str, Any]) -> None:
    """The own thread is no target."""
    _, effects = asks(threads("web"), resolving(**selector))
    assert [(ack.ok, ack.message) for ack in acks(effects)] == [(False, M.AGENT_TARGET_UNAVAILABLE)]


@pytest.mark.case("L129")
def test_another_chat_has_no_agents() -> None:
    """Only the chat of this bot has."""
    _, effects = asks(threads("web"), resolving(threadId=6, chatId=2))
    assert [(ack.ok, ack.message) for ack in acks(effects)] == [(False, M.AGENT_TARGET_UNAVAILABLE)]


# -- a message ------------------------------------------------------------------------------------


@pytest.mark.case("L130")
@pytest.mark.parametrize(
    ("name", "label"),
    [("a]\n[b", "a b"), ("", "Pi"), (" [] \r\n ", "Pi"), ("x" * 70, "x" * 64), ("api", "api")],
)
def test_how_a_sender_is_named(name: str, label: str) -> None:
    """One line, no brackets, 64 characters at most."""
    assert source_label(name) == label


def test_a_message_is_delivered_like_an_update_and_acknowledged_with_its_receipt() -> None:
    """Under an identity of its own; twice the same message is the same delivery."""
    plan, effects = asks(threads("web"), routing(), now=LATER)
    (push,) = performed(effects, "push")
    line = push.arguments["envelope"]
    assert (push.arguments["connection"], line.recipient_instance_id) == (2, "12:1")
    assert line.delivery.source_update_id == FIRST_UPDATE_ID + 40
    message = line.message
    assert message["text"] == "please look" and message["message_id"] == 40
    assert message["from"]["id"] == 77 and message["date"] == LATER.wall // 1_000
    assert (message["message_thread_id"], message[SOURCE_LABEL_FIELD]) == (6, "asker")
    assert not acks(effects), "not before it is journalled"
    receipt = line.delivery.receipt()
    answer = Ack(request_id=line.request_id, ok=True, result=receipt)
    _, effects = asks(plan, answer, connection=2)
    assert [(ack.request_id, ack.ok, ack.result) for ack in acks(effects)] == [("a1", True, None)]
    for refusal in (Ack(request_id=line.request_id, ok=False), Ack(request_id=line.request_id, ok=True)):
        _, effects = asks(plan, refusal, connection=2)
        assert [(ack.ok, ack.message) for ack in acks(effects)] == [(False, M.HANDLER_FAILED)]


@pytest.mark.parametrize(
    "envelope", [routing(9), routing(5), routing(6, chat_id=2)], ids=["not live", "own", "other chat"]
)
def test_a_message_to_nobody_fails(envelope: Any) -> None:
    """Nobody is spoken to."""
    plan, effects = asks(threads("web"), envelope, now=NOW)
    assert [(ack.ok, ack.message) for ack in acks(effects)] == [(False, M.HANDLER_FAILED)]
    assert plan.relays == {} and not performed(effects, "push")


@pytest.mark.parametrize(
    "fields", [{"messageId": 0}, {"text": "  "}, {"text": ""}, {"target": {"chatId": 1}}, {"target": None}]
)
def test_half_a_message_is_no_envelope(fields: dict[str, Any]) -> None:
    """A thread, an id and words are needed."""
    assert isinstance(routing(**fields), InvalidEnvelope)
