"""
HTTP for engines: one request, one answer.

Redirects are not followed and proxies are not used. The timeout is that of the whole
request, from the name to the last byte, and at most ``limit`` bytes of a body are read.
Errors name the host, but no path or query: these may contain a key.
"""

from __future__ import annotations

import contextlib
import json
import logging
import re
import socket
import ssl
import threading
import time
from collections.abc import Collection, Iterator, Mapping
from concurrent.futures import Future
from contextvars import ContextVar
from dataclasses import dataclass
from http.client import HTTPException
from importlib import metadata
from typing import Any, Literal, TypeAlias

from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.exceptions import HTTPError
from urllib3.response import HTTPResponse
from urllib3.util import Retry

from django_sitemaps_plus.protocol.markup import parts

from .addresses import Target, is_private
from .base import OURS, NoThread, Outcome, TransportError

#: The most bytes of a body that are read by default.
_LIMIT = 65_536
#: The longest ``Retry-After`` that is believed, in seconds: a day.
MAX_RETRY_AFTER = 86_400
#: The header of every request.
USER_AGENT = OURS
with contextlib.suppress(metadata.PackageNotFoundError):  # in a plain source tree
    USER_AGENT += f"/{metadata.version('django-sitemaps-plus')}"

#: What a web page may begin with.
_PAGE = frozenset(
    ["!doctype", "html", "head", "title", "meta", "script", "body", "form"]
)
#: What no text has; in UTF-16 every other byte of a tag is one.
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")

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
    #: From when until when the certificate is valid, in seconds since the epoch; None
    #: without TLS.
    valid: tuple[float, float] | None = None

    @property
    def text(self) -> str:
        """The body as text; invalid UTF-8 is replaced."""
        return self.body.decode("utf-8", "replace")

    @property
    def json(self) -> object:
        """The body as JSON; None if it is not JSON."""
        try:
            said: object = json.loads(self.body)
        except (ValueError, RecursionError):
            return None
        return said

    @property
    def json_object(self) -> dict[str, Any]:
        """The JSON object in the body; empty if there is none."""
        said = self.json
        return said if isinstance(said, dict) else {}

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
        """Whether the status is from 200 to 299, except 206: a part of something."""
        return 200 <= self.status < 300 and self.status != 206

    @property
    def is_readable(self) -> bool:
        """Whether the body is text, and not encoded, which no request allows."""
        encoding = self.headers.get("content-encoding", "").strip().lower()
        is_encoded = encoding not in ("", "identity")
        return not self.body or not (is_encoded or _CONTROL.search(self.body))

    @property
    def is_html(self) -> bool:
        """Whether the body is a web page."""
        kind = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        is_said = kind in ("text/html", "application/xhtml+xml")
        text = self.text.lstrip("\ufeff \t\r\n")
        tags = (one.tag for one in parts(text) if one.tag or one.text.strip())
        return (is_said and text.startswith("<")) or next(tags, "") in _PAGE

    @property
    def is_login(self) -> bool:
        """Whether the body is a web page that asks for a password."""
        return self.is_html and any(
            one.attributes.get("type", "").lower() == "password"
            for one in parts(self.text)
            if one.tag == "input"
        )


def send(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes | None = None,
    document: object = None,
    timeout: float = 10.0,
    limit: int = _LIMIT,
    plain: bool = False,
    public: bool = False,
    family: str = "",
) -> Response:
    """
    Send a request and return the answer, whatever its status.

    ``document`` is sent as JSON in place of ``body``. The whole may take ``timeout``
    seconds. ``plain`` allows http to other hosts than this one; ``public`` refuses
    private addresses. ``family`` is "IPv4" or "IPv6"; empty: any address.

    Raises:
        TransportError: There is no answer.
        NoThread: This process is ending; nothing was sent.
    """
    try:
        target = Target.parse(url, plain=plain)
    except ValueError as error:
        raise TransportError("url", f"The URL {error}.") from error
    clock = _Clock(target.authority, timeout)
    sent = {"Host": target.authority, "User-Agent": USER_AGENT, "Connection": "close"}
    if document is not None:
        sent["Content-Type"], body = "application/json", json.dumps(document).encode()
    sent.update(headers or {})
    raw = {"preload_content": False, "decode_content": False}
    connection = _connect(target, clock, public, family)
    valid = _validity(connection.sock)
    with contextlib.closing(connection), clock.alarm(connection.sock):
        # A server may answer and hang up before it has read everything.
        hung_up = contextlib.suppress(BrokenPipeError, ConnectionResetError)
        with clock.stage("request", "did not read the request"), hung_up:
            connection.request(method, target.path, body, sent, **raw)
        with clock.stage("answer", "did not answer"):
            response = connection.getresponse()
        data, flaw = _read(response, limit, clock)
    # Of a header that is sent twice, both values.
    joined = {name.lower(): response.headers[name] for name in response.headers}
    return Response(
        status=response.status, headers=joined, body=data, flaw=flaw, valid=valid
    )


def families(host: str, timeout: float = 5.0) -> list[str]:
    """
    Return which of "IPv4" and "IPv6" a host has an address of.

    Raises ``TransportError`` for a name that cannot be resolved.
    """
    with _Clock(host, timeout).stage("name", "could not be resolved"):
        return sorted({_family(one) for one in _resolve(host, timeout)})


def _family(address: str) -> str:
    return "IPv6" if ":" in address else "IPv4"


class _Clock:
    """The time limit of a request, and the messages of its failures."""

    def __init__(self, where: str, timeout: float) -> None:
        self._where, self._timeout = where, timeout
        self._end = time.monotonic() + timeout

    @property
    def left(self) -> float:
        """The seconds that are left; never 0, which sockets take for another mode."""
        return max(self._end - time.monotonic(), 0.001)

    @contextlib.contextmanager
    def stage(self, name: str, failed: str) -> Iterator[None]:
        """Turn the errors of a stage into a TransportError."""
        token = _is_ours.set(True)
        failure: Exception | None = None
        try:
            yield
        except (HTTPError, HTTPException, OSError, ValueError) as error:
            failure = error
        finally:
            _is_ours.reset(token)
        if failure and name == "connection" and failure.__cause__ is None:
            # urllib3 wraps all other errors while connecting.
            name, failed = "tls", "did not finish the TLS handshake"
        cause = failure and (failure.__cause__ or failure)
        if time.monotonic() >= self._end or isinstance(cause, TimeoutError):
            why = f" within {self._timeout:.3g} s"
        elif cause:
            why = _why(cause)
        else:
            return
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

        sock.settimeout(self.left)
        timer = threading.Timer(self.left, shut)
        _start(timer)
        try:
            yield
        finally:
            timer.cancel()
            timer.join()
            with contextlib.suppress(OSError):  # if it is closed already
                socket.close(sock.detach())


#: What a reason of OpenSSL means.
_TLS = {
    "TLSV1_ALERT_PROTOCOL_VERSION": "it only offers TLS 1.1 or older",
    "UNSUPPORTED_PROTOCOL": "it only offers TLS 1.1 or older",
    "WRONG_VERSION_NUMBER": "it does not speak TLS at this port",
}


def _why(cause: BaseException) -> str:
    if not isinstance(cause, (OSError, UnicodeError)):
        return ": malformed or incomplete HTTP"  # its own text may quote a secret
    names = ("verify_message", "reason", "strerror")
    reasons = filter(None, (getattr(cause, name, None) for name in names))
    why = str(next(reasons, cause)).rstrip(".")
    if isinstance(cause, ssl.SSLError) and why.isupper():
        # OpenSSL's own name of it.
        why = _TLS.get(why, why.replace("_", " ").lower())
    return f": {why}"


def _validity(sock: socket.socket) -> tuple[float, float] | None:
    """Return from when until when the server's certificate is valid."""
    if not isinstance(sock, ssl.SSLSocket):
        return None
    certificate: Any = sock.getpeercert()
    since, until = certificate["notBefore"], certificate["notAfter"]
    return ssl.cert_time_to_seconds(since), ssl.cert_time_to_seconds(until)


def _connect(
    target: Target, clock: _Clock, public: bool, family: str
) -> HTTPConnection:
    """Connect to a host's first address that accepts it, or to none if private."""
    with clock.stage("name", "could not be resolved"):
        addresses = _resolve(target.host, clock.left)
        if family:
            addresses = [one for one in addresses if _family(one) == family]
        if not addresses:
            raise OSError(f"no {family} address")
    for address in addresses if public else ():
        if is_private(address):
            shown = "" if address == target.host else f" ({address})"
            msg = f"{target.host}{shown} is not a public address."
            raise TransportError("private", msg)
    connect: type[HTTPConnection] = HTTPConnection
    options: dict[str, Any] = {}
    if target.scheme == "https":
        connect, options["server_hostname"] = HTTPSConnection, target.host
        options["ssl_context"] = ssl.create_default_context()
    for address in addresses:
        connection = connect(address, target.port, **options)
        # Half of the time for each address but the last: the next one may work.
        connection.timeout = clock.left * (1.0 if address == addresses[-1] else 0.5)
        try:
            with clock.stage("connection", "did not accept a connection"):
                connection.connect()
            return connection
        except TransportError as error:
            connection.close()
            failure = error
    raise failure


def _resolve(host: str, seconds: float) -> list[str]:
    """Resolve a name on a thread of its own: getaddrinfo() has no timeout."""
    addresses: Future[list[str]] = Future()

    def look_up() -> None:
        try:
            infos = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            addresses.set_result([str(info[4][0]) for info in infos])
        except Exception as error:
            addresses.set_exception(error)

    _start(threading.Thread(target=look_up))
    return addresses.result(seconds)


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


# What answers mean
#
# A status alone proves nothing: firewalls, logins and parked domains answer 200, and
# proxies answer 400. So ``explained()`` believes a success, or a refusal for good, only
# with the body that the protocol promises.

#: Whether a body is what the protocol promises; where it promises none, what a success
#: may have besides nothing: JSON, any text, or also a web page.
Promised: TypeAlias = bool | Literal["JSON", "text", "page"]

#: Names under which JSON says whether it succeeded, or has a status of its own.
_SUCCESS = re.compile("(?:is_?)?(?:ok|success(?:ful)?|succeeded)")
_RESULTS = ("result", "accepted", "d")
_CODE = re.compile("(?:http_?)?(?:status_?)?code|status")
#: The HTTP statuses that say that something failed.
_REFUSED = re.compile("[45][0-9]{2}")
#: Values that say that there is no success, or no error.
_FALSE = frozenset(["", "0", "no", "none", "null", "nil", "false"])
_NOTHING = _FALSE | {"ok", "success"}
#: What can be counted, so that a text may say that there is none of it.
_COUNTED = (
    r"(?:\berr\b|err(?:or|s\b|no|code|msg)|fail|(?<![a-z])fault|exception|invalid|refused"
    r"|rejected|denied|blocked|forbidden|unauthor)\w{0,20}+"
)
#: What names an error in a text, and in a name within JSON or XML.
_ERROR = re.compile(
    rf"{_COUNTED}|not authori|authentication|credential|not allowed|not found"
    r"|unavailable|login|log in|no permission|\bexpired|throttled|too many requests"
)
_ERROR_NAME = re.compile(r"\berr|error|fail|\bfault|exception")
#: "no errors", "0 URLs rejected"
_NONE_OF = re.compile(
    rf"(?<![\w.,-])(?:no|0|zero|without)\s++(?:(?:any|urls?|was|were)\s++){{0,2}}+{_COUNTED}"
)
#: Between a name and its value, in "errors: 0", in XML and in XML-RPC. It has an end:
#: else each of many names would read all that follow.
_IS = r"[\"']?+(?:\s++|[:=>]|<\w[^<>]{0,99}+>){1,9}+"
#: "errors: []", "error=none, …", "errors: 0 accepted: 5", and the same of no success.
_IS_NOTHING = re.compile(
    rf"{_COUNTED}{_IS}"
    r"(?:[\"']?(?:0|no|none|null|nil|false)[\"']?|\"\"|''|\[\s*+\]|\{\s*+\})"
    r"(?=[^\S\n]*+(?:$|[\n,;!)\]}<|&]|\.(?!\w)|[\w-]++[\"']?\s*+[:=]))"
)
_NO_SUCCESS = re.compile(rf"\bsuccess(?:ful)?{_IS}[\"']?(?:0|no|false)\b")
#: What names nothing: closing tags, and URLs with whatever is in them.
_UNREAD = re.compile(r"</[^<>]*+>|https?://[^\s<>\"'\\]*+")
#: Too large: it may come from a proxy, whose page is as good as the engine's own.
_TOO_LARGE = 413


def explained(
    response: Response,
    name: str,
    what: str,
    *,
    code: str = "",
    option: str = "endpoint",
    proof: str = "",
    rejected: Collection[int] = (400, _TOO_LARGE, 422),
    promised: Promised = "text",
) -> tuple[Outcome, str]:
    """
    Return what a response means by its status, and the sentence that says it.

    ``what`` was sent to ``name``, at the address that ``option`` has, and proved by the
    option ``proof``. ``code`` is what the engine itself calls an error. ``promised`` is
    whether the body is what the protocol promises with this status. Where it promises
    none: "JSON", "text" or "page" (also a web page), which a success may have, and
    nothing that names an error.
    """
    status = response.status
    shown = f"{status} {code}".strip()
    if response.is_success or (status in rejected and status != _TOO_LARGE):
        doubt = _doubt(response, shown, option, promised)
        if doubt:
            return Outcome.UNAVAILABLE, f"{name} {doubt}"
    if response.is_success:
        return Outcome.ACCEPTED, f"{name} accepted {what}."
    if status == 429:
        return Outcome.THROTTLED, f"{name} asks for fewer requests ({shown})."
    if status in rejected:
        return Outcome.REJECTED, f"{name} rejects {what} ({shown})."
    if status in (401, 403) and proof and response.is_html:
        problem = (
            f"answers with a web page ({shown}), perhaps a firewall's: check "
            f"{option!r} and {proof!r}."
        )
    elif status in (401, 403) and proof:
        problem = f"rejects the {proof} ({shown}): check {proof!r}."
    elif 300 <= status < 400:
        problem = f"answers with a redirect ({shown}): check {option!r}."
    elif status in (404, 405, 410):
        problem = f"does not take {what} at this address ({shown}): check {option!r}."
    elif status == 206:
        problem = f"answers with a part ({shown}): check {option!r}."
    elif status >= 500:
        problem = f"has an internal error ({shown})."
    else:
        problem = f"refuses the request ({shown})."
    return Outcome.UNAVAILABLE, f"{name} {problem}"


def _doubt(response: Response, shown: str, option: str, promised: Promised) -> str:
    """Return why an answer is not the engine's word; empty if it may be."""
    if response.flaw:
        return f"answers ({shown}), but not to the end. {response.flaw}"
    is_open = isinstance(promised, str) and response.is_success
    if response.is_login:
        problem = "with a login page"
    elif response.is_html and promised != "page":
        problem = "with a web page"
    elif not response.is_readable:
        problem = "with something that is not text"
    elif promised is False or (is_open and not _is_taken(response, promised)):
        problem = "not as its protocol says"
    elif is_open and _names_error(response):
        problem = "with an error"
    else:
        return ""
    return f"answers {problem} ({shown}): check {option!r}."


def _is_taken(response: Response, takes: Promised) -> bool:
    """Return whether a body is nothing, JSON or, unless only that is taken, a text."""
    text = response.text.strip()
    must_be = bool(text) if takes == "JSON" else text.startswith(("{", "["))
    return not must_be or response.json is not None


def _names_error(response: Response) -> bool:
    """Return whether a text, or what JSON has at its top, names an error."""
    if response.is_html:
        return False  # where a web page is taken
    said = response.json
    if isinstance(said, str):
        return _has_error(said)
    if not isinstance(said, (dict, list)):
        return said is False or _has_error(response.text)
    # What is deeper may repeat what was sent.
    top = said if isinstance(said, list) else [said, *said.values()]
    return any(
        _is_error(one) if isinstance(one, dict) else _has_error(one) for one in top
    )


def _is_error(said: Mapping[str, object]) -> bool:
    """Return whether an object within JSON says of itself that it is an error."""
    given = {name.lower(): value for name, value in said.items()}
    is_none_taken = _is_nothing(given.get("accepted", 1), _FALSE)
    return (is_none_taken and not _is_nothing(given.get("rejected"), _FALSE)) or any(
        (_SUCCESS.fullmatch(name) and _is_nothing(value, _FALSE))
        or (name in _RESULTS and str(value).lower() == "false")
        or (_CODE.fullmatch(name) and _REFUSED.fullmatch(str(value)))
        or (_ERROR_NAME.search(name) and not _is_nothing(value, _NOTHING))
        or _has_error(value)
        for name, value in given.items()
    )


def _is_nothing(value: object, words: Collection[str]) -> bool:
    """Return whether a value within JSON says that there is none, or of none."""
    return value.strip().lower() in words if isinstance(value, str) else not value


def _has_error(said: object) -> bool:
    """Return whether a text names an error; that there is none names none."""
    if not isinstance(said, str):
        return False
    text = _UNREAD.sub("", said.lower())
    named = _IS_NOTHING.sub(" ", _NONE_OF.sub("none", text))
    return bool(_NO_SUCCESS.search(text) or _ERROR.search(named))
