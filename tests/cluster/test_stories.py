"""Stories that must come out right, with real processes; those not told in the other files here.

The numbers are those of the stories: 2 a batch cut by a kill, 4 an offline backlog, 7 no thread id,
8 control overtakes work, 9 a shared budget, 10 strangers.
"""

import signal
import sys

from tests.support.cluster import Cluster
from tests.support.eventually import eventually


def test_story_2_a_kill_while_a_batch_is_written(cluster: Cluster) -> None:
    """All or nothing of a batch is stored; the confirmed offset is never above what is stored."""
    fault = {"SWITCHBOARD_FAULT": "inbox.before-admit:kill,inbox.after-admit:kill*2"}
    first = cluster.start(name="api", env=fault)
    cluster.start(name="web")
    web = cluster.thread_of("web")["thread_id"]
    for number in range(5):
        cluster.practice.write(f"number {number}", web)
    first.signal(signal.SIGKILL)
    for number in range(5):
        cluster.wait_answer(web, f"number {number}", within=20)
    assert [text for text in cluster.texts(web) if text.startswith("number")] == [
        f"number {number}" for number in range(5)
    ]
    assert not [call for call in cluster.practice.calls() if call.get("error_code") == 409]


def test_story_4_an_offline_backlog(cluster: Cluster) -> None:
    """Nothing runs, five messages come in two threads; one process starts: its own are answered in order."""
    both = [cluster.start(name=name) for name in ("api", "web")]
    threads = {name: cluster.thread_of(name)["thread_id"] for name in ("api", "web")}
    for instance in both:
        instance.signal(signal.SIGTERM)
        assert instance.wait_exit() == 0
    for number, name in enumerate(("api", "web", "api", "web", "api")):
        sent = cluster.practice.write(f"{name} {number}", threads[name])
    cluster.practice.await_end_of_second(sent)
    cluster.start(name="api")
    for number in (0, 2, 4):
        cluster.wait_answer(threads["api"], f"api {number}", within=15)
    said = [text for text in cluster.texts(threads["api"]) if text.startswith("api ")]
    assert [text for text in said if text[4:].isdigit()] == ["api 0", "api 2", "api 4"]
    assert any("while stopped" in text for text in cluster.texts(threads["api"]))
    eventually(lambda: cluster.status()["inbox"]["pending"] == 2, 5)
    eventually(lambda: any("What you write here waits." in t for t in cluster.texts(threads["web"])), 12)
    waits = [text for text in cluster.texts(threads["web"]) if "What you write here waits." in text]
    assert len(waits) == 1
    cluster.start(name="web")
    for number in (1, 3):
        cluster.wait_answer(threads["web"], f"web {number}", within=15)


def test_story_7_a_message_without_a_thread_is_kept_until_chosen(cluster: Cluster) -> None:
    """Nothing is guessed; choosing twice delivers once; a quoted message decides by itself."""
    cluster.start(name="api")
    cluster.start(name="web")
    web = cluster.thread_of("web")["thread_id"]
    cluster.practice.write("whose is this?")
    question = eventually(lambda: _question(cluster), 10)
    assert cluster.status()["inbox"]["queued"] == 1
    keyboard = question["reply_markup"]["inline_keyboard"]
    buttons = {button["text"]: button["callback_data"] for row in keyboard for button in row}
    assert set(buttons) == {"api", "web", "Drop it"}
    for _ in range(2):
        cluster.practice.press(question["message_id"], buttons["web"])
    cluster.wait_answer(web, "whose is this?")
    eventually(lambda: len(cluster.practice.calls("answerCallbackQuery")) == 2, 5)
    assert cluster.texts(web).count("whose is this?") == 1

    messages = cluster.thread_of("web")["messages"]
    announced = next(m for m in messages if "connected" in (m.get("text") or ""))
    cluster.practice.write("an answer to that", reply_to_id=announced["message_id"])
    cluster.wait_answer(web, "an answer to that")


def _question(cluster: Cluster) -> dict[str, object]:
    outside = cluster.practice.state()["messages_outside_threads"]
    return next((m for m in outside if m.get("text") == "Which one is this for?"), {})


def test_story_8_control_overtakes_work(cluster: Cluster) -> None:
    """A run that never ends: the prompts queue in order, the stop acts at once, others keep answering."""
    cluster.start(name="api")
    endless = "import time,sys; print('started', sys.stdin.read(), flush=True); time.sleep(600)"
    cluster.start("--", sys.executable, "-c", endless, name="work")
    work = cluster.thread_of("work")["thread_id"]
    api = cluster.thread_of("api")["thread_id"]
    cluster.practice.write("one", work)
    eventually(lambda: any("started one" in text for text in cluster.texts(work)), 10)
    cluster.practice.write("two", work)
    cluster.practice.write("three", work)
    eventually(lambda: "Queued, 2 before it." in cluster.texts(work), 10)
    cluster.practice.write("still here?", api)
    cluster.wait_answer(api, "still here?")
    cluster.practice.write("/abort", work)
    eventually(lambda: "Stopped." in cluster.texts(work), 10)
    eventually(lambda: any("started two" in text for text in cluster.texts(work)), 10)
    assert not any("started three" in text for text in cluster.texts(work))


def test_story_9_a_flood_stops_its_chat_and_finals_still_come(cluster: Cluster) -> None:
    """One retry_after is heeded by every call to that chat; nothing final is lost."""
    cluster.start(name="api")
    thread_id = cluster.thread_of("api")["thread_id"]
    cluster.practice.fault("sendMessage", times=1, error_code=429, retry_after=2)
    for number in range(4):
        cluster.practice.write(f"final {number}", thread_id)
    for number in range(4):
        cluster.wait_answer(thread_id, f"final {number}", within=15)
    sends = cluster.practice.calls("sendMessage")
    calls = [call for call in sends if call["params"].get("text", "").startswith("final")]
    (refused,) = (call for call in calls if call.get("error_code") == 429)
    later = [call for call in calls if call["seq"] > refused["seq"]]
    assert min(c["at_monotonic_ms"] for c in later) - refused["ended_at_monotonic_ms"] >= 2_000
    assert len(later) == 4


def test_story_10_a_stranger_changes_nothing(cluster: Cluster) -> None:
    """One short denial; messages, presses and reactions of others reach nobody."""
    cluster.start(name="api")
    api = cluster.thread_of("api")
    own = api["messages"][-1]["message_id"]
    before = len(cluster.texts(api["thread_id"]))
    for text in ("hello", "let me in", "/start"):
        cluster.practice.write(text, from_id=5005)
    cluster.practice.press(own, "s:stop", from_id=5005)
    cluster.practice.ask("/sandbox/reactions", {"message_id": own, "emoji": "👍", "from_id": 5005})
    denied = "This bot is private. Your id: 5005."
    sent = [c["params"].get("text") for c in _after(cluster, denied)]
    assert sent.count(denied) == 1
    assert len(cluster.texts(api["thread_id"])) == before + 1, "only the fence was answered"
    assert cluster.status()["inbox"] == {"pending": 0, "retrying": 0, "queued": 0, "dead": 0}


def _after(cluster: Cluster, text: str) -> list[dict[str, object]]:
    def calls() -> list[dict[str, object]]:
        return cluster.practice.calls("sendMessage")

    eventually(lambda: any(c["params"].get("text") == text for c in calls()), 10)  # type: ignore[index]
    thread_id = cluster.thread_of("api")["thread_id"]
    cluster.practice.write("a fence", thread_id)
    cluster.wait_answer(thread_id, "a fence")
    return calls()
