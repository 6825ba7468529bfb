"""An HTTP server on loopback that records requests and fails on demand."""

from __future__ import annotations

import contextlib
import http.client
import ssl
import sys
import threading
import urllib.parse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

from tests.support.fakes.faults import Fault, Reply


@dataclass(frozen=True, kw_only=True)
class Request:
    """A request of a client."""

    method: str
    #: Path and query, undecoded.
    path: str
    #: By lower-case name.
    headers: Mapping[str, str]
    body: bytes

    @property
    def route(self) -> str:
        """The path without the query."""
        return self.path.partition("?")[0]

    @property
    def query(self) -> dict[str, list[str]]:
        """The parameters of the query."""
        return urllib.parse.parse_qs(self.path.partition("?")[2])


class FakeServer:
    """
    A server; subclasses answer the requests.

    ``fault`` replaces every answer, and each of ``faults`` one answer.

    ``resolve`` maps hosts to addresses (``{"www.example.com": "127.0.0.1:8000"}``) for
    what the server itself fetches; ``site`` is the origin of all other hosts.
    """

    def __init__(
        self,
        *,
        port: int = 0,
        tls: ssl.SSLContext | None = None,
        resolve: Mapping[str, str] | None = None,
        site: str | None = None,
    ) -> None:
        self._resolve, self._site = dict(resolve or {}), site
        self._jobs: list[threading.Thread] = []
        self.requests: list[Request] = []
        self.fault: Fault | None = None
        self.faults: list[Fault] = []
        self.stopped = threading.Event()
        self.lock = threading.RLock()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.fake = self
        self._tls = tls is not None
        if tls is not None:
            self._server.socket = tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.01}
        )

    @property
    def port(self) -> int:
        return int(self._server.server_port)

    @property
    def host(self) -> str:
        """Address and port."""
        return f"127.0.0.1:{self.port}"

    @property
    def origin(self) -> str:
        """Scheme, address and port."""
        return f"http{'s' if self._tls else ''}://{self.host}"

    def answer(self, request: Request) -> Reply:
        """Return the answer to a request."""
        return Reply()

    def fetch(self, url: str) -> tuple[int, bytes]:
        """
        GET a URL of the site under test as an engine does, without redirects.

        The status is 0 if there is no answer, or if the host is not on loopback.
        """
        parts = urllib.parse.urlsplit(url)
        host = parts.hostname or ""
        where = self._resolve.get(parts.netloc) or self._resolve.get(host)
        if where is None and self._site is not None:
            where = urllib.parse.urlsplit(self._site).netloc
        if where is None and host in ("127.0.0.1", "localhost"):
            where = parts.netloc
        if where is None:
            return 0, b""
        path = f"{parts.path or '/'}?{parts.query}".removesuffix("?")
        connection = http.client.HTTPConnection(where, timeout=5)
        with contextlib.closing(connection):
            try:
                connection.request("GET", path, headers={"Host": parts.netloc})
                answer = connection.getresponse()
                return answer.status, answer.read(60_000_000)
            except (OSError, http.client.HTTPException):
                return 0, b""

    def run(self, job: Callable[[], None]) -> None:
        """Start a job in the background."""
        thread = threading.Thread(target=job)
        thread.start()
        self._jobs.append(thread)

    def settle(self) -> None:
        """Wait for all background jobs."""
        for thread in list(self._jobs):
            thread.join()

    def start(self) -> Self:
        self._thread.start()
        return self

    def stop(self) -> None:
        """End everything that is slow, and close."""
        self.settle()
        if self.stopped.is_set():
            return
        self.stopped.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *exception: object) -> None:
        self.stop()


class _Server(ThreadingHTTPServer):
    daemon_threads = False  # so that closing waits for them
    request_queue_size = 64
    fake: FakeServer

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore clients that hang up or that do not trust the certificate."""
        if not isinstance(sys.exception(), OSError):
            super().handle_error(request, client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Server
    #: Seconds to wait for a client.
    timeout = 30

    def __getattr__(self, name: str) -> Any:
        """Answer every method."""
        if name.startswith("do_"):
            return self._serve
        raise AttributeError(name)

    def log_message(self, *args: Any) -> None:
        """Do not log: the requests are recorded."""

    def _serve(self) -> None:
        self.close_connection = True
        fake = self.server.fake
        with fake.lock:
            fault = fake.faults.pop(0) if fake.faults else fake.fault
        if fault is not None and fault.before(self):
            return
        length = int(self.headers.get("Content-Length") or 0)
        request = Request(
            method=self.command,
            path=self.path,
            headers={name.lower(): value for name, value in self.headers.items()},
            body=self.rfile.read(length),
        )
        with fake.lock:
            fake.requests.append(request)
        if fault is None or not fault.instead(self):
            self.reply(fake.answer(request))

    def reply(self, answer: Reply) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.send_header("Connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.write(answer.body)

    def wait(self, seconds: float) -> bool:
        return self.server.fake.stopped.wait(seconds)

    def write(self, data: bytes) -> bool:
        if self.server.fake.stopped.is_set():
            return False
        try:
            self.wfile.write(data)
            self.wfile.flush()
        except OSError:
            return False
        return True
