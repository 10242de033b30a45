"""What an instance is made of, as `run.py` composed it."""

import dataclasses
from collections.abc import Callable

from actors.bot_settings import BotSettings
from actors.conversation import Conversation
from actors.follower import Follower
from actors.launcher_handle import LauncherHandle
from actors.pairing_desk import PairingDesk
from actors.plans.election import Role
from actors.practice_place import PracticePlace
from actors.session import Session
from actors.terminal import Terminal
from actors.thread import Thread
from stores.identities import Identities
from stores.lease import Lease, Owner


@dataclasses.dataclass(frozen=True, slots=True)
class Parts:
    """The same for all the life of the process."""

    owner: Owner
    binding_key: str
    role: Role
    settings: BotSettings
    tree_log: str
    bot_shown: Callable[[], str]
    """The bot as people know it, `@name` where that is known."""

    joined: Callable[[], str | None]
    """What to say at first besides the ready line."""

    launcher: LauncherHandle
    lease: Lease
    identities: Identities
    follower: Follower
    session: Session
    conversation: Conversation | None
    """With the terminal, where there is one to type in."""

    thread: Thread
    farewell: str
    """What the thread is told when this process ends in order."""

    terminal: Terminal
    thread_name_of: Callable[[str], str | None]
    """The name of the thread of an instance."""

    set_secret: Callable[[str], None]
    """The secret of the bus that children must not see."""

    pairing_desk: Callable[[], PairingDesk]

    practice: PracticePlace | None
    """The practice chat, where that is the bot."""
