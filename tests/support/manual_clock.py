"""A clock that moves only when a test says so."""

from actors.plans.effects import Now

START_WALL_MS = 1_700_000_000_000


class ManualClock:
    """Both clocks of the house; they move together, until a test sets the wall clock."""

    def __init__(self, boot: int = 1_000_000, wall: int = START_WALL_MS) -> None:
        self.boot = boot
        self.wall = wall

    def __call__(self) -> Now:
        return Now(wall=self.wall, boot=self.boot)

    def move(self, milliseconds: int) -> None:
        """Let time pass on both clocks."""
        self.boot += milliseconds
        self.wall += milliseconds
