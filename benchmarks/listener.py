"""
An engine on loopback that speaks IndexNow, in a process of its own.

Run as a command it prints its port. It answers a POST of ``{"urlList": […]}`` with
200, a GET with what it received, as JSON, and forgets that after a DELETE.
"""

from __future__ import annotations

import http.client
import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

from django_sitemaps_plus.engines.indexnow import IndexNow


@dataclass(frozen=True, kw_only=True)
class Loopback(IndexNow):
    """IndexNow for a site that only exists on this machine."""

    def proof(self, host: str) -> str:
        """Ask for no proof: nobody can fetch this site's key file."""
        return ""


@dataclass
class Received:
    """What was submitted."""

    posts: int = 0
    largest: int = 0
    hosts: Counter[str] = field(default_factory=Counter)
    #: When each URL was first submitted.
    urls: dict[str, float] = field(default_factory=dict)
    #: The seconds between that and the second time, of those that had one.
    gaps: dict[str, float] = field(default_factory=dict)


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


def received(port: int) -> Received:
    """Return what the listener received."""
    return Received(**_ask(port, "GET"))


def forget(port: int) -> None:
    """Have the listener forget what it received."""
    _ask(port, "DELETE")


def _ask(port: int, method: str) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    connection.request(method, "/")
    found = json.loads(connection.getresponse().read())
    connection.close()
    return found


class Handler(BaseHTTPRequestHandler):
    """Receives and counts."""

    received = Received()

    def do_POST(self) -> None:
        """Take URLs."""
        now = time.time()
        given = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        urls, seen = given["urlList"], self.received
        seen.posts += 1
        seen.largest = max(seen.largest, len(urls))
        seen.hosts[given["host"]] += len(urls)
        for url in urls:
            if url in seen.urls:
                seen.gaps.setdefault(url, now - seen.urls[url])
            seen.urls.setdefault(url, now)
        self._answer({})

    def do_GET(self) -> None:
        """Tell what was received."""
        self._answer(vars(self.received))

    def do_DELETE(self) -> None:
        """Forget what was received."""
        Handler.received = Received()
        self._answer({})

    def _answer(self, document: Any) -> None:
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 (the name in the base class)
        """Log nothing."""


if __name__ == "__main__":
    server = HTTPServer(("127.0.0.1", 0), Handler)
    print(server.server_port, flush=True)
    server.serve_forever()
