"""What a thread reads when its process ends, dies and comes back."""

import re
import signal

from tests.support.cluster import Cluster
from tests.support.eventually import eventually

LOST = re.compile(r"Lost at [^:]*\d\d:\d\d: the process ended unexpectedly\. What you write here waits\.")


def losses(cluster: Cluster, thread_id: int) -> int:
    """How often the thread reads that its process is lost."""
    return sum(1 for text in cluster.texts(thread_id) if LOST.fullmatch(text))


def test_one_that_ends_in_order_says_so_once_and_is_welcomed_with_what_waited(cluster: Cluster) -> None:
    """Story 4, for a follower and for one that leads when it comes back."""
    api, web = cluster.start(name="api"), cluster.start(name="web")
    threads = {name: cluster.thread_of(name)["thread_id"] for name in ("api", "web")}
    web.signal(signal.SIGINT)
    web.wait_exit()
    farewell = (
        f"Stopped. What you write here waits. Start it again in {cluster.work}: "
        f"switchboard --home {cluster.home} --name web --mode echo"
    )
    cluster.wait_answer(threads["web"], farewell)
    for text in ("one", "two"):
        sent = cluster.practice.write(text, threads["web"])
    eventually(lambda: cluster.status()["inbox"]["pending"] == 2, 5)
    cluster.practice.await_end_of_second(sent)
    cluster.start(name="web")
    cluster.wait_answer(threads["web"], "two")
    texts = cluster.texts(threads["web"])
    assert texts.count(farewell) == 1
    after = texts[texts.index(farewell) + 1 :]
    assert re.fullmatch(r"Back after \d+ s\. 2 messages were waiting\.", after[0])
    assert [re.sub(r"[\d:]{5}", "..", text) for text in after[1:]] == [
        "sent .., while stopped", "one", "sent .., while stopped", "two"
    ]

    for one in (api, cluster.instances[-1]):
        one.signal(signal.SIGTERM)
        one.wait_exit()
    for text in ("three", "four", "five"):
        cluster.practice.write(text, threads["api"])
    cluster.start(name="api")
    cluster.wait_answer(threads["api"], "five")
    texts = cluster.texts(threads["api"])
    (back,) = [number for number, text in enumerate(texts) if text.startswith("Back after ")]
    assert texts[back].endswith(" s. 3 messages were waiting.")
    assert [text for text in texts[back:] if text in ("three", "four", "five")] == [
        "three", "four", "five"
    ]
    assert not losses(cluster, threads["api"]) and not losses(cluster, threads["web"])


def test_one_that_is_killed_is_lost_whether_or_not_it_led(cluster: Cluster) -> None:
    """One that is back within the grace is not; a takeover says nothing to anybody else."""
    api, web = cluster.start(name="api"), cluster.start(name="web")
    cluster.start(name="ml")
    threads = {name: cluster.thread_of(name)["thread_id"] for name in ("api", "web", "ml")}
    for one in (web, api):
        one.signal(signal.SIGKILL)
        one.process.wait()
    cluster.start(name="web")
    eventually(lambda: losses(cluster, threads["api"]), 12)
    cluster.practice.write("anybody there", threads["api"])
    eventually(lambda: cluster.status()["inbox"]["pending"] == 1, 5)
    cluster.start(name="api")
    cluster.wait_answer(threads["api"], "anybody there")
    assert [losses(cluster, threads[name]) for name in ("api", "web", "ml")] == [1, 0, 0]
    assert not [text for text in cluster.texts(threads["api"]) if text.startswith("Stopped.")]
    # Its own tree may have lived just long enough to see it die, and then it is known when.
    back = re.compile(r"Back(?: after \d+ s)?\. 1 message was waiting\.")
    assert len(list(filter(back.fullmatch, cluster.texts(threads["api"])))) == 1
