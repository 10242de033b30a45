"""A small actor whose plan is given by the test as functions, for tests of the base and of the stage."""

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from actors.asyncio_actor import AsyncioActor
from actors.base import PlanActor


@dataclasses.dataclass(frozen=True)
class SamplePlan:
    """Its methods are `handlers`; `seen` is what happened, for tests that want to know."""

    handlers: Mapping[str, Callable[..., Any]]
    seen: tuple[Any, ...] = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("on_") and name in self.handlers:
            handler = self.handlers[name]
            return lambda *arguments: self._step(name, handler, arguments)
        raise AttributeError(name)

    def _step(
        self, name: str, handler: Callable[..., Any], arguments: tuple[Any, ...]
    ) -> tuple["SamplePlan", Any]:
        effects = handler(*arguments)
        return dataclasses.replace(self, seen=(*self.seen, name)), tuple(effects)


class Shelf:
    """A store in memory that outlives its actors: what is put into it counts when it is committed."""

    def __init__(self) -> None:
        self.kept: list[Any] = []
        self.commits = 0
        self.failures: list[Exception] = []
        self._put: list[Any] = []
        self._depth = 0

    @property
    def database(self) -> "Shelf":
        """It is its own database."""
        return self

    @contextlib.contextmanager
    def transaction(self) -> Iterator[None]:
        """Joins the outer one, as a real database does."""
        self._depth += 1
        try:
            yield
        except BaseException:
            self._put = []
            raise
        else:
            if self._depth == 1:
                self.kept += self._put
                self.commits += 1
                self._put = []
        finally:
            self._depth -= 1

    def put(self, thing: Any) -> None:
        """Keep it, or raise the next failure."""
        with self.transaction():
            if self.failures:
                raise self.failures.pop(0)
            self._put.append(thing)


def sample_actor(
    handlers: Mapping[str, Callable[..., Any]],
    *,
    stores: Mapping[str, Any] | None = None,
    children: Mapping[str, Any] | None = None,
    at_start: str = "",
) -> type[PlanActor]:
    """A class of actors with this plan; `at_start` names the handler of its first step."""

    class Sample(PlanActor):
        def first_plan(self, settings: Mapping[str, Any]) -> SamplePlan:
            return SamplePlan(dict(handlers))

        def open_stores(self, settings: Mapping[str, Any]) -> Mapping[str, Any]:
            return dict(stores or {})

        def child_class(self, key: str) -> Any:
            return (children or {})[key]

        def configured(self) -> None:
            if at_start:
                self.step(at_start)

    return Sample


def sample_asyncio_actor(handlers: Mapping[str, Callable[..., Any]], io: Any) -> type[AsyncioActor]:
    """A class of actors with this plan and this I/O object."""

    class SampleAsyncio(AsyncioActor):
        def first_plan(self, settings: Mapping[str, Any]) -> SamplePlan:
            return SamplePlan(dict(handlers))

        def make_io(self, settings: Mapping[str, Any]) -> Any:
            return io

    return SampleAsyncio
