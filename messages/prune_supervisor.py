"""What the PruneSupervisor is asked and answers."""

from messages.kind import message


@message("StartPruning")
class StartPruning:
    """Watch the registered followers from now on."""


@message("PruningStarted")
class PruningStarted:
    """Watching."""


@message("StopPruning")
class StopPruning:
    """Watch no more; what is under way is dropped."""


@message("PruningStopped")
class PruningStopped:
    """Nothing will be retired any more."""
