"""How far an instance is in leading."""

import enum


class Phase(enum.Enum):
    """How far the instance is in leading."""

    BLANK = "blank"
    CHILDREN = "starting"
    BOT = "identifying"
    PROVING = "proving"
    PAIRING = "pairing"
    CLEANUPS = "replaying"
    LISTENING = "listening"
    OWN_THREAD = "own-thread"
    OPENING = "opening"
    SERVING = "serving"
    STOPPING = "stopping"
    ENDED = "ended"
