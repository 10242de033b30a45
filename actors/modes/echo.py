"""Echo: answers with the text it got. For trying things out and for tests."""

from actors.modes import Prompt, Show
from actors.plans.output import split
from actors.plans.session_events import Traits


class EchoMode:
    """Has no effect but its answer, so a run that was cut off is simply repeated."""

    traits = Traits(repeats=True, stoppable=False, announces_queue=False)

    async def run(self, prompt: Prompt, show: Show) -> tuple[str, ...]:
        """The text itself, in as many messages as it needs."""
        return split(prompt.text)

    def stop(self) -> None:
        """There is never anything to stop."""

    async def clear(self, token: str) -> None:
        """Nothing is ever left."""

    async def close(self) -> None:
        """Nothing is held."""
