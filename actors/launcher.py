"""The launcher: forked by main before anything else, it starts actor systems and ends them.

A small process without threads and without an event loop, so that forking it is safe and cheap: it
imports what the tree uses once, freezes the garbage collector, and waits. It never decides to lead;
main tells it (`messages/launcher.py`), and hears what the Leader reports and how a tree ended.

Promises: when main ends, in whatever way, everything below the launcher is killed and the launcher ends.
When the admin, the logger or the Leader ends, what is left of that tree is killed, and only then main is
told. Stopped processes are no exception. Only descendants are ever signalled.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import selectors
import signal
import socket
import sys
import time
import traceback
import uuid
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from actors import descendants, orphans
from actors import tree_channel as channel
from actors.faults import fault
from actors.launcher_handle import LauncherHandle
from actors.launcher_process import become_launcher, when_main_dies
from actors.line_socket import LineSocket
from actors.process_watch import ProcessWatch
from actors.tree_channel import tree_channel
from messages import launcher as said
from messages.kind import MessageInvalid

__all__ = ["Launcher", "LauncherHandle", "tree_channel"]

# How often is looked for what no descriptor tells: a stop that takes too long, deaths where there is no pidfd.
_TICK = 0.25
# And for adopted children to reap, which is all that is left while a tree runs undisturbed.
_REAP_EVERY = 2.0
_FIRST_LINES_WITHIN = 5.0
_SETTLE_MS = 20
_DEATHS = ((channel.ADMIN, said.ADMIN_DIED), (channel.LOGGER, said.LOGGER_DIED),
           (channel.LEADER, said.LEADER_DIED))


class Launcher:
    """The process that main forks first."""

    @staticmethod
    def fork(
        modules: Sequence[str],
        output: Path | None = None,
        at_once: bool = True,
        rehearse: Callable[[], object] = tuple,
    ) -> LauncherHandle:
        """Forks the launcher; call it before any thread, event loop or socket exists.

        ``modules`` are imported there: at once, or when main says Prepare or LeadTree, because until then
        they are only so much memory. ``rehearse`` is called with Prepare, and what it has made ready every
        process of a tree has. What anything below the launcher writes to its standard output or error is
        appended to ``output``, if given (0600); it never reaches the terminal.
        """
        ours, theirs = socket.socketpair()
        main = os.getpid()
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid:
            theirs.close()
            return LauncherHandle(pid, ours)
        status = 1
        try:
            ours.close()
            become_launcher(main, output)
            _Loop(theirs, main, modules, rehearse).run(at_once)
        except SystemExit:
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            descendants.end_descendants()
            os._exit(status)


class _Tree:
    """What runs while this instance leads: the channel to the Leader and the three watched processes."""

    def __init__(self, channel_end: socket.socket) -> None:
        self.channel = LineSocket(channel_end)
        self.watches: dict[str, ProcessWatch] = {}
        self.stop_by: float | None = None

    def cause_of_death(self) -> str | None:
        """Why the tree is at its end, if it is."""
        found = next((reason for role, reason in _DEATHS
                      if role in self.watches and self.watches[role].ended()), None)
        if found is None and self.channel.ended:
            found = said.LEADER_DIED
        # A dying admin takes the others along, and they may be seen to be dead before it is.
        if found and channel.ADMIN in self.watches and self.watches[channel.ADMIN].ended(_SETTLE_MS):
            return said.ADMIN_DIED
        return found


class _Loop:
    """Everything the launcher does, one event after another."""

    def __init__(self, stream: socket.socket, main: int, modules: Sequence[str],
                 rehearse: Callable[[], object]) -> None:
        self._unprepared = tuple(modules)
        self._rehearse = rehearse
        self._main_pid = main
        self._main = LineSocket(stream)
        self._main_watch = ProcessWatch(main)
        self._tree: _Tree | None = None
        self._selector = selectors.DefaultSelector()
        orphans.close_in_children(stream.fileno())
        if hasattr(self._selector, "fileno"):
            orphans.close_in_children(self._selector.fileno())
        self._selector.register(self._main, selectors.EVENT_READ, self._hear_main)
        self._watch(self._main_watch, self._main_ended)

    def run(self, at_once: bool) -> None:
        if at_once:
            self._prepare()
        while True:
            self._turn()

    def _prepare(self) -> None:
        gc.disable()
        for name in self._unprepared:
            importlib.import_module(name)
        self._unprepared = ()
        gc.collect()
        # Nothing of this is garbage, and looking whether it is would copy every page in every child.
        gc.freeze()
        gc.enable()
        self._tell_main(said.LauncherReady())

    def _rehearse_once(self) -> None:
        rehearse, self._rehearse = self._rehearse, tuple
        try:
            rehearse()
        except Exception:
            # Whatever was not made ready is made when it is needed.
            traceback.print_exc()

    def _turn(self) -> None:
        for key, mask in self._selector.select(self._longest_wait()):
            if mask & selectors.EVENT_WRITE:
                key.fileobj.flush()  # type: ignore[union-attr]
            if mask & selectors.EVENT_READ:
                key.data()
        if self._main_watch.ended() or os.getppid() != self._main_pid:
            self._main_ended()
        self._look_after_tree()
        self._select_writes()

    def _longest_wait(self) -> float | None:
        watches = [self._main_watch]
        if self._tree is not None:
            watches += self._tree.watches.values()
        is_stopping = self._tree is not None and self._tree.stop_by is not None
        if is_stopping or any(watch.pidfd is None for watch in watches):
            return _TICK
        return None if self._tree is None else _REAP_EVERY

    # -- main ------------------------------------------------------------------------------------

    def _hear_main(self) -> None:
        for line in self._main.receive():
            try:
                command = said.from_line(line)
            except MessageInvalid as invalid:
                print(f"launcher: {invalid}", file=sys.stderr)
                continue
            match command:
                case said.Prepare():
                    # Whoever is to lead at once is waited for, and does without.
                    self._rehearse_once()
                    self._prepare()
                case said.LeadTree():
                    if self._unprepared:
                        self._prepare()
                    self._end_tree(said.STOPPED)
                    self._start_tree(command)
                case said.StopTree():
                    self._stop_tree(command.within_ms)
                case said.TreeCommand():
                    self._tell_leader(command.name, command.body)
                case said.EndLauncher():
                    raise SystemExit(0)
        if self._main.ended:
            self._main_ended()

    def _main_ended(self) -> None:
        raise SystemExit(0)

    def _tell_main(self, event: Any) -> None:
        self._main.send(said.to_line(event))

    # -- the tree --------------------------------------------------------------------------------

    def _start_tree(self, command: said.LeadTree) -> None:
        ours, leaders = socket.socketpair()
        self._tree = _Tree(ours)
        orphans.close_in_children(ours.fileno())
        channel.offer(leaders, command.leader)
        # Starting waits, deaf to main; so for this while main's death is simply ours.
        when_main_dies(signal.SIGKILL, self._main_pid)
        try:
            self._fork_tree(command)
        except Exception as error:
            self._end_tree(said.START_FAILED, f"{type(error).__name__}: {error}")
            return
        finally:
            channel.withdraw()
            when_main_dies(signal.SIGCONT, self._main_pid)
        self._selector.register(self._tree.channel, selectors.EVENT_READ, self._hear_leader)
        pids = {role: watch.pid for role, watch in self._tree.watches.items()}
        self._tell_main(said.TreeStarted(admin_pid=pids[channel.ADMIN], leader_pid=pids[channel.LEADER],
                                         logger_pid=pids[channel.LOGGER]))

    def _fork_tree(self, command: said.LeadTree) -> None:
        from actors import transport  # Thespian; main imports this module and never that

        fault("launcher.before-start")
        system = transport.start_system(Path(command.log_path), descendants.end_descendants)
        try:
            fault("launcher.after-admin")
            leader = system.createActor(command.leader)
            self._await_processes()
            system.tell(leader, _first_message(command.settings))
            fault("launcher.after-leader")
        finally:
            transport.release_system(system)

    def _await_processes(self) -> None:
        """Reads the pids from the channel; all three were written before the actor was reported."""
        assert self._tree is not None
        deadline = time.monotonic() + _FIRST_LINES_WITHIN
        with selectors.DefaultSelector() as waiting:
            waiting.register(self._tree.channel, selectors.EVENT_READ)
            while len(self._tree.watches) < len(_DEATHS):
                if time.monotonic() > deadline or self._tree.channel.ended:
                    raise RuntimeError(f"only {sorted(self._tree.watches)} started")
                waiting.select(_TICK)
                self._hear_leader()

    def _hear_leader(self) -> None:
        assert self._tree is not None
        for line in self._tree.channel.receive():
            match _loaded(line):
                case {"name": channel.PROCESS, "body": {"role": str(role), "pid": int(pid)}}:
                    if role not in self._tree.watches:
                        self._tree.watches[role] = ProcessWatch(pid)
                        self._watch(self._tree.watches[role], lambda: None)
                case {"name": str(name), **rest}:
                    body = rest.get("body")
                    self._relay(name, body if isinstance(body, dict) else {})

    def _relay(self, name: str, body: dict[str, Any]) -> None:
        try:
            self._tell_main(said.TreeEvent(name=name, body=body))
        except MessageInvalid as invalid:
            print(f"launcher: {invalid}", file=sys.stderr)
        if name == "stopped" and self._tree is not None:
            self._tree.stop_by = time.monotonic()

    def _tell_leader(self, name: str, body: dict[str, Any]) -> None:
        if self._tree is not None:
            self._tree.channel.send(channel.line(name, body))

    def _stop_tree(self, within_ms: int) -> None:
        if self._tree is not None:
            self._tree.stop_by = time.monotonic() + within_ms / 1000
            self._tell_leader("stop", {})

    def _look_after_tree(self) -> None:
        descendants.reap()
        if self._tree is None:
            return
        if self._tree.stop_by is not None:
            if self._tree.cause_of_death() or time.monotonic() >= self._tree.stop_by:
                self._end_tree(said.STOPPED)
            return
        reason = self._tree.cause_of_death()
        if reason:
            self._end_tree(reason)

    def _end_tree(self, reason: str, detail: str = "") -> None:
        """Kills what is left; main is told when nothing is."""
        tree = self._tree
        if tree is None:
            return
        if not descendants.end_descendants():
            print(f"launcher: {descendants.descendants()} cannot be killed", file=sys.stderr)
        self._hear_leader()  # its last words
        self._tree = None
        for watch in tree.watches.values():
            if watch.pidfd is not None:
                self._selector.unregister(watch.pidfd)
            watch.close()
        if tree.channel.fileno() in self._selector.get_map():
            self._selector.unregister(tree.channel)
        orphans.forget(tree.channel.fileno())
        tree.channel.close()
        self._tell_main(said.TreeEnded(reason=reason, detail=detail))

    # -- the selector ----------------------------------------------------------------------------

    def _watch(self, watch: ProcessWatch, ended: Callable[[], None]) -> None:
        if watch.pidfd is not None:
            self._selector.register(watch.pidfd, selectors.EVENT_READ, ended)

    def _select_writes(self) -> None:
        peers = [(self._main, self._hear_main)]
        if self._tree is not None:
            peers.append((self._tree.channel, self._hear_leader))
        for peer, hear in peers:
            writes = selectors.EVENT_WRITE if peer.has_unsent else 0
            self._selector.modify(peer, selectors.EVENT_READ | writes, hear)


def _first_message(settings: dict[str, Any]) -> dict[str, Any]:
    from messages.envelope import Envelope
    from messages.leader import ConfigureLeader

    return Envelope(body=ConfigureLeader(settings=settings), message_id=uuid.uuid4().hex,
                    key="leader").dump()


def _loaded(line: bytes) -> Any:
    try:
        return json.loads(line)
    except ValueError:
        return None
