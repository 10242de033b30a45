"""Who speaks on the bus: the protocol identity, and whether two of them understand each other."""

import enum
import itertools
import re
from typing import Any

from marshmallow import ValidationError, fields

from messages.kind import said
from messages.wire import Whole, Wire, is_text, wire

VERSION = "0.1.0"
"""Of this program; setup.cfg says the same."""

PROTOCOL_VERSION = 2
KNOWN_VERSIONS = frozenset({1, 2})

DURABLE_ADMISSION = "durable-follower-admission-v1"
DUPLEX = "duplex-v1"

_CAPABILITY = re.compile(r"[a-z0-9][a-z0-9._-]*", re.ASCII)
_MOST_CAPABILITIES = 32
_LONGEST = 128


class _Build(fields.Field):
    """1 to 128 characters without outer whitespace."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> str:
        if not is_text(value, _LONGEST) or value != value.strip():
            raise ValidationError("no build")
        return value


class _Capabilities(fields.Field):
    """Strictly rising, so unique."""

    def _deserialize(self, value: Any, attr: Any, data: Any, **kwargs: Any) -> Any:
        if type(value) is not list:
            raise ValidationError("no list")
        if len(value) > _MOST_CAPABILITIES:
            raise ValidationError("too many capabilities")
        for item in value:
            if type(item) is not str or len(item) > _LONGEST or not _CAPABILITY.fullmatch(item):
                raise ValidationError("no capability")
        if any(item >= following for item, following in itertools.pairwise(value)):
            raise ValidationError("capabilities are not in strictly rising order")
        return tuple(value)


@wire
class ProtocolIdentity(Wire):
    """What a peer speaks. On the wire a malformed one counts as absent."""

    protocol_version: int = said(Whole(), "version of the envelopes and their rules")
    runtime_build: str = said(_Build(), "which program; differences never matter")
    capabilities: tuple[str, ...] = said(_Capabilities(), "what it can do beyond the version")

    @classmethod
    def of(
        cls, version: int, build: str, capabilities: tuple[str, ...] | list[str]
    ) -> "ProtocolIdentity":
        """An identity of capabilities in any order, with repetitions."""
        unique = tuple(sorted(set(capabilities)))
        return cls(protocol_version=version, runtime_build=build.strip(), capabilities=unique)

    def can(self, capability: str) -> bool:
        """Does it advertise this?"""
        return capability in self.capabilities


OURS = ProtocolIdentity.of(
    PROTOCOL_VERSION, f"switchboard {VERSION}", (DUPLEX, DURABLE_ADMISSION)
)


class Incompatible(enum.Enum):
    """Why two peers cannot work together."""

    MISSING_IDENTITY = "missing-identity"
    VERSION_MISMATCH = "version-mismatch"
    MISSING_CAPABILITY = "missing-capability"


def compatibility(
    local: ProtocolIdentity,
    remote: ProtocolIdentity | None,
    known: frozenset[int] = KNOWN_VERSIONS,
) -> Incompatible | None:
    """None when compatible, else the reason; `known` are the versions of the local side."""
    if remote is None:
        return Incompatible.MISSING_IDENTITY
    if remote.protocol_version not in known:
        return Incompatible.VERSION_MISMATCH
    if local.can(DURABLE_ADMISSION) and not remote.can(DURABLE_ADMISSION):
        return Incompatible.MISSING_CAPABILITY
    return None


def agreed(
    local: ProtocolIdentity,
    remote: ProtocolIdentity | None,
    known: frozenset[int] = KNOWN_VERSIONS,
) -> ProtocolIdentity:
    """The identity for an ack: ours, with the highest version that both speak."""
    if remote is None or remote.protocol_version not in known:
        return local
    return ProtocolIdentity.of(
        min(local.protocol_version, remote.protocol_version),
        local.runtime_build,
        local.capabilities,
    )
