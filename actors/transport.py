"""Thespian's TCP transport, made fit to be left alone on a machine with other users.

``harden`` replaces module globals of Thespian 4.0.1 (the pin is exact for that reason):

* addresses exist on 127.0.0.1 only, for listening and for connecting;
* every frame carries keyed tags which are compared before anything is kept or unpickled
  (``actors/frames.py``); the key is random per actor system and inherited by fork;
* other users' processes are neither listened to nor talked to, where the kernel says whose they are;
* a bad frame closes its connection and does nothing else; connections that prove nothing are
  limited in number and time; running out of descriptors is survived;
* a message too large for a frame is refused to its sender with MessageTooLarge;
* of children that die together each death is told;
* it looks at its descriptors with one system call (``actors/poll_once.py``);
* Thespian's own log, which holds whole messages and lies in the temporary directory, is off, and no
  message is put into words for it, several times on its way.

``start_system`` starts an actor system on a free port. Importing this module sets Thespian's
environment, so import it before ``thespian`` where that can be arranged; ``harden`` sets the same
values again where it cannot.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import secrets
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

from actors import orphans
from actors.frames import MAX_BODY, FrameKey, MessageTooLarge, ReceiveBuffer

__all__ = ["MessageTooLarge", "StartFailed", "harden", "refuse_too_large", "release_system",
           "start_system"]

MAX_PENDING_TRANSMITS = 1000
TRANSMIT_TIMEOUT = timedelta(seconds=10)
# A connection that has not brought a whole frame by then is closed.
INCOMING_TIMEOUT = timedelta(seconds=10)
# A frame's body holds the sender's address beside the message.
ADDRESS_ROOM = 4096
# What waits to be accepted; a neighbour's flood must not make ours wait for a second try.
LISTEN_DEPTH = 1024
START_TRIES = 3
# Thespian's own limits (5 to 60 s) are for systems across networks.
START_PATIENCE = timedelta(seconds=3)

os.environ["THESPIAN_MAX_PENDING_TRANSMITS"] = str(MAX_PENDING_TRANSMITS)
# Minutes and seconds: three fields would be refused and five minutes taken instead.
os.environ["THESPIAN_TRANSMIT_TIMEOUT_PERIOD"] = f"0:{TRANSMIT_TIMEOUT.seconds}"
os.environ["THESPLOG_FILE_MAXSIZE"] = "0"

# The first to load Thespian's own addresses, and without looking up this machine's names.
from actors.loopback_address import LoopbackAddress  # noqa: E402  # isort: skip
import thespian.system.systemBase as system_base  # noqa: E402
import thespian.system.transport as transport_base  # noqa: E402
from thespian.actors import ActorSystem, ActorSystemException  # noqa: E402
from thespian.system import multiprocCommon  # noqa: E402
from thespian.system import multiprocTCPBase  # noqa: E402, F401  (what ActorSystem loads by name)
from thespian.system.actorManager import ActorManager  # noqa: E402
from thespian.system.addressManager import CannotPickleAddress  # noqa: E402
from thespian.system.admin.adminCore import AdminCore  # noqa: E402
from thespian.system.transport import TCPTransport as tcp  # noqa: E402
from thespian.system.transport import asyncTransportBase, streamBuffer  # noqa: E402
from thespian.system.utilis import thesplog_control  # noqa: E402

from actors.incoming import accept_incoming  # noqa: E402
from actors.neighbours import is_strangers  # noqa: E402
from actors.poll_once import Selectors  # noqa: E402

# Nothing of ours goes through Python's logging in an actor; what libraries say there below this
# level would cross two mailboxes to be printed on somebody's terminal.
LOG_NOWHERE = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"nowhere": {"class": "logging.NullHandler"}},
    "root": {"level": "CRITICAL", "handlers": ["nowhere"]},
}

_NOTHING_BELOW = 50  # logging.CRITICAL

_key: FrameKey | None = None
_log_path: Path | None = None


class StartFailed(RuntimeError):
    """No actor system came up."""


class _Pickle:
    """Stands for ``serializer``: the frame's body is a pickle, loaded only after its tag held."""

    @staticmethod
    def dumps(message: object) -> bytes:
        return pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)

    loads = staticmethod(pickle.loads)


def _frame_key() -> FrameKey:
    if _key is None:
        raise RuntimeError("harden() comes before the first actor system")
    return _key


def _to_send_buffer(message: object, dumps: Any = _Pickle.dumps) -> bytes:
    return _frame_key().frame(dumps(message))


def _receive_buffer(loads: Any = _Pickle.loads) -> ReceiveBuffer:
    return ReceiveBuffer(_frame_key(), loads)


def refuse_too_large(message: object) -> int:
    """The size of a message; MessageTooLarge when it could not be sent between actors."""
    try:
        size = len(_Pickle.dumps(message))
    except CannotPickleAddress:
        return 0  # holds the address of a child that is still starting; judged when it is sent
    if size > MAX_BODY - ADDRESS_ROOM:
        raise MessageTooLarge(size)
    return size


def _actor_send(manager: ActorManager, target: Any, message: object) -> None:
    # Left to Thespian the refusal would not reach the sender: it becomes a PoisonMessage.
    refuse_too_large(message)
    _thespian_actor_send(manager, target, message)


def _init_transport(transport: Any, *args: Any) -> None:
    _thespian_init(transport, *args)
    # The admin and the logger would keep it, and connects to a dead endpoint would succeed.
    orphans.close_in_children(transport.socket.fileno())


def _close_transport(transport: Any) -> None:
    listening = getattr(transport, "socket", None)
    if listening is not None:
        orphans.forget(listening.fileno())
    _thespian_close(transport)


def _probe_admin(address: Any) -> bool:
    """Thespian would take the holder of the port for an admin and wait 14 s for it to say so."""
    if _thespian_probe_admin(address):
        raise StartFailed("the port was taken meanwhile")
    return False


def _connect(transport: Any, intent: Any) -> bool:
    """Nothing is sent to another user's process that got the port of an actor that died."""
    goes_on = _thespian_connect(transport, intent)
    if not goes_on or intent.stage != transport._XMITStepSendData or intent.amtSent:
        return goes_on  # over a connection that was there before
    port = intent.targetAddr.addressDetails.sockname[1]
    if is_strangers(port) or is_strangers(port, intent.socket.getsockname()[1]):
        return transport._finishIntent(intent, transport_base.SendStatus.DeadTarget)
    return goes_on


def _check_acknowledgement(transport: Any, intent: Any, received: bytes) -> bool:
    """A bad answer ends the connection; the transmit is tried again as after any lost one.

    Thespian would forget the intent with its callback, and with it one of the pending transmits.
    """
    try:
        return _thespian_check_acknowledgement(transport, intent, received)
    except Exception:
        intent.backoffPause(True)
        intent.stage = transport._XMITStepRetry
        return transport._nextTransmitStep(intent)


_thespian_init = tcp.TCPTransport.__init__
_thespian_close = tcp.TCPTransport.close
_thespian_probe_admin = tcp.TCPTransport.probeAdmin
_thespian_connect = tcp.TCPTransport._next_XMIT_1
_thespian_actor_send = ActorManager.actor_send
_thespian_check_acknowledgement = tcp.TCPTransport._check_XMIT_4_done


def _listed_until_seen(parent: Any, child_address: Any) -> None:
    """Told of one exit, Thespian strikes every dead child from the list by which it notices deaths.

    Of two that died together the second was then never told of. Each is struck off when its own death
    is noticed.
    """


def _unworded(_letter: Any) -> str:
    return "a message"


def harden(home_log_path: Path, key: bytes) -> None:
    """Makes every transport of this process, and of what it forks, safe; call it again to rekey.

    ``home_log_path`` is where Thespian would log if somebody switched that on: inside the home.
    """
    global _key, _log_path
    _key = FrameKey(key)
    _log_path = home_log_path
    os.environ["THESPLOG_FILE"] = str(home_log_path)
    thesplog_control(_NOTHING_BELOW, False, 0)
    transport_base.TransmitIntent.identify = _unworded
    transport_base.ReceiveEnvelope.identify = _unworded

    asyncTransportBase.MAX_PENDING_TRANSMITS = MAX_PENDING_TRANSMITS
    transport_base.DEFAULT_MAX_TRANSMIT_PERIOD = TRANSMIT_TIMEOUT
    multiprocCommon.MAX_ADMIN_STARTUP_DELAY = START_PATIENCE
    system_base.MAX_CHILD_ACTOR_CREATE_DELAY = START_PATIENCE
    system_base.MAX_TELL_PERIOD = START_PATIENCE

    tcp.TCPv4ActorAddress = LoopbackAddress
    tcp.serializer = _Pickle
    tcp.selectors = Selectors
    tcp.toSendBuffer = _to_send_buffer
    tcp.ReceiveBuffer = _receive_buffer
    tcp.ackMsg = _to_send_buffer(streamBuffer.ackPacket)
    tcp.ackDataErrMsg = _to_send_buffer(streamBuffer.ackDataErrPacket)
    tcp.LISTEN_DEPTH = LISTEN_DEPTH
    tcp.MAX_INCOMING_SOCKET_PERIOD = INCOMING_TIMEOUT
    tcp.TCPTransport.__init__ = _init_transport
    tcp.TCPTransport.close = _close_transport
    tcp.TCPTransport.probeAdmin = staticmethod(_probe_admin)
    tcp.TCPTransport._acceptNewIncoming = accept_incoming
    tcp.TCPTransport._next_XMIT_1 = _connect
    tcp.TCPTransport._check_XMIT_4_done = _check_acknowledgement
    ActorManager.actor_send = _actor_send
    # Without it the admin dies of an AttributeError when its logger was killed.
    AdminCore.logDefs = property(lambda admin: admin.logdefs)
    multiprocCommon.MultiProcReplicator._childExited = _listed_until_seen


def start_system(log_path: Path, clear: Callable[[], object] = tuple) -> ActorSystem:
    """An actor system of its own with a fresh key; its admin answers when this returns.

    StartFailed after three ports. ``clear`` ends whatever processes a failed try has left.
    """
    failures: list[str] = []
    for _ in range(START_TRIES):
        harden(log_path, secrets.token_bytes(32))
        with _one_start_at_a_time(log_path.parent):
            port = _free_port()
            try:
                return ActorSystem("multiprocTCPBase", {"Admin Port": port}, LOG_NOWHERE,
                                   transientUnique=True)
            except (ActorSystemException, OSError, StartFailed) as error:
                failures.append(f"port {port}: {error}")
                clear()
    raise StartFailed("; ".join(failures))


def release_system(system: ActorSystem) -> None:
    """Closes this process's own end of the system; the system itself runs on."""
    transport = system._systemBase.transport
    for idle in transport._openSockets.values():
        idle.close()
    transport._openSockets.clear()
    transport.close()
    system._systemBase = None


def _free_port() -> int:
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@contextmanager
def _one_start_at_a_time(fallback: Path) -> Iterator[None]:
    """Between choosing a port and the admin's answer no other start of this user chooses one.

    The lock is on the user's home directory itself, so it is one per user and leaves no file.
    """
    try:
        directory = os.open(Path.home(), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except (OSError, RuntimeError):
        directory = os.open(fallback, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    # The admin is forked meanwhile; with its copy open the lock would last as long as it lives.
    orphans.close_in_children(directory)
    try:
        try:
            fcntl.flock(directory, fcntl.LOCK_EX)
        except OSError:
            pass  # a file system without locks; the tries make up for it
        yield
    finally:
        orphans.forget(directory)
        os.close(directory)
