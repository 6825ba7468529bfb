"""
The one way to the network: one request, one answer, nothing followed, nothing endless.

Every stage (the name, the connection, TLS, the request, the answer) may take
``timeout`` seconds and all together ``total``; redirects are answers; a body is cut at
``limit`` bytes. What goes wrong becomes a sentence that has the host in it and no path,
because paths and queries hold keys.
"""

from __future__ import annotations

import contextlib
import email.utils
import http.client
import logging
import queue
import re
import socket
import ssl
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib import metadata

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError, ReadTimeoutError
from urllib3.response import HTTPResponse

from .addresses import Target, is_private
from .errors import TransportError

#: Bytes of a body that are read: no answer worth reading is longer.
LIMIT = 65_536
#: The most seconds that ``Retry-After`` is believed: a day.
MAX_RETRY_AFTER = 86_400.0

_SECONDS = re.compile(r"[0-9]+")


def _user_agent() -> str:
    try:
        return f"django-sitemaps-plus/{metadata.version('django-sitemaps-plus')}"
    except metadata.PackageNotFoundError:  # a source tree that was not installed
        return "django-sitemaps-plus"


#: What every request calls itself.
USER_AGENT = _user_agent()


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What came back."""

    status: int
    #: By lower-case name.
    headers: Mapping[str, str]
    #: At most ``limit`` bytes, as they came.
    body: bytes
    #: Why the body is not whole; empty if it is.
    flaw: str = ""

    @property
    def text(self) -> str:
        """The body as text; what is no UTF-8 is replaced."""
        return self.body.decode("utf-8", "replace")

    @property
    def retry_after(self) -> float | None:
        """Seconds after which to come back; None if the answer does not say."""
        return retry_after(self.headers.get("retry-after"), time.time())

    @property
    def is_success(self) -> bool:
        """Whether the status is one of 200 to 299."""
        return 200 <= self.status < 300

    @property
    def is_html(self) -> bool:
        """Whether it is a page for people."""
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
    Send one request and return the answer, whatever its status.

    ``timeout`` is the seconds of each stage, ``total`` of all together (three times
    as many without it). ``plain`` allows http to other hosts than this one, ``public``
    refuses hosts with private addresses.

    Raises:
        TransportError: There is no answer.
    """
    clock = _Clock(timeout, 3 * timeout if total is None else total)
    target = _target(url, plain)
    addresses = _addresses(target, clock, public)
    connection = _connect(target, addresses, clock)
    with contextlib.closing(connection), _end(connection, clock):
        _ask(connection, method, target, headers or {}, body, clock)
        response = _receive(connection, target, clock)
        data, flaw = _read(response, target, limit, clock)
    known = {name.lower(): value for name, value in response.headers.items()}
    return Response(status=response.status, headers=known, body=data, flaw=flaw)


def retry_after(value: str | None, now: float) -> float | None:
    """
    Read ``Retry-After``: seconds or a date (RFC 9110, section 10.2.3).

    ``now`` is a Unix time. What is in the past is 0, what is absurd a day, and what
    cannot be read None.
    """
    text = (value or "").strip()
    if _SECONDS.fullmatch(text):
        # No number of so many digits is worth counting, or could be.
        return MAX_RETRY_AFTER if len(text) > 9 else min(float(text), MAX_RETRY_AFTER)
    try:
        when = email.utils.parsedate_to_datetime(text)
        aware = when if when.tzinfo else when.replace(tzinfo=UTC)
        seconds = (aware - datetime.fromtimestamp(now, UTC)).total_seconds()
    except (ValueError, TypeError, IndexError, OverflowError):
        return None
    return min(max(seconds, 0.0), MAX_RETRY_AFTER)


class _Clock:
    """Seconds that are left."""

    def __init__(self, timeout: float, total: float) -> None:
        self._timeout = timeout
        self.end = time.monotonic() + total
        self.total = total

    @property
    def left(self) -> float:
        return max(self.end - time.monotonic(), 0.001)

    @property
    def stage(self) -> float:
        return min(self._timeout, self.left)

    @property
    def is_over(self) -> bool:
        return time.monotonic() >= self.end


def _target(url: str, plain: bool) -> Target:
    try:
        target = Target.parse(url)
    except ValueError as error:
        raise TransportError("url", f"The address {error}.") from error
    if target.scheme == "http" and not plain and not target.is_loopback:
        msg = f"Nothing is sent to {target.authority} over plain http."
        raise TransportError("url", msg)
    return target


def _addresses(target: Target, clock: _Clock, public: bool) -> list[str]:
    """Return the addresses of a host; the connection is made to one of these."""
    found = _resolve(target, clock)
    for address in found if public else ():
        if is_private(address):
            where = "" if address == target.host else f" is {address} here, which"
            msg = f"{target.host}{where} is no public address."
            raise TransportError("name", msg)
    return found


def _resolve(target: Target, clock: _Clock) -> list[str]:
    """Ask the system's resolver, which knows no time-out, on a thread of its own."""
    answers: queue.SimpleQueue[list[str] | OSError | UnicodeError] = queue.SimpleQueue()

    def look_up() -> None:
        try:
            found = socket.getaddrinfo(target.host, None, type=socket.SOCK_STREAM)
            answers.put(list(dict.fromkeys(str(info[4][0]) for info in found)))
        except (OSError, UnicodeError) as error:
            answers.put(error)

    threading.Thread(target=look_up, daemon=True).start()
    seconds = clock.stage
    try:
        answer = answers.get(timeout=seconds)
    except queue.Empty:
        msg = f"Looking up the name {target.host} took more than {seconds:.3g} s."
        raise TransportError("name", msg) from None
    if isinstance(answer, (OSError, UnicodeError)):
        reason = answer.strerror if isinstance(answer, OSError) else answer
        msg = f"The name {target.host} cannot be resolved here: {reason}."
        raise TransportError("name", msg) from answer
    return answer


def _connect(target: Target, addresses: list[str], clock: _Clock) -> HTTPConnection:
    """Return a connection to the first address that accepts one."""
    *others, last = addresses
    for address in others:
        with contextlib.suppress(TransportError):
            return _open(target, address, clock)
    return _open(target, last, clock)


def _open(target: Target, address: str, clock: _Clock) -> HTTPConnection:
    seconds = clock.stage
    if target.scheme == "https":
        connection: HTTPConnection = HTTPSConnection(
            address,
            target.port,
            timeout=seconds,
            ssl_context=ssl.create_default_context(),
            server_hostname=target.host,
        )
    else:
        connection = HTTPConnection(address, target.port, timeout=seconds)
    try:
        connection.connect()
    except (HTTPError, OSError) as error:
        connection.close()
        raise _unreachable(target, error, seconds) from error
    return connection


def _unreachable(
    target: Target, error: HTTPError | OSError, seconds: float
) -> TransportError:
    where = f"{target.host}:{target.port}"
    if isinstance(error, TimeoutError):  # urllib3 has words of its own for connecting
        msg = f"{where} did not finish the TLS handshake within {seconds:.3g} s."
        return TransportError("tls", msg)
    if isinstance(error, ssl.SSLCertVerificationError):
        msg = f"The certificate of {where} is not valid: {error.verify_message}."
        return TransportError("tls", msg)
    cause = error.__cause__ if isinstance(error, HTTPError) else None
    if isinstance(cause, TimeoutError):
        msg = f"{where} did not accept a connection within {seconds:.3g} s."
    elif isinstance(cause, ConnectionRefusedError):
        msg = f"{where} refuses connections."
    elif isinstance(cause, OSError):
        msg = f"{where} cannot be reached: {cause.strerror or cause}."
    else:
        reason = getattr(error, "reason", None) or "the connection was closed"
        return TransportError("tls", f"TLS with {where} failed: {reason}.")
    return TransportError("connection", msg)


@contextlib.contextmanager
def _end(connection: HTTPConnection, clock: _Clock) -> Iterator[None]:
    """
    Shut the connection when the time is over.

    Time-outs of sockets begin anew with every byte, so that an answer of one byte a
    second would never end.
    """
    sock = connection.sock

    def shut() -> None:
        with contextlib.suppress(OSError):
            # Not SSLSocket's, which takes TLS away from under a read.
            socket.socket.shutdown(sock, socket.SHUT_RDWR)

    timer = threading.Timer(clock.left, shut)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _ask(
    connection: HTTPConnection,
    method: str,
    target: Target,
    headers: Mapping[str, str],
    body: bytes | None,
    clock: _Clock,
) -> None:
    seconds = clock.stage
    connection.sock.settimeout(seconds)
    own = {"Host": target.authority, "User-Agent": USER_AGENT, "Connection": "close"}
    try:
        connection.request(
            method,
            target.path,
            body=body,
            headers={**own, **headers},
            preload_content=False,
            decode_content=False,
        )
    except (BrokenPipeError, ConnectionResetError):
        # It has heard enough; its answer may be there.
        return
    except TimeoutError as error:
        msg = f"{target.authority} did not take the request within {seconds:.3g} s."
        raise TransportError("request", msg) from error
    except (OSError, http.client.HTTPException) as error:
        raise _broken("request", target, clock) from error


def _receive(connection: HTTPConnection, target: Target, clock: _Clock) -> HTTPResponse:
    seconds = connection.timeout = clock.stage
    try:
        with _no_url_in_logs():
            response = connection.getresponse()
    except TimeoutError as error:
        msg = f"{target.authority} did not answer within {seconds:.3g} s."
        raise TransportError("answer", msg) from error
    except http.client.RemoteDisconnected as error:
        raise _broken("answer", target, clock) from error
    except http.client.HTTPException as error:
        if clock.is_over:
            raise _broken("answer", target, clock) from error
        msg = f"What {target.authority} answers is not HTTP."
        raise TransportError("answer", msg) from error
    except OSError as error:
        raise _broken("answer", target, clock) from error
    if clock.is_over:
        # Headers that come to no end are cut where we shut the connection, which looks
        # as if they ended there.
        response.close()
        raise _broken("answer", target, clock)
    return response


def _broken(stage: str, target: Target, clock: _Clock) -> TransportError:
    if clock.is_over:
        msg = f"{target.authority} was too slow: more than {clock.total:.3g} s in all."
    else:
        msg = f"{target.authority} closed the connection without an answer."
    return TransportError(stage, msg)


@contextlib.contextmanager
def _no_url_in_logs() -> Iterator[None]:
    """Keep urllib3 from logging the URL, secrets included, of malformed headers."""
    thread = threading.get_ident()

    def is_of_another(record: logging.LogRecord) -> bool:
        return record.thread != thread

    logger = logging.getLogger("urllib3.connection")
    logger.addFilter(is_of_another)
    try:
        yield
    finally:
        logger.removeFilter(is_of_another)


def _read(
    response: HTTPResponse, target: Target, limit: int, clock: _Clock
) -> tuple[bytes, str]:
    """Return the body, and why it is not whole; the status counts all the same."""
    chunks: list[bytes] = []
    size = 0
    try:
        while size <= limit:
            # One byte over the limit tells whether there is more.
            chunk = response.read1(limit + 1 - size)
            if not chunk:
                break
            chunks.append(chunk)
            size += len(chunk)
    except ReadTimeoutError:
        flaw = f"The answer of {target.authority} stopped in its middle."
    except (HTTPError, OSError, http.client.HTTPException, ValueError):
        flaw = f"{target.authority} closed the connection in the middle of its answer."
    else:
        flaw = f"The answer is longer than {limit:,} bytes." if size > limit else ""
    if clock.is_over:
        flaw = str(_broken("answer", target, clock))
    return b"".join(chunks)[:limit], flaw
