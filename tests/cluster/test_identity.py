"""Who a process is: the same command line gets its thread back, however it ended."""

import signal

from tests.support.cluster import Cluster
from tests.support.eventually import eventually

ENDS = (signal.SIGHUP, signal.SIGTERM, signal.SIGINT, signal.SIGKILL)


def test_four_processes_come_back_to_their_threads(cluster: Cluster) -> None:
    """Two of them are the same program in one directory; they come back in another order."""
    places = [cluster.work / name for name in ("one", "one", "two", "three")]
    for place in places:
        place.mkdir(exist_ok=True)
    started = [cluster.start(cwd=place) for place in places]
    names = [one.fields()["thread"] for one in started]
    threads = {name: cluster.thread_of(name)["thread_id"] for name in names}
    assert len(threads) == 4

    for one, number in zip(started, ENDS, strict=True):
        one.signal(number)
        one.wait_exit()
    eventually(lambda: not cluster.processes(), 3)
    for name, thread_id in threads.items():
        cluster.practice.write(f"first {name}", thread_id)
        cluster.practice.write(f"second {name}", thread_id)

    again = [cluster.start(cwd=place) for place in reversed(places)]
    assert sorted(one.fields()["thread"] for one in again) == sorted(names)
    for name, thread_id in threads.items():
        cluster.wait_answer(thread_id, f"first {name}", within=15)
        cluster.wait_answer(thread_id, f"second {name}", within=15)
        order = [text for text in cluster.texts(thread_id) if text.endswith(f" {name}")]
        assert order == [f"first {name}", f"second {name}"]
    assert len(cluster.practice.calls("createForumTopic")) == 4
    assert cluster.practice.calls("deleteForumTopic") == []
