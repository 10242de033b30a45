"""The registry between agents: which thread is whose, and a message from one process to another.

A message goes to the recipient as an update of its thread, with an identity of its own: the same message
handed over twice is the same delivery. It is acknowledged once the recipient has journalled it.
"""

from typing import Any

from actors.plans import relaying
from actors.plans.effects import Effects
from actors.plans.relays import Giver
from actors.plans.roster import Follower
from messages.bus import Target
from messages.bus_texts import M

FIRST_UPDATE_ID = 2**52
"""Beyond every update id of Telegram: an agent's message is no update, but is delivered like one."""
SOURCE_LABEL_FIELD = "switchboard_source_label"
"""The private field of a carrier that tells whose message it is."""
LONGEST_LABEL = 64
DEFAULT_LABEL = "Pi"

_BRACKETS_AND_BREAKS = str.maketrans({"\r": " ", "\n": " ", "[": " ", "]": " "})


def resolve(plan: Any, request: Any, sender: Follower) -> tuple[Any, Effects]:
    """Which one live thread a selector means; never the sender's own."""
    selector = request.envelope.selector
    found = None
    if selector.chat_id in (None, plan.settings["chat_id"]):
        found = _chosen(plan, sender, selector.thread_id, selector.thread_name)
    if found is None:
        return plan, plan.refused(request.asked, M.AGENT_TARGET_UNAVAILABLE)
    return plan, plan.acked(request.asked, found.target.plain())


def route(plan: Any, request: Any, sender: Follower, now: Any) -> tuple[Any, Effects]:
    """Hand a message to the process behind a thread, if it is still there."""
    said = request.envelope.message
    recipient = None
    if said.target.chat_id == plan.settings["chat_id"]:
        recipient = _chosen(plan, sender, said.target.thread_id, None)
    if recipient is None or not recipient.is_routable or not plan.settings.get("owner_id"):
        return plan, plan.refused(request.asked, M.HANDLER_FAILED)
    line = relaying.update(
        plan,
        recipient,
        f"agent-{sender.instance_id}-{request.asked.request_id}"[:256],
        "leader.forwardMessage",
        FIRST_UPDATE_ID + said.message_id,
        _message(said.target, said.message_id, said.text, sender, plan.settings["owner_id"], now),
        now,
    )
    relay = relaying.relay_of(line, Giver.AGENT, recipient, now, asked=request.asked)
    return relaying.send(plan, relay, recipient, line, now)


def source_label(thread_name: str) -> str:
    """How a recipient is told whose message it is: one line, without brackets."""
    words = thread_name.translate(_BRACKETS_AND_BREAKS).split()
    return " ".join(words)[:LONGEST_LABEL].strip() or DEFAULT_LABEL


def _chosen(
    plan: Any, sender: Follower, thread_id: int | None, thread_name: str | None
) -> Follower | None:
    matching = [
        one
        for one in plan.roster
        if one.target.chat_id == plan.settings["chat_id"] and one.target.thread_id is not None
        and (
            one.target.thread_id == thread_id
            if thread_name is None
            else one.thread_name.strip().casefold() == thread_name.strip().casefold()
        )
    ]
    if len(matching) != 1 or matching[0].instance_id == sender.instance_id:
        return None
    return matching[0]


def _message(
    target: Target, message_id: int, text: str, sender: Follower, owner_id: int, now: Any
) -> dict[str, Any]:
    return {
        "message_id": message_id,
        "date": now.wall // 1_000,
        "chat": {"id": target.chat_id, "type": "private"},
        "from": {"id": owner_id, "is_bot": False, "first_name": ""},
        "message_thread_id": target.thread_id,
        "is_topic_message": True,
        "text": text,
        SOURCE_LABEL_FIELD: source_label(sender.thread_name),
    }
