"""The commands of the shell: take the words, ask the stores or the leader, and show the answer.

Each command is a method; its docstring is its help, with usage and example. What only a leader can do is
asked of the leader over the bus; what the stores know is there without one.
"""

import contextlib
import inspect
import time
from collections.abc import Callable, Mapping
from typing import Any

from actors.events import last, show_log, shown
from actors.house import House
from actors.operator_line import LeaderSilent, ask
from actors.plans import shell_screens
from actors.plans.screen import Screen
from actors.plans.shell_targets import ShellError, process_meant, thread_meant, words_of
from actors.status import local_time, resident, status_screen
from messages.bus import (
    Ack,
    CloseThread,
    Describe,
    DropRegistration,
    Envelope,
    NameThread,
    PassWish,
    PruneNow,
    SettleUpdate,
    StepDown,
)
from messages.bus_operator import RELOAD
from messages.wire import is_name
from stores.lease import LeaseRecord
from stores.token_variables import variables

NO_LEADER = "No process talks to Telegram now, so this cannot be done. Start one: switchboard"
SILENT = "The process that talks to Telegram does not answer. Try again, or see: switchboard doctor"
LONGEST_NAME = 128

ASK_WITHIN_S = 20.0
DESCRIBE_WITHIN_S = 2.0
CHANGE_WITHIN_S = 15.0
LOOK_EVERY_S = 0.1
EVENTS = 30


class ShellCommands:
    """Carries out one line after another."""

    def __init__(
        self,
        options: Any,
        show: Callable[[Screen], None],
        confirm: Callable[[str], bool] | None = None,
    ) -> None:
        """`confirm` asks whoever types; without it, nobody can be asked and what is said is meant."""
        self._options = options
        self._show = show
        self._confirm = confirm

    def run(self, line: str) -> None:
        """Carry out one line; raises ShellError and StoreError."""
        words = words_of(line)
        if not words:
            return
        command = self.commands().get(words[0].lower())
        if command is None:
            raise ShellError(f'No command "{words[0]}". For the list: help')
        try:
            inspect.signature(command).bind(*words[1:])
        except TypeError:
            raise ShellError(usage_of(command)) from None
        command(*words[1:])

    def commands(self) -> Mapping[str, Callable[..., None]]:
        """Every command by its name."""
        return {
            name.removeprefix("do_"): getattr(self, name)
            for name in vars(type(self))
            if name.startswith("do_")
        }

    # -- what there is --------------------------------------------------------------------------

    def do_status(self) -> None:
        """Threads, what their processes do, and what waits.

        usage: status
        example: status
        """
        self._show(status_screen(self._options))

    def do_processes(self) -> None:
        """The registered processes, and when each was heard of last.

        usage: processes
        example: processes
        """
        with self._house() as house:
            lease = self._lease(house)
            followers = self._described(lease).get("followers") or ()
            pid = lease.owner.pid if lease.owner is not None else 0
            self._show(shell_screens.processes(followers, pid))

    def do_threads(self) -> None:
        """Every thread with its letter and number, whoever stands behind it.

        usage: threads
        example: threads
        """
        with self._house() as house:
            chat_id = house.bot.chat_id if house.bot is not None else None
            self._show(shell_screens.threads(house.threads(), chat_id))

    def do_actors(self) -> None:
        """The parts of the process that talks to Telegram.

        usage: actors
        example: actors
        """
        with self._house() as house:
            described = self._described(self._lease(house))
            self._show(shell_screens.actors(described.get("actors") or (), resident(described)))

    def do_events(self, follow: str = "") -> None:
        """What happened last; with -f, and from now on until Ctrl-C.

        usage: events [-f]
        example: events -f
        """
        if follow not in ("", "-f"):
            raise ShellError(usage_of(self.do_events))
        with self._house() as house:
            logs = house.home.logs
        if follow:
            with contextlib.suppress(KeyboardInterrupt):
                show_log(logs, EVENTS, True, shown, lambda stored: True)
            return
        stored = last(logs, EVENTS, lambda stored: True)
        lines = tuple(line for one in stored for line in shown(one))
        self._show(Screen(above=lines or ("Nothing was logged yet.",)))

    # -- what was not delivered -----------------------------------------------------------------

    def do_undelivered(self, choice: str = "", number: str = "") -> None:
        """Messages that wait for a decision; try one again, or drop it.

        usage: undelivered [retry NUMBER | drop NUMBER]
        example: undelivered retry 812345
        """
        if not choice:
            self._show(shell_screens.undelivered(self._undelivered()))
            return
        if choice not in ("retry", "drop") or not number.isdecimal():
            raise ShellError(usage_of(self.do_undelivered))
        with self._house() as house:
            for binding, row in house.asked():
                if row.source_update_id == int(number):
                    self._settle_delivery(house, binding, row.delivery_id, choice)
                    break
            else:
                if all(row.update_id != int(number) for row in house.dead()):
                    raise ShellError(f"No message {number} waits for a decision.")
                lease = self._lease(house)
                self._done(lease, SettleUpdate, update_id=int(number), choice=choice)
        self._say("It is tried again." if choice == "retry" else "Dropped.")

    def _undelivered(self) -> list[tuple[int, str, str, str, str]]:
        found = []
        with self._house() as house:
            names = {
                one.binding.binding_key: one.binding.thread_name or "?" for one in house.threads()
            }
            for row in house.dead():
                thread = names.get(row.binding_key or "", "-")
                text = str(row.carrier.get("text") or row.carrier.get("caption") or row.kind)
                found.append(
                    (row.update_id, thread, row.state, local_time(row.updated_ms), text)
                )
            for binding, delivery in house.asked():
                carrier = delivery.carrier
                text = str(carrier.get("text") or carrier.get("caption") or delivery.kind)
                since = local_time(delivery.finished_ms or delivery.admitted_ms)
                name = binding.thread_name or "?"
                found.append((delivery.source_update_id, name, delivery.state, since, text))
        return sorted(found)

    def _settle_delivery(self, house: House, binding: Any, delivery_id: str, choice: str) -> None:
        lease = self._lease(house)
        followers = self._described(lease).get("followers") or ()
        holder = next(
            (one for one in followers if one.get("instance_id") == binding.instance_id), None
        )
        if holder is None:
            name = binding.thread_name or "?"
            raise ShellError(
                f'The process of "{name}" does not run. Start it again, then decide here or in its thread.'
            )
        self._done(
            lease, PassWish, instance_id=holder["instance_id"], wish=choice, delivery_id=delivery_id
        )

    # -- threads --------------------------------------------------------------------------------

    def do_close(self, thread: str) -> None:
        """Delete a thread for good; a process that works there ends.

        usage: close THREAD
        example: close "web · codex"
        """
        with self._house() as house:
            one = thread_meant(house.threads(), thread)
            name, key = one.binding.thread_name or "?", one.binding.binding_key
            ends = f" Its process {one.identity.owner.pid} ends." if one.is_alive else ""
            question = f'Delete the thread "{name}"?{ends} What waits there is dropped.'
            if self._confirm is not None and not self._confirm(question):
                self._say("Kept.")
                return
            self._done(self._lease(house), CloseThread, binding_key=key)
            self._wait(
                lambda: all(other.binding.binding_key != key for other in house.threads()),
                f'"{name}" is not deleted yet. Telegram may not be reachable: switchboard doctor',
            )
            self._say(f'"{name}" is deleted.')

    def do_rename(self, thread: str, name: str) -> None:
        """Give a thread another name, in Telegram and here.

        usage: rename THREAD NAME
        example: rename A "api · main"
        """
        if not is_name(name.strip(), LONGEST_NAME):
            raise ShellError(f"A thread name has 1 to {LONGEST_NAME} characters in one line.")
        with self._house() as house:
            binding = thread_meant(house.threads(), thread).binding
            before = binding.thread_name or "?"
            lease = self._lease(house)
            self._done(lease, NameThread, binding_key=binding.binding_key, thread_name=name.strip())
        self._say(f'"{before}" is called "{name.strip()}" now.')

    # -- processes ------------------------------------------------------------------------------

    def do_disconnect(self, process: str) -> None:
        """End a registration; the thread stays, and who lives comes back.

        usage: disconnect PROCESS
        example: disconnect 4311
        """
        with self._house() as house:
            lease = self._lease(house)
            one = process_meant(self._described(lease).get("followers") or (), process)
            self._done(lease, DropRegistration, instance_id=one["instance_id"])
        self._say(f"Process {one.get('pid')} is disconnected. If it lives, it registers again at once.")

    def do_stepdown(self) -> None:
        """Have another process talk to Telegram from now on.

        usage: stepdown
        example: stepdown
        """
        with self._house() as house:
            lease = self._lease(house)
            before = lease.owner
            assert before is not None
            self._done(lease, StepDown, instance_id=before.instance_id)
            leading: list[int] = []

            def has_another() -> bool:
                now = house.lease()
                if now is None or now.owner is None or not now.endpoint:
                    return False
                if now.epoch == lease.epoch:
                    return False
                leading.append(now.owner.pid)
                return True

            self._wait(has_another, "Nobody took over yet. See: status")
        if leading[0] == before.pid:
            raise ShellError(f"Nobody else took over. Process {before.pid} talks to Telegram again.")
        self._say(f"Process {leading[0]} talks to Telegram now.")

    def do_prune(self) -> None:
        """Look at every process now, and let go of those proven dead.

        usage: prune
        example: prune
        """
        with self._house() as house:
            result = self._done(self._lease(house), PruneNow).result
        dead = result.get("dead") if isinstance(result, dict) else None
        if not dead:
            self._say("Every registered process lives.")
        else:
            pids = ", ".join(str(one).partition(":")[0] for one in dead)
            self._say(f"Dead, and let go of: {pids}. Their threads stay, unless --cleanup is on.")

    def do_reload(self, process: str) -> None:
        """Have an idle process begin anew with what is stored for it.

        usage: reload PROCESS
        example: reload "api · claude"
        """
        with self._house() as house:
            lease = self._lease(house)
            one = process_meant(self._described(lease).get("followers") or (), process)
            self._done(lease, PassWish, instance_id=one["instance_id"], wish=RELOAD)
        self._say(f"Process {one.get('pid')} took up anew what is stored for it.")

    # -- help -----------------------------------------------------------------------------------

    def do_help(self, command: str = "") -> None:
        """All commands, or one of them with usage and example.

        usage: help [COMMAND]
        example: help close
        """
        if not command:
            first = {
                name: str(inspect.getdoc(method)).splitlines()[0]
                for name, method in self.commands().items()
            }
            self._show(shell_screens.help_overview(first))
            return
        method = self.commands().get(command.lower())
        if method is None:
            raise ShellError(f'No command "{command}". For the list: help')
        self._show(Screen(above=tuple(str(inspect.getdoc(method)).splitlines())))

    # -- how ------------------------------------------------------------------------------------

    def _house(self) -> House:
        return House.of(self._options, variables())

    def _say(self, sentence: str) -> None:
        self._show(Screen(above=(sentence,)))

    def _lease(self, house: House) -> LeaseRecord:
        lease = house.lease()
        if lease is None or not house.is_led(lease) or not lease.endpoint:
            raise ShellError(NO_LEADER)
        return lease

    def _described(self, lease: LeaseRecord) -> Mapping[str, Any]:
        answer = self._ask(lease, Describe, DESCRIBE_WITHIN_S)
        return answer.result if answer.ok and isinstance(answer.result, dict) else {}

    def _done(self, lease: LeaseRecord, kind: type[Envelope], **fields: Any) -> Ack:
        answer = self._ask(lease, kind, ASK_WITHIN_S, **fields)
        if not answer.ok:
            raise ShellError(answer.message or "The leader refused, and did not say why.")
        return answer

    def _ask(self, lease: LeaseRecord, kind: type[Envelope], within: float, **fields: Any) -> Ack:
        try:
            return ask(lease, kind, within, **fields)
        except LeaderSilent:
            raise ShellError(SILENT) from None

    def _wait(self, condition: Callable[[], bool], otherwise: str) -> None:
        until = time.monotonic() + CHANGE_WITHIN_S
        while not condition():
            if time.monotonic() > until:
                raise ShellError(otherwise)
            time.sleep(LOOK_EVERY_S)


def usage_of(command: Callable[..., None]) -> str:
    """The usage line of a command's explanation."""
    lines = str(inspect.getdoc(command)).splitlines()
    return next((line for line in lines if line.startswith("usage:")), "usage: help")
