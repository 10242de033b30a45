"""One request of every kind on the bus, as plain JSON with every field it may have."""

import copy
from typing import Any

from messages import bus

SECRET = "s" * 43
DELIVERY = {
    "deliveryId": bus.delivery_id("leader.forwardMessage", "manual:11:1", 5),
    "sourceUpdateId": 5,
    "recipientBindingKey": "manual:11:1",
}
PROTOCOL = {
    "protocolVersion": 2,
    "runtimeBuild": "sample 1",
    "capabilities": ["duplex-v1", "durable-follower-admission-v1"],
}
REGISTRATION = {
    "instanceId": "11:1",
    "connectedAtMs": 1700000000000,
    "previousInstanceId": "11:0",
    "profileKey": "manual:11:1",
    "threadName": "api",
    "slot": "A",
    "cwd": "/home/me/api",
    "sessionId": "s1",
    "pid": 11,
    "target": {"chatId": 1, "threadId": 5},
    "busSocketPath": "/tmp/peer.sock",
    "registrationGeneration": "g1",
    "sessionGeneration": 1,
    "processBirthId": "11:start:99",
    "protocol": PROTOCOL,
}
_FOLLOWER = {"instanceId": "11:1", "registrationGeneration": "g1", "sentAtMs": 1700000000001}
_RECIPIENT = {
    "recipientInstanceId": "11:1", "recipientRegistrationGeneration": "g1", "sentAtMs": 1700000000002,
}


def _delivery(kind: str) -> dict[str, Any]:
    return {**DELIVERY, "deliveryId": bus.delivery_id(kind, "manual:11:1", 5)}


_BODIES: dict[str, dict[str, Any]] = {
    "follower.register": {"registration": REGISTRATION},
    "follower.restoreWorkspace": {"registration": REGISTRATION},
    "follower.heartbeat": _FOLLOWER,
    "follower.disconnect": _FOLLOWER,
    "follower.callApi": {**_FOLLOWER, "method": "call", "args": ["getMe", {}]},
    "follower.resolveAgentTarget": {**_FOLLOWER, "selector": {"threadName": "web", "chatId": 1}},
    "follower.routeAgentMessage": {
        **_FOLLOWER,
        "message": {"target": {"chatId": 1, "threadId": 6}, "messageId": 40, "text": "please look"},
    },
    "follower.offerQueueHandoff": {
        **_FOLLOWER,
        "recipientInstanceId": "12:1",
        "recipientRegistrationGeneration": "g1",
        "donorProcessId": 11,
        "donorProcessBirthId": "11:start:99",
        "donorSessionGeneration": 1,
        "donorAcquisitionId": "a1",
        "donorAcquiredAtMs": 1700000000000,
        "handoffToken": "t" * 32,
        "payload": {"kind": "prompt", "receipts": [{"receiptId": "r1"}]},
    },
    "follower.setThreadDisplayMode": {
        "instanceId": "11:1", "registrationGeneration": "g1", "mode": "names",
    },
    "follower.renameThread": {
        **_FOLLOWER, "target": {"chatId": 1, "threadId": 5}, "threadName": "better",
    },
    "follower.resetThreadName": {**_FOLLOWER, "target": {"chatId": 1, "threadId": 5}},
    "leader.forwardMessage": {
        **_RECIPIENT,
        "delivery": _delivery("leader.forwardMessage"),
        "message": {"text": "é"},
        "forwardCommentBatchPosition": "comment",
    },
    "leader.forwardEditedMessage": {
        **_RECIPIENT, "delivery": _delivery("leader.forwardEditedMessage"), "message": {"text": "x"},
    },
    "leader.forwardCallback": {
        **_RECIPIENT, "delivery": _delivery("leader.forwardCallback"), "query": {"id": "1"},
    },
    "leader.forwardReaction": {
        **_RECIPIENT, "delivery": _delivery("leader.forwardReaction"), "reactionUpdate": {"date": 1},
    },
    "leader.replaceFollowerTarget": {
        **_RECIPIENT,
        "target": {"chatId": 1, "threadId": 6},
        "oldTarget": {"chatId": 1, "threadId": 5},
        "reason": "thread-restore",
    },
    "operator.describe": {},
    "operator.stepDown": {"instanceId": "11:1"},
    "operator.closeThread": {"bindingKey": "manual:11:1"},
    "operator.renameThread": {"bindingKey": "manual:11:1", "threadName": "better"},
    "operator.dropRegistration": {"instanceId": "11:1"},
    "operator.prune": {},
    "operator.settleUpdate": {"updateId": 5, "choice": "retry"},
    "operator.passWish": {
        "instanceId": "11:1", "wish": "drop", "deliveryId": DELIVERY["deliveryId"],
    },
    "leader.conveyWish": {**_RECIPIENT, "wish": "reload", "deliveryId": DELIVERY["deliveryId"]},
    "bus.ack": {
        "ok": False,
        "message": "no",
        "result": {"any": [1, None, "x"]},
        "protocol": PROTOCOL,
        "error": {"code": "stale-target", "method": "sendMessage", "chatId": 1, "threadId": 5},
    },
}

KINDS = tuple(sorted(_BODIES))


def sample(kind: str) -> dict[str, Any]:
    """A copy of the sample of this kind."""
    said = {"kind": kind, "requestId": "11:1:7", **_BODIES[kind]}
    if kind != "bus.ack":
        said["auth"] = SECRET
    return copy.deepcopy(said)
