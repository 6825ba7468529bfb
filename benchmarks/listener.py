"""
An engine on loopback that counts what it is told, in a process of its own.

Run as a command it prints its port, and answers: a POST of ``{"urlList": […]}`` with
200, a GET with what it was told so far, as JSON.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any, ClassVar

from django_sitemaps_plus.engines.base import Answer, Batch, Engine, Outcome


@dataclass(frozen=True, kw_only=True)
class Post(Engine):
    """Tells the listener, in the form of IndexNow."""

    name: ClassVar[str] = "Listener"
    takes_urls: ClassVar[bool] = True
    max_urls: ClassVar[int] = 10_000

    port: int

    def submit(self, batch: Batch) -> Answer:
        """Post the URLs."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        host = batch.origin.partition("://")[2]
        body = json.dumps({"host": host, "urlList": list(batch.urls)})
        connection.request("POST", "/", body)
        status = connection.getresponse().status
        connection.close()
        return Answer(outcome=Outcome.ACCEPTED, status=status)


@contextmanager
def listening() -> Iterator[int]:
    """Run a listener; gives its port."""
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.listener"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    try:
        yield int(process.stdout.readline())
    finally:
        process.terminate()
        process.wait()


def told(port: int) -> dict[str, Any]:
    """Return what the listener was told: requests, URLs by host, the largest batch."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    connection.request("GET", "/")
    found: dict[str, Any] = json.loads(connection.getresponse().read())
    connection.close()
    return found


class Handler(BaseHTTPRequestHandler):
    """Counts."""

    seen: ClassVar[dict[str, Any]] = {"posts": 0, "largest": 0, "hosts": Counter()}
    urls: ClassVar[set[int]] = set()

    def do_POST(self) -> None:
        """Take URLs."""
        length = int(self.headers["Content-Length"])
        given = json.loads(self.rfile.read(length))
        self.seen["posts"] += 1
        self.seen["largest"] = max(self.seen["largest"], len(given["urlList"]))
        self.seen["hosts"][given["host"]] += len(given["urlList"])
        self.urls.update(map(hash, given["urlList"]))
        self._answer(b"")

    def do_GET(self) -> None:
        """Say what was told."""
        self._answer(json.dumps({**self.seen, "different": len(self.urls)}).encode())

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""


if __name__ == "__main__":
    server = HTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
