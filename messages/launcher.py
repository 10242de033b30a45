"""What main and the launcher say to each other over their socketpair, one JSON object a line.

Main commands, the launcher reports. Between the launcher and the Leader, on the tree channel, lines are
plain `{"name", "body"}`: the Leader's are relayed to main as `TreeEvent`, main's `TreeCommand` to the Leader.
"""

import json
from typing import Any

from marshmallow import fields, validate

from messages.kind import MessageInvalid, dump_body, load_body, message, said

MAX_LINE = 1024 * 1024
"""Bytes of a line, its newline included; nobody sends or reads a longer one."""

ADMIN_DIED = "admin-died"
LOGGER_DIED = "logger-died"
LEADER_DIED = "leader-died"
STOPPED = "stopped"
START_FAILED = "start-failed"


@message("Prepare")
class Prepare:
    """Import now what a tree needs, so that starting one costs forks only. Answered by LauncherReady."""


@message("LeadTree")
class LeadTree:
    """Start a tree. Answered by TreeStarted, or by TreeEnded when it does not come up."""

    leader: str = said(fields.String(validate=validate.Length(3)), "dotted name of the Leader's class")
    log_path: str = said(fields.String(validate=validate.Length(1)),
                         "where Thespian would log; its directory is 0700 and exists")
    settings: dict = said(fields.Dict(keys=fields.String()), "body of the Leader's ConfigureLeader")


@message("StopTree")
class StopTree:
    """Stop in order. The Leader hears `stop`; answered by TreeEnded once no process is left."""

    within_ms: int = said(fields.Integer(strict=True, validate=validate.Range(0)),
                          "after so many milliseconds what still runs is killed", default=4_000)


@message("TreeCommand")
class TreeCommand:
    """Pass a word to the Leader; without a tree it is dropped."""

    name: str = said(fields.String(validate=validate.Length(1)), "what the Leader is told")
    body: dict = said(fields.Dict(keys=fields.String()), "with what")


@message("EndLauncher")
class EndLauncher:
    """Kill the tree, if there is one, and end; the answer is the end of the stream."""


@message("LauncherReady")
class LauncherReady:
    """Everything is imported: a tree now costs forks only."""


@message("TreeStarted")
class TreeStarted:
    """The three processes without which there is no tree run; the Leader is being configured."""

    admin_pid: int = said(fields.Integer(strict=True), "pid of Thespian's admin")
    logger_pid: int = said(fields.Integer(strict=True), "pid of Thespian's logger")
    leader_pid: int = said(fields.Integer(strict=True), "pid of the Leader")


@message("TreeEvent")
class TreeEvent:
    """The Leader's own words, relayed."""

    name: str = said(fields.String(validate=validate.Length(1)), "serving, endpoint, deposed, stopped, ...")
    body: dict = said(fields.Dict(keys=fields.String()), "what belongs to it")


@message("TreeEnded")
class TreeEnded:
    """No process of the tree is left."""

    reason: str = said(fields.String(validate=validate.OneOf(
        (ADMIN_DIED, LOGGER_DIED, LEADER_DIED, STOPPED, START_FAILED))), "why it ended")
    detail: str = said(fields.String(), "for the log; empty: nothing to add", default="")


def to_line(body: Any) -> bytes:
    """A body as its line; raises MessageInvalid when it does not fit its schema or a line."""
    plain = {"kind": body.KIND, "version": body.VERSION, "body": dump_body(body)}
    line = json.dumps(plain, separators=(",", ":")).encode() + b"\n"
    if len(line) > MAX_LINE:
        raise MessageInvalid(f"{body.KIND}: {len(line)} bytes are no line")
    return line


def from_line(line: bytes) -> Any:
    """The body of a line; raises MessageInvalid naming what does not fit."""
    try:
        plain = json.loads(line)
    except ValueError:
        raise MessageInvalid("not a JSON line") from None
    if not isinstance(plain, dict) or set(plain) != {"kind", "version", "body"}:
        raise MessageInvalid("a line has kind, version and body")
    return load_body(plain["kind"], plain["version"], plain["body"])
