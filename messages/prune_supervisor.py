"""What the PruneSupervisor is asked and answers."""

from marshmallow import fields

from messages.kind import message, said


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


@message("PruneAtOnce")
class PruneAtOnce:
    """Look at every process now, for an operator."""


@message("PrunedAtOnce")
class PrunedAtOnce:
    """All were looked at; the dead ones are being retired."""

    dead: list = said(fields.List(fields.String()), "instance ids of those that are proven dead")
