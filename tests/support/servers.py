"""Real servers of the site in ``server_app``, with the background's thread."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.request import urlopen

from tests.support.fakes.ports import free_port
from tests.support.processes import ROOT, given, within

#: Seconds within which the background has done its work, on a slow machine too. Not so
#: long that the look once a minute would do it.
SOON = 45
#: One process with one thread.
PLAIN = ["-c", "from tests.support.server_app import serve; serve({port})"]
#: What makes its background do everything at once.
HURRIED = {
    "delivery.thread.IDLE": 1.0,
    "building.refresh.LISTED": 0.5,
    "building.refresh.SELDOM": 0.0,
}


class Server:
    """A server of several processes or threads, or a plain one."""

    def __init__(
        self,
        folder: Path,
        command: Sequence[str] = PLAIN,
        constants: dict[str, Any] | None = None,
        **settings: Any,
    ) -> None:
        self.port = free_port()
        self.log = folder / f"{self.port}.log"
        told = given(**{"BACKGROUND_SHARE": 1.0, "NOTIFY_AFTER": 0.5, **settings})
        told["constants"] = {**HURRIED, **(constants or {})}
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, *(c.format(port=self.port) for c in command)],
                env={**os.environ, "SITEMAPS_PLUS_TEST_SERVER": json.dumps(told)},
                cwd=ROOT,
                stdout=log,
                stderr=log,
            )
        assert within(SOON, self.listens), self.log.read_text()

    def listens(self) -> bool:
        """Return whether it can be connected to; it gets no request by that."""
        with socket.socket() as client:
            return client.connect_ex(("127.0.0.1", self.port)) == 0

    def get(self, path: str) -> str:
        """Ask it for a path."""
        with urlopen(f"http://127.0.0.1:{self.port}{path}", timeout=200) as answer:
            return str(answer.read().decode())

    def thread(self) -> dict[str, Any]:
        """Return what it says of its background thread."""
        found: dict[str, Any] = json.loads(self.get("/thread/"))
        return found

    def rests(self) -> bool:
        """Return whether its background thread has ended: it has nothing to do."""
        return not self.thread()["runs"]

    def close(self) -> None:
        """End it politely."""
        self.process.terminate()
        self.process.wait(30)
