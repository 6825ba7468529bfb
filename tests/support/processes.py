"""Processes and threads of tests: what they are told, and how to wait for them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from django.db import connections

ROOT = Path(__file__).parent.parent.parent
#: Whether what is random, or tried at many moments, is tried more often.
THOROUGH = bool(os.environ.get("SITEMAPS_PLUS_THOROUGH"))


def database_names() -> dict[str, str]:
    """Return the names of this test's databases by alias."""
    return {a: str(connections[a].settings_dict["NAME"]) for a in connections}


def given(**settings: Any) -> dict[str, Any]:
    """Return what ``settings.use_given`` takes: databases, our settings."""
    return {"databases": database_names(), "settings": settings}


def in_a_process(code: str, **settings: Any) -> subprocess.Popen[str]:
    """Run some code on this test's databases, with ``SITEMAPS_PLUS`` settings."""
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={
            **os.environ,
            "DJANGO_SETTINGS_MODULE": "tests.settings",
            "GIVEN": json.dumps(given(**settings)),
        },
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


class Spoken:
    """A process that runs a module, and answers each line of JSON by one."""

    def __init__(self, module: str, told: Any) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", module, json.dumps(told)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def ask(self, command: Any) -> Any:
        """Run one command, and return its result."""
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        stdin.write(json.dumps(command) + "\n")
        stdin.flush()
        return json.loads(stdout.readline())

    def close(self) -> None:
        """End it."""
        self._process.communicate()


def within(seconds: float, true: Callable[[], bool]) -> bool:
    """Wait until something is true."""
    deadline, pause = time.monotonic() + seconds, 0.002
    while time.monotonic() < deadline:
        if true():
            return True
        time.sleep(pause)
        pause = min(2 * pause, 0.05)
    return False


def at_once(count: int, action: Callable[[int], Any]) -> list[Any]:
    """Run ``action`` in threads that all begin at the same moment."""
    barrier = threading.Barrier(count)

    def one(number: int) -> Any:
        barrier.wait()
        try:
            return action(number)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))


def elsewhere(action: Callable[[], Any]) -> None:
    """Run ``action`` to its end on a connection of its own."""
    at_once(1, lambda _: action())
