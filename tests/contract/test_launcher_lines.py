"""The lines between main and the launcher: each kind survives its line; nothing else is understood."""

import pytest

from messages import launcher as said
from messages.kind import MessageInvalid

EVERY_KIND = [
    said.LeadTree(leader="actors.leader.Leader", log_path="/home/logs/t.log", settings={"epoch": 3}),
    said.StopTree(),
    said.StopTree(within_ms=0),
    said.TreeCommand(name="open", body={"to": "all"}),
    said.EndLauncher(),
    said.LauncherReady(),
    said.TreeStarted(admin_pid=1, logger_pid=2, leader_pid=3),
    said.TreeEvent(name="serving", body={"text": "zwei\nZeilen"}),
    said.TreeEnded(reason=said.STOPPED),
    said.TreeEnded(reason=said.START_FAILED, detail="why"),
]


@pytest.mark.parametrize("body", EVERY_KIND, ids=lambda body: body.KIND)
def test_a_body_survives_its_line(body) -> None:
    line = said.to_line(body)
    assert line.endswith(b"\n") and line.count(b"\n") == 1
    assert said.from_line(line) == body


@pytest.mark.parametrize("line", [
    b"", b"no json", b"[]", b"{}", b'{"kind":"StopTree"}', b'"\xff"',
    b'{"kind":"NoSuchKind","version":1,"body":{}}',
    b'{"kind":"StopTree","version":99,"body":{}}',
    b'{"kind":"StopTree","version":1,"body":{"within_ms":"4"}}',
    b'{"kind":"StopTree","version":1,"body":{"within_ms":-1}}',
    b'{"kind":"StopTree","version":1,"body":{"other":1}}',
    b'{"kind":"TreeEnded","version":1,"body":{"reason":"boredom"}}',
    b'{"kind":"LeadTree","version":1,"body":{"settings":{}}}',
    b'{"kind":"StopTree","version":1,"body":{},"more":1}',
])
def test_anything_else_is_refused(line: bytes) -> None:
    with pytest.raises(MessageInvalid):
        said.from_line(line)


def test_what_does_not_fit_is_not_sent() -> None:
    with pytest.raises(MessageInvalid):
        said.to_line(said.TreeEnded(reason="boredom"))
    with pytest.raises(MessageInvalid):
        said.to_line(said.TreeEvent(name="big", body={"x": "x" * said.MAX_LINE}))
