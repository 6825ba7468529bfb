"""
HTTP for engines: one request, one answer.

Redirects are not followed and proxies are not used. Each stage (name, connection, TLS,
request, answer) has a timeout and so has the whole, and at most ``limit`` bytes of a
body are read. Errors name the host, but no path or query: these may contain a key.
"""

from __future__ import annotations

import contextlib
import logging
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass
from http.client import HTTPException
from importlib import metadata
from typing import Any

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError
from urllib3.response import HTTPResponse
from urllib3.util import Retry

from .addresses import Target, is_private
from .errors import NoThread, TransportError

#: The most bytes of a body that are read by default.
LIMIT = 65_536
#: The longest ``Retry-After`` that is believed, in seconds: a day.
MAX_RETRY_AFTER = 86_400
#: The header of every request.
USER_AGENT = "django-sitemaps-plus"
with contextlib.suppress(metadata.PackageNotFoundError):  # in a plain source tree
    USER_AGENT += f"/{metadata.version('django-sitemaps-plus')}"

#: Whether urllib3 works for us: its warning of malformed headers contains the URL.
_is_ours = ContextVar("_is_ours", default=False)
logging.getLogger("urllib3.connection").addFilter(lambda record: not _is_ours.get())


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """The answer to a request."""

    status: int
    #: By lower-case name.
    headers: Mapping[str, str]
    #: At most ``limit`` bytes, not decompressed.
    body: bytes
    #: Why the body is incomplete; empty if it is complete.
    flaw: str = ""

    @property
    def text(self) -> str:
        """The body as text; invalid UTF-8 is replaced."""
        return self.body.decode("utf-8", "replace")

    @property
    def retry_after(self) -> float | None:
        """The seconds of ``Retry-After``, a number or a date; None without it."""
        retry = Retry()
        retry.retry_after_max = MAX_RETRY_AFTER  # not an argument in all versions
        try:
            seconds = retry.parse_retry_after(self.headers.get("retry-after", ""))
        except (HTTPError, ArithmeticError, LookupError, TypeError, ValueError):
            return None
        return float(min(seconds, MAX_RETRY_AFTER))

    @property
    def is_success(self) -> bool:
        """Whether the status is one of 200 to 299."""
        return 200 <= self.status < 300

    @property
    def is_html(self) -> bool:
        """Whether the body is a web page."""
        start = self.text.lstrip("\ufeff \t\r\n")[:15].lower()
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        return start.startswith(("<!doctype html", "<html")) or (
            kind in ("text/html", "application/xhtml+xml") and start.startswith("<")
        )


def send(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    timeout: float = 10.0,
    total: float | None = None,
    limit: int = LIMIT,
    plain: bool = False,
    public: bool = False,
) -> Response:
    """
    Send a request and return the answer, whatever its status.

    Each stage may take ``timeout`` seconds and all of them ``total``, by default three
    times as many. ``plain`` allows http to other hosts than this one; ``public``
    refuses private addresses.

    Raises:
        TransportError: There is no answer.
        NoThread: This process is ending; nothing was sent.
    """
    try:
        target = Target.parse(url, plain=plain)
    except ValueError as error:
        raise TransportError("url", f"The URL {error}.") from error
    clock = _Clock(target.authority, timeout, 3 * timeout if total is None else total)
    sent = {"Host": target.authority, "User-Agent": USER_AGENT, "Connection": "close"}
    sent.update(headers or {})
    raw = {"preload_content": False, "decode_content": False}
    connection = _connect(target, clock, public)
    with contextlib.closing(connection), clock.alarm(connection.sock):
        # A server may answer and hang up before it has read everything.
        hung_up = contextlib.suppress(BrokenPipeError, ConnectionResetError)
        with clock.stage("request", "did not read the request"), hung_up:
            connection.request(method, target.path, body, sent, **raw)
        with clock.stage("answer", "did not answer"):
            response = connection.getresponse()
        data, flaw = _read(response, limit, clock)
    known = {name.lower(): value for name, value in response.headers.items()}
    return Response(status=response.status, headers=known, body=data, flaw=flaw)


class _Clock:
    """The time limits of a request, and the messages of its failures."""

    def __init__(self, where: str, timeout: float, total: float) -> None:
        self._where, self._timeout, self._total = where, timeout, total
        self._end = time.monotonic() + total

    @contextlib.contextmanager
    def stage(self, name: str, failed: str) -> Iterator[float]:
        """Yield the seconds of a stage; turn its errors into a TransportError."""
        seconds = min(self._timeout, max(self._end - time.monotonic(), 0.001))
        token = _is_ours.set(True)
        failure: Exception | None = None
        try:
            yield seconds
        except (HTTPError, HTTPException, OSError, ValueError) as error:
            failure = error
        finally:
            _is_ours.reset(token)
        if time.monotonic() >= self._end:
            msg = f"{self._where} was too slow: more than {self._total:.3g} s in all."
            raise TransportError(name, msg) from failure
        if failure:
            if name == "connection" and failure.__cause__ is None:
                # urllib3 wraps all other errors while connecting.
                name, failed = "tls", "did not finish the TLS handshake"
            why = _why(failure.__cause__ or failure, seconds)
            raise TransportError(name, f"{self._where} {failed}{why}.") from failure

    @contextlib.contextmanager
    def alarm(self, sock: socket.socket) -> Iterator[None]:
        """
        Shut a socket down when the time is over, and close it in any case.

        A socket's own timeout starts again with every byte, so that it never ends an
        answer of one byte a second.
        """

        def shut() -> None:
            with contextlib.suppress(OSError):
                # SSLSocket's method would take TLS away from a read in progress.
                socket.socket.shutdown(sock, socket.SHUT_RDWR)

        timer = threading.Timer(self._end - time.monotonic(), shut)
        _start(timer)
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
            with contextlib.suppress(OSError):  # if it is closed already
                socket.close(sock.detach())


def _why(cause: BaseException, seconds: float) -> str:
    if isinstance(cause, TimeoutError):
        return f" within {seconds:.3g} s"
    if not isinstance(cause, (OSError, UnicodeError)):
        return ": malformed or incomplete HTTP"  # its own text may quote a secret
    names = ("verify_message", "reason", "strerror")
    reasons = filter(None, (getattr(cause, name, None) for name in names))
    return f": {next(reasons, cause)}"


def _connect(target: Target, clock: _Clock, public: bool) -> HTTPConnection:
    """Connect to a host's first address that accepts it, or to none if private."""
    with clock.stage("name", "could not be resolved") as seconds:
        addresses = _resolve(target.host, seconds)
    for address in addresses if public else ():
        if is_private(address):
            shown = "" if address == target.host else f" ({address})"
            msg = f"{target.host}{shown} is not a public address."
            raise TransportError("name", msg)
    connect: type[HTTPConnection] = HTTPConnection
    options: dict[str, Any] = {}
    if target.scheme == "https":
        connect, options["server_hostname"] = HTTPSConnection, target.host
        options["ssl_context"] = ssl.create_default_context()
    for address in addresses:
        connection = connect(address, target.port, **options)
        stage = clock.stage("connection", "did not accept a connection")
        try:
            with stage as connection.timeout:
                connection.connect()
            return connection
        except TransportError as error:
            connection.close()
            failure = error
    raise failure


def _resolve(host: str, seconds: float) -> list[str]:
    """Resolve a name on a thread of its own: getaddrinfo() has no timeout."""
    found: Future[list[str]] = Future()

    def look_up() -> None:
        try:
            infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            found.set_result([str(info[4][0]) for info in infos])
        except Exception as error:
            found.set_exception(error)

    _start(threading.Thread(target=look_up))
    return found.result(seconds)


def _start(thread: threading.Thread) -> None:
    """Start a thread that does not keep the process alive."""
    thread.daemon = True
    try:
        thread.start()
    except RuntimeError as error:
        raise NoThread(str(error)) from error


def _read(response: HTTPResponse, limit: int, clock: _Clock) -> tuple[bytes, str]:
    """Return the body and why it is incomplete, which does not void the status."""
    body = bytearray()
    try:
        with clock.stage("body", "did not finish its answer"):
            # One byte more than the limit, to see whether it is exceeded.
            while chunk := response.read1(limit + 1 - len(body)):
                body += chunk
    except TransportError as error:
        return bytes(body[:limit]), str(error)
    flaw = f"The answer is longer than {limit:,} bytes." if len(body) > limit else ""
    return bytes(body[:limit]), flaw
