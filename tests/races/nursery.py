"""
A process that starts others by fork, so that each costs milliseconds.

Run as a module it sets Django up, and answers each line of JSON, a role and what it is
told, with the id of a process in that role. What that returns is in the folder "ends".
"""

from __future__ import annotations

import atexit
import faulthandler
import json
import os
import signal
import sys
import time
import traceback
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.support.processes import Obeying, warm, within


class Nursery(Obeying):
    """The process, as the test sees it."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.ends = Path(given["folder"]) / "ends"
        self.ends.mkdir(exist_ok=True)
        self._running: set[int] = set()
        super().__init__(__name__, given)

    def start(self, role: str, **told: Any) -> int:
        """Start a process; returns its id."""
        pid = int(self.ask({"role": role, **told}))
        self._running.add(pid)
        return pid

    def kill(self, pid: int) -> None:
        """Kill a process, unless it has come to its end."""
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        self.wait(pid)

    def wait(self, pid: int, seconds: float = 60) -> Any:
        """Await a process's end; returns what it returned, "killed" if it was."""
        if not within(seconds, lambda: not self.is_running(pid)):
            # It says where it is.
            os.kill(pid, signal.SIGUSR1)
            time.sleep(0.5)
            raise AssertionError("it still runs")
        self._running.discard(pid)
        end = self.ends / str(pid)
        if not end.exists():
            return "killed"
        found = json.loads(end.read_text())
        end.unlink()
        assert "crash" not in found, found["crash"]
        return found["result"]

    def is_running(self, pid: int) -> bool:
        """Return whether a process has not ended yet."""
        return Path(f"/proc/{pid}").exists()

    def run(self, role: str, **told: Any) -> Any:
        """Start a process, await its end, and return its result."""
        return self.wait(self.start(role, **told))

    def close(self) -> None:
        """Kill all processes that still run, and end."""
        for pid in self._running:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        super().close()


def _live(role: str, told: dict[str, Any], ends: Path) -> None:
    """Do this process's part, note its result, and end."""
    from django.db import connections

    from .roles import ROLES

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    # What is printed must not come between the nursery's answers.
    os.dup2(2, 1)
    faulthandler.register(signal.SIGUSR1)
    try:
        found = {"result": ROLES[role](told)}
        # As every process does that comes to its end.
        atexit._run_exitfuncs()
    except BaseException:
        found = {"crash": traceback.format_exc()}
    with suppress(Exception):
        connections.close_all()
    (ends / str(os.getpid())).write_text(json.dumps(found))
    os._exit(0)


def main() -> None:
    """Set up what the test has given, and start whom it asks for."""
    from . import site

    site.set_up(json.loads(sys.argv[1]))
    from . import roles  # noqa: F401 (imported once, for all)

    warm()
    # Nobody here waits for them.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    for line in sys.stdin:
        told = json.loads(line)
        pid = os.fork()
        if pid == 0:
            _live(told.pop("role"), told, Path(site.GIVEN["folder"]) / "ends")
        print(pid, flush=True)  # noqa: T201 (the parent reads it)


if __name__ == "__main__":
    main()
