"""The statements of the intake journal, built once: building one takes several times as long as running it."""

from __future__ import annotations

import functools
from typing import Any

from sqlalchemy import and_, bindparam, delete, func, insert, or_, select, update

from stores.ingress_schema import INTAKE, NOTICES, UPDATES
from stores.updates import CHOOSER, DEAD, PENDING, READY, RETRY, WAITING

_IS_DUE = or_(
    UPDATES.c.state == PENDING,
    and_(UPDATES.c.state == RETRY, UPDATES.c.next_retry_ms <= bindparam("now")),
)
_MINE = UPDATES.c.binding_key == bindparam("binding_key")
_SOME = UPDATES.c.update_id.in_(bindparam("update_ids", expanding=True))
_IN_ORDER = select(UPDATES).order_by(UPDATES.c.update_id)
_LIMITED = _IN_ORDER.limit(bindparam("at_most"))

BY_IDS = _IN_ORDER.where(_SOME)
DUE = _LIMITED.where(_IS_DUE)
OLDEST_DUE = _IN_ORDER.where(_MINE, _IS_DUE).limit(1)
OF_BINDING = _IN_ORDER.where(_MINE, UPDATES.c.state.in_(WAITING))
UNASKED = _LIMITED.where(UPDATES.c.state == CHOOSER, UPDATES.c.asked_ms.is_(None))
GIVEN_UP = _LIMITED.where(UPDATES.c.state == DEAD)
NEXT_RETRY = select(func.min(UPDATES.c.next_retry_ms)).where(UPDATES.c.state == RETRY)
OWNER_AND_CURSOR = select(INTAKE)
UNSETTLED = select(func.count()).where(UPDATES.c.state.in_((*WAITING, DEAD)))
STORED = select(UPDATES.c.update_id, UPDATES.c.payload).where(_SOME)
ADMITTED = insert(UPDATES)
RECEIVED = select(UPDATES.c.received_ms).where(UPDATES.c.update_id == bindparam("update_id"))
CURSOR = update(INTAKE).values(cursor=bindparam("cursor"))
_NEWEST_WAITING = (
    select(
        UPDATES.c.binding_key,
        func.count().label("amount"),
        func.min(UPDATES.c.received_ms).label("oldest_ms"),
        func.max(UPDATES.c.update_id).label("newest_id"),
    )
    .where(UPDATES.c.binding_key.is_not(None), UPDATES.c.state.in_(READY))
    .group_by(UPDATES.c.binding_key)
    .subquery()
)
WAITING_BINDINGS = (
    select(_NEWEST_WAITING, UPDATES.c.chat_id, UPDATES.c.thread_id, NOTICES.c.noticed_ms)
    .join(UPDATES, UPDATES.c.update_id == _NEWEST_WAITING.c.newest_id)
    .outerjoin(NOTICES, NOTICES.c.binding_key == _NEWEST_WAITING.c.binding_key)
    .order_by(_NEWEST_WAITING.c.oldest_ms)
)
BINDINGS_OF_MESSAGES = (
    select(UPDATES.c.message_id, UPDATES.c.binding_key)
    .where(
        UPDATES.c.chat_id == bindparam("chat_id"),
        UPDATES.c.message_id.in_(bindparam("message_ids", expanding=True)),
        UPDATES.c.binding_key.is_not(None),
    )
    .order_by(UPDATES.c.update_id.desc())
)
END_OF_ABSENCE = delete(NOTICES).where(
    NOTICES.c.binding_key
    == select(UPDATES.c.binding_key)
    .where(UPDATES.c.update_id == bindparam("settled_id"))
    .scalar_subquery()
)
ONE_MORE = UPDATES.c.attempts + 1


@functools.cache
def move_of(states: tuple[str, ...], names: tuple[str, ...], is_attempt: bool) -> Any:
    """From one of these states: these columns get new values, and a failed attempt is counted."""
    movable = and_(UPDATES.c.update_id == bindparam("moved_id"), UPDATES.c.state.in_(states))
    values: dict[str, Any] = {name: bindparam(f"new_{name}") for name in names}
    if is_attempt:
        values["attempts"] = ONE_MORE
    return update(UPDATES).where(movable).values(values)
