"""What the owner asks for in the chat itself."""

from tests.support.cluster import Cluster
from tests.support.eventually import eventually


def buttons(cluster: Cluster, thread_id: int, text: str) -> tuple[int, dict[str, str]]:
    """The newest message that begins like this, and its buttons by their label."""
    thread = next(t for t in cluster.practice.state()["threads"] if t["thread_id"] == thread_id)
    message = next(
        one for one in reversed(thread["messages"]) if one.get("text", "").startswith(text)
    )
    rows = message["reply_markup"]["inline_keyboard"]
    return message["message_id"], {one["text"]: one["callback_data"] for row in rows for one in row}


def test_the_menu_and_the_commands_in_it(cluster: Cluster) -> None:
    """Set once by the leader, for everybody who follows; each command is answered in its thread."""
    cluster.start(name="api")
    cluster.start(name="web")
    web = cluster.thread_of("web")["thread_id"]
    for command, words in {
        "/help": "This thread belongs to one process",
        "/status": "Idle, nothing waits.",
        "/new": "Each message here starts afresh",
        "/stop": "Nothing is running.",
    }.items():
        cluster.practice.write(command, web)
        eventually(lambda w=words: any(text.startswith(w) for text in cluster.texts(web)), 10)
    eventually(lambda: len(cluster.practice.calls("setMyCommands")) == 2, 10)
    scopes = [call["params"]["scope"] for call in cluster.practice.calls("setMyCommands")]
    assert len(scopes) == 2


def test_a_thread_is_closed_by_its_owner(cluster: Cluster) -> None:
    """Asked first; then the thread goes, its process ends in order, and a new start gets a new thread."""
    api = cluster.start(name="api")
    web = cluster.start(name="web")
    thread = cluster.thread_of("web")["thread_id"]
    cluster.practice.write("/close", thread)
    eventually(lambda: any(text.startswith("Delete this") for text in cluster.texts(thread)), 10)
    message_id, data = buttons(cluster, thread, "Delete this")
    cluster.practice.press(message_id, data["Keep"])
    cluster.wait_answer(thread, "This thread stays.")

    cluster.practice.write("/close", thread)
    eventually(lambda: any(text.startswith("Delete this") for text in cluster.texts(thread)), 10)
    message_id, data = buttons(cluster, thread, "Delete this")
    cluster.practice.press(message_id, data["Delete"])
    assert web.wait_exit(10) == 0
    assert len(cluster.practice.calls("deleteForumTopic")) == 1
    assert len(cluster.practice.calls("createForumTopic")) == 2

    cluster.start(name="web")
    new = cluster.thread_of("web")["thread_id"]
    assert new != thread
    cluster.practice.write("hello", new)
    cluster.wait_answer(new, "hello")
    assert not [text for text in cluster.texts(new) if text.startswith(("Back", "Stopped", "Lost"))]

    own = cluster.thread_of("api")["thread_id"]
    cluster.practice.write("/close", own)
    eventually(lambda: any(text.startswith("Delete this") for text in cluster.texts(own)), 10)
    message_id, data = buttons(cluster, own, "Delete this")
    cluster.practice.press(message_id, data["Delete"])
    assert api.wait_exit(10) == 0
    eventually(lambda: cluster.instances[-1].role == "leader", 5)
