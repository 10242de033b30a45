"""Where the actors of a tree find their databases, by the settings they were configured with."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from stores.bus_schema import METADATA as BUS_METADATA
from stores.database import Database
from stores.home import BUS_FILE, INGRESS_FILE
from stores.ingress_schema import METADATA as INGRESS_METADATA
from stores.lease import Owner


def open_bus(settings: Mapping[str, Any]) -> Database:
    """This process's own connection to `bus.db`, made after the fork."""
    return Database(Path(settings["bot_directory"]) / BUS_FILE, BUS_METADATA, "bus")


def open_ingress(settings: Mapping[str, Any]) -> Database:
    """This process's own connection to `ingress.db`."""
    return Database(Path(settings["bot_directory"]) / INGRESS_FILE, INGRESS_METADATA, "ingress")


def owner_of(settings: Mapping[str, Any]) -> Owner:
    """The lease owner this tree works for: run.py main of the instance."""
    return Owner(**settings["owner"])
