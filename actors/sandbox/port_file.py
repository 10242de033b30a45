"""Where the practice server of a home answers: <home>/practice/port.json, with its pid and birth.

Written by the server once it listens and removed by it at a clean end; believed by others only as
far as the process named in it is that very process.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from stores.private_files import replace_private_file
from stores.process_birth import Liveness, ProcessBirth, liveness


@dataclass(frozen=True, slots=True)
class PortFile:
    port: int
    pid: int
    birth: str
    boot_id: str

    @classmethod
    def current(cls, port: int) -> PortFile:
        """This process, answering on that port."""
        birth = ProcessBirth.current()
        return cls(port, birth.pid, birth.wire, birth.boot_id)

    @classmethod
    def read(cls, path: Path) -> PortFile | None:
        """What it says; None when there is none or it makes no sense."""
        try:
            found = json.loads(path.read_bytes())
            read = cls(
                int(found["port"]),
                int(found["pid"]),
                str(found["birth"]),
                str(found.get("boot_id", "")),
            )
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return None
        return read if 0 < read.port < 65536 else None

    def write(self, path: Path) -> None:
        replace_private_file(path, json.dumps(asdict(self)).encode() + b"\n")

    @property
    def is_dead(self) -> bool:
        """Proven: that process does not run any more."""
        return liveness(self.pid, self.boot_id, self.birth) is Liveness.DEAD
