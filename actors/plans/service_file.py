"""The file that has a system start one process at login and again whenever it ends. Pure texts, no token."""

import dataclasses
import enum
import shlex
from collections.abc import Sequence
from xml.sax.saxutils import escape

from actors.plans.screen import Screen

NAME = "switchboard"
LABEL = "org.switchboard.agent"


class System(enum.Enum):
    """What looks after services here."""

    SYSTEMD = "systemd"
    LAUNCHD = "launchd"


@dataclasses.dataclass(frozen=True, slots=True)
class Service:
    """One service of this user: what it runs, and where its file belongs."""

    system: System
    name: str
    command: tuple[str, ...]
    directory: str
    path: str
    """The PATH that its process gets: what a login shell would find, and a service would not."""

    log: str = ""
    """Where launchd puts what it prints; systemd has a journal."""

    @property
    def file_name(self) -> str:
        """The name of its file."""
        if self.system is System.LAUNCHD:
            return f"{self.label}.plist"
        return f"{self.name}.service"

    @property
    def label(self) -> str:
        """What launchd calls it."""
        return LABEL if self.name == NAME else f"{LABEL}.{self.name.removeprefix(f'{NAME}-')}"

    def text(self) -> str:
        """The whole file."""
        return _plist(self) if self.system is System.LAUNCHD else _unit(self)

    def starting(self, user_id: int, file: str) -> tuple[tuple[str, ...], ...]:
        """The commands that have it known and started."""
        if self.system is System.LAUNCHD:
            return (("launchctl", "bootstrap", f"gui/{user_id}", file),)
        return (
            ("systemctl", "--user", "daemon-reload"),
            ("systemctl", "--user", "enable", "--now", self.file_name),
        )

    def ending(self, user_id: int) -> tuple[tuple[str, ...], ...]:
        """The commands that have it stopped and forgotten."""
        if self.system is System.LAUNCHD:
            return (("launchctl", "bootout", f"gui/{user_id}/{self.label}"),)
        return (("systemctl", "--user", "disable", "--now", self.file_name),)

    def asking(self, user_id: int) -> tuple[str, ...]:
        """The command that tells whether it runs: exit status 0 if so."""
        if self.system is System.LAUNCHD:
            return ("launchctl", "print", f"gui/{user_id}/{self.label}")
        return ("systemctl", "--user", "is-active", "--quiet", self.file_name)


def service_name(bot: str | None) -> str:
    """One service for each bot that is named."""
    return NAME if bot is None else f"{NAME}-{bot}"


def command(
    python: str, program: str, bot: str | None, home: str | None
) -> tuple[str, ...]:
    """What the service runs: a process that leads when nobody does, named after what it is for."""
    said = [python, program, "run", "--verbose", "--mode", "echo", "--name", service_name(bot)]
    if bot is not None:
        said += ["--bot", bot]
    if home is not None:
        said += ["--home", home]
    return tuple(said)


def by_hand(commands: Sequence[Sequence[str]]) -> str:
    """Commands for people to copy."""
    return "\n".join(f"  {shlex.join(one)}" for one in commands)


def told(*lines: str) -> Screen:
    """A few lines."""
    return Screen(above=tuple(lines))


def _unit(service: Service) -> str:
    # Of these two only a command line knows variables.
    line = " ".join(_systemd_quoted(word).replace("$", "$$") for word in service.command)
    return f"""[Unit]
Description=Switchboard: talks to Telegram for every process of this user
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
ExecStart={line}
WorkingDirectory={_systemd_plain(service.directory)}
Environment={_systemd_quoted(f"PATH={service.path}")}
Restart=on-failure
RestartSec=5
# Bad usage, a refusal or a bad token do not get better by themselves.
RestartPreventExitStatus=2 3 4
KillMode=mixed
TimeoutStopSec=10
UMask=0077

[Install]
WantedBy=default.target
"""


def _systemd_plain(text: str) -> str:
    return text.replace("%", "%%")


def _systemd_quoted(word: str) -> str:
    escaped = word.replace("\\", "\\\\").replace('"', '\\"')
    return '"' + escaped.replace("%", "%%") + '"'


def _plist(service: Service) -> str:
    words = "\n".join(f"        <string>{escape(word)}</string>" for word in service.command)
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
<plist version="1.0">
<dict>
    <key>Label</key>
    <string>{escape(service.label)}</string>
    <key>ProgramArguments</key>
    <array>
{words}
    </array>
    <key>WorkingDirectory</key>
    <string>{escape(service.directory)}</string>
    <key>EnvironmentVariables</key>
    <dict>
        <key>PATH</key>
        <string>{escape(service.path)}</string>
    </dict>
    <key>RunAtLoad</key>
    <true/>
    <key>KeepAlive</key>
    <dict>
        <key>SuccessfulExit</key>
        <false/>
    </dict>
    <key>ThrottleInterval</key>
    <integer>10</integer>
    <key>StandardErrorPath</key>
    <string>{escape(service.log)}</string>
    <key>Umask</key>
    <integer>63</integer>
</dict>
</plist>
"""
