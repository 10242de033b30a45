"""A stand-in for the launcher: it keeps what main commands, and reports what the test says."""

from collections.abc import Callable
from typing import Any

from messages.launcher import STOPPED, LeadTree, StopTree, TreeEnded, TreeEvent


class ScriptedLauncher:
    """Every StopTree is answered; a LeadTree is answered as `on_lead` wants."""

    def __init__(self, report: Callable[[Any], None]) -> None:
        self.report = report
        self.commands: list[Any] = []
        self.on_lead: Callable[[LeadTree], None] = lambda command: None

    @property
    def epochs(self) -> list[int]:
        """The epoch of each tree that was asked for."""
        return [one.settings["epoch"] for one in self.commands if isinstance(one, LeadTree)]

    async def send(self, command: Any) -> None:
        """What a LauncherHandle does."""
        self.commands.append(command)
        if isinstance(command, StopTree):
            self.report(TreeEnded(reason=STOPPED))
        elif isinstance(command, LeadTree):
            self.on_lead(command)

    def tell(self, name: str, **body: Any) -> None:
        """The Leader says something."""
        self.report(TreeEvent(name=name, body=body))
