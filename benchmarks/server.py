"""gunicorn with two workers, and the processor time that it takes. Linux only."""

from __future__ import annotations

import http.client
import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WORKERS = 2
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Server:
    """A server that runs."""

    pid: int
    port: int

    def get(self, path: str) -> bytes:
        """Send ``GET path``, which has to succeed."""
        return self._ask("GET", path)

    def post(self, path: str) -> Any:
        """Send ``POST path``; return the JSON of the answer."""
        return json.loads(self._ask("POST", path))

    def warm_up(self) -> None:
        """Ask until all workers have certainly answered."""
        for _ in range(50):
            self.get("/show/1/")

    def processor_seconds(self) -> float:
        """Return the processor time of all processes so far."""
        return _seconds(self.pid)

    def _ask(self, method: str, path: str) -> bytes:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, headers={"Host": "www.example.com"})
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        if answer.status != 200:
            raise RuntimeError(f"{method} {path}: {answer.status} {body[:500]!r}")
        return body


@contextmanager
def running(*, share: float) -> Iterator[Server]:
    """Run the server, with this ``BACKGROUND_SHARE``; 0: ``BACKGROUND = False``."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "gunicorn", "--workers", str(WORKERS)]
    command += ["--bind", f"127.0.0.1:{port}", "--log-level", "warning"]
    process = subprocess.Popen(
        [*command, "django.core.wsgi:get_wsgi_application()"],
        env={**os.environ, "BENCHMARK_BACKGROUND": str(share) if share else ""},
    )
    try:
        _wait(process, port)
        yield Server(process.pid, port)
    finally:
        process.terminate()
        process.wait()


def _wait(process: subprocess.Popen[bytes], port: int) -> None:
    """Wait until the server listens."""
    for _ in range(300):
        if process.poll() is not None:
            raise RuntimeError("gunicorn has not started; its output says why.")
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except OSError:
            time.sleep(0.1)
        else:
            return
    raise RuntimeError("gunicorn does not listen.")


def database_seconds() -> float:
    """Return the processor time of PostgreSQL so far; 0 if it runs elsewhere."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        (backend,) = cursor.fetchone()
    try:
        name, parent, _ = _stat(backend)
        return _seconds(parent) if "postgres" in name else 0.0
    except FileNotFoundError:
        return 0.0


def _seconds(pid: int) -> float:
    """Return the processor time of a process and all that it has started."""
    total = _stat(pid)[2]
    for task in Path(f"/proc/{pid}/task").iterdir():
        for child in (task / "children").read_text().split():
            try:
                total += _seconds(int(child))
            except (FileNotFoundError, ProcessLookupError):
                # It has just ended: its parent has its time then.
                continue
    return total


def _stat(pid: int) -> tuple[str, int, float]:
    """Return a process's name, its parent, and its time with that of ended children."""
    name, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    fields = rest.split()
    return name, int(fields[1]), sum(map(int, fields[11:15])) / _TICKS
