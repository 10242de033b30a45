"""A bot of one's own: the Bot API of another home's practice chat, given to a cluster by its address."""

import contextlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.support.cluster import Cluster
from tests.support.practice_server import PracticeServer, running_practice_server

OWNER, STRANGER = 1001, 77


class OwnBot:
    """The bot, as Telegram has it."""

    def __init__(self, server: PracticeServer) -> None:
        self.server = server
        self.practice = server.practice
        self.token = server.practice.token
        self.api_root = server.practice.api_root
        self.shown = "@switchboard_practice_bot"

    def said_to(self, user_id: int) -> list[str]:
        """What the bot said in the private chat of somebody, or in a group, outside of threads."""
        return [
            message["text"]
            for message in self.practice.state()["messages_outside_threads"]
            if message["chat_id"] == user_id and message["from_bot"]
        ]

    def threads_of(self, user_id: int) -> list[dict[str, Any]]:
        """The living threads in the private chat of somebody, or in a group."""
        return [
            thread
            for thread in self.practice.state()["threads"]
            if thread["chat_id"] == user_id and not thread["deleted"]
        ]

    def open_group(self, title: str) -> int:
        """A group with topics that the bot is in; its number."""
        return int(self.practice.ask("/sandbox/groups", {"title": title})["chat_id"])

    def switch_threads(self, on: bool) -> None:
        """Threaded Mode, as its owner switches it."""
        self.practice.ask("/sandbox/threads", {"op": f"threaded_mode_{'on' if on else 'off'}"})


@contextlib.contextmanager
def own_bot(directory: Path, cluster: Cluster) -> Iterator[OwnBot]:
    """The bot, and the cluster pointed at it; nothing is configured yet."""
    with running_practice_server(directory) as server:
        cluster.practice = server.practice
        cluster.env["TELEGRAM_API_ROOT"] = server.practice.api_root
        yield OwnBot(server)


def configure(cluster: Cluster, token: str, **more: Any) -> Path:
    """Write the configuration by hand, as `setup` would."""
    cluster.home.mkdir(mode=0o700, exist_ok=True)
    path = cluster.home / "config.json"
    bot = {"token": token, "owner": OWNER, "api_root": cluster.env["TELEGRAM_API_ROOT"], **more}
    path.write_text(json.dumps({"bots": {"default": bot}, "default_bot": "default"}))
    path.chmod(0o600)
    return path
