"""
A process that starts others, so that each costs milliseconds, and kills them.

Run as a module it sets Django up and obeys a line of JSON after the other, with a line
each for an answer:

- ``{"do": "start", "role": "writer", …}`` forks a child in that role: its pid;
- ``{"do": "kill", "pid": 1, "signal": 9}`` signals a child, and awaits its end;
- ``{"do": "wait", "pid": 1, "seconds": 5}`` awaits its end: its result, or "running".
"""

from __future__ import annotations

import atexit
import faulthandler
import json
import os
import select
import signal
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

Command = dict[str, Any]
Role = Callable[[Command], Any]


class Nursery:
    """The process, as the test sees it."""

    def __init__(self, given: dict[str, Any], folder: Path, root: Path) -> None:
        self.log = folder / "nursery.log"
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", __name__, json.dumps(given)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=root,
            )
        self.running: set[int] = set()

    def start(self, role: str, **command: Any) -> int:
        """Start a child; returns its process id."""
        pid = int(self._tell(do="start", role=role, **command))
        self.running.add(pid)
        return pid

    def kill(self, pid: int, number: int = signal.SIGKILL) -> Any:
        """Signal a child and await its end; returns its result."""
        self.running.discard(pid)
        return self._tell(do="kill", pid=pid, signal=int(number))

    def wait(self, pid: int, seconds: float = 60) -> Any:
        """Await a child's end; returns its result."""
        found = self._tell(do="wait", pid=pid, seconds=seconds)
        if found == "running":
            # It says where it is.
            os.kill(pid, signal.SIGUSR1)
            time.sleep(0.5)
            raise AssertionError(f"it still runs:\n{self.said()}")
        self.running.discard(pid)
        return found

    def is_running(self, pid: int) -> bool:
        """Tell whether a child has not ended yet."""
        return bool(self._tell(do="wait", pid=pid, seconds=0) == "running")

    def run(self, role: str, **command: Any) -> Any:
        """Start a child, await its end, and return its result."""
        found = self.wait(self.start(role, **command))
        assert "crash" not in found, found["crash"]
        return found["result"]

    def said(self) -> str:
        """Return what the processes wrote last to their terminal."""
        return self.log.read_text()[-4000:]

    def close(self) -> None:
        """Kill all children that still run, and end."""
        for pid in list(self.running):
            with suppress(OSError, ValueError):
                self.kill(pid)
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        with suppress(OSError):
            stdin.close()
        self._process.wait(30)
        stdout.close()

    def _tell(self, **command: Any) -> Any:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(command) + "\n")
        stdin.flush()
        return json.loads(stdout.readline())


class Children:
    """What the process knows of those that it has started."""

    def __init__(self, roles: dict[str, Role]) -> None:
        self.roles = roles
        self.pipes: dict[int, int] = {}
        #: What was read of a result so far.
        self.chunks: dict[int, list[bytes]] = {}
        self.ends: dict[int, Any] = {}

    def obey(self, command: Command) -> Any:
        """Do what one line says."""
        if command["do"] == "start":
            return self._start(command)
        pid = command["pid"]
        if command["do"] == "kill":
            if pid in self.pipes:
                os.kill(pid, command["signal"])
            return self._await(pid, 60)
        return self._await(pid, command["seconds"])

    def _start(self, command: Command) -> int:
        read, write = os.pipe()
        pid = os.fork()
        if pid == 0:
            os.close(read)
            _live(self.roles[command["role"]], command, write)
        os.close(write)
        self.pipes[pid] = read
        self.chunks[pid] = []
        return pid

    def _await(self, pid: int, seconds: float) -> Any:
        if pid in self.ends:
            return self.ends[pid]
        pipe, chunks = self.pipes[pid], self.chunks[pid]
        deadline = time.monotonic() + seconds
        while not chunks or chunks[-1]:
            left = max(0.0, deadline - time.monotonic())
            if not select.select([pipe], [], [], left)[0]:
                return "running"
            chunks.append(os.read(pipe, 1_000_000))
        os.close(self.pipes.pop(pid))
        _, status = os.waitpid(pid, 0)
        if os.WIFSIGNALED(status):
            self.ends[pid] = {"killed": os.WTERMSIG(status)}
        else:
            self.ends[pid] = json.loads(b"".join(chunks))
        return self.ends[pid]


def _live(role: Role, command: Command, write: int) -> None:
    """Do this process's part, write its result, and end."""
    from django.db import connections

    # What is printed must not come between the nursery's answers.
    os.dup2(2, 1)
    faulthandler.register(signal.SIGUSR1)
    try:
        found = {"result": role(command)}
        # As every process does that comes to its end.
        atexit._run_exitfuncs()
    except BaseException:
        found = {"crash": traceback.format_exc()}
    with suppress(Exception):
        connections.close_all()
    os.write(write, json.dumps(found).encode())
    os._exit(0)


def main() -> None:
    """Set up what the test has given, and obey."""
    from . import site

    given = json.loads(sys.argv[1])
    site.set_up(given)
    from . import roles

    _warm()
    children = Children(roles.ROLES)
    for line in sys.stdin:
        print(json.dumps(children.obey(json.loads(line))), flush=True)  # noqa: T201


def _warm() -> None:
    """Import here what every request would import in a process of its own."""
    from django.core import mail
    from django.db import connections
    from django.test import Client

    # As in a test, which has no thread of ours: a child that is forked while a lock of
    # SQLite's is held would wait for it for ever.
    mail.outbox = []  # type: ignore[attr-defined]  # what Django's tests have
    Client().get("/robots.txt")
    del mail.outbox  # type: ignore[attr-defined]  # the same
    connections.close_all()


if __name__ == "__main__":
    main()
