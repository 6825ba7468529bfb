"""Locations: absolute URLs of RFC 3986, made from paths and IRIs (RFC 3987).

A page of a sitemap lists URLs of its own scheme and host only
(https://www.sitemaps.org/protocol.html#location), so that its locations are stored as
paths; images, videos and the pages of other languages may live elsewhere.
"""

from __future__ import annotations

import ipaddress
import re
import string
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

from .errors import LocationError, OutsideError
from .limits import MAX_LOCATION, MIN_LOCATION

#: Stands for the origin in bytes that are built once and served under several origins;
#: stamped by ``bytes.replace``. A control character, which no XML file may hold, so
#: that no data can look like it.
ORIGIN_MARK: Final = "\x1a"

# unreserved, sub-delims, ":", "@", "/" and "?": what a path and a query may hold
# beside %XX. https://www.rfc-editor.org/rfc/rfc3986#section-3.3
_PUNCTUATION: Final = "-._~!$&'()*+,;=:@/?%"
_LEGAL: Final = string.ascii_letters + string.digits + _PUNCTUATION.rstrip("%")
_CLASS: Final = re.escape(_LEGAL)
_PLAIN = re.compile(rf"/(?!/)(?:[{_CLASS}]++|%[0-9A-Fa-f]{{2}})*+")
_BARE_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")
_FORBIDDEN = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_ABSOLUTE = re.compile(r"(https?)://([^/?#]*)(.*)", re.IGNORECASE)
_AUTHORITY = re.compile(r"(\[[^\]]*\]|[^:]*)(?::([0-9]{0,5}))?")
_HOST = re.compile(r"(?:[a-z0-9_-]{1,63}\.)*[a-z0-9_-]{1,63}")
_DEFAULT_PORTS: Final = {"http": 80, "https": 443}

# Letters and joiners that IDNA 2003, which Python's codec speaks, maps away, and that
# IDNA 2008, which browsers speak, keeps: straße.example would be another host.
# https://www.rfc-editor.org/rfc/rfc5894#section-7.2
_DEVIATIONS = re.compile("[\u00df\u1e9e\u03c2\u200c\u200d]")

# For `plain`: what to delete to see whether anything illegal remains, and a coarser
# alphabet, in which each legal %XX reads "%hh".
_LEGAL_BYTES: Final = f"{_LEGAL}%\n".encode("ascii")
_HEX_SHAPE: Final = bytes(
    ord("h") if chr(code) in "0123456789ABCDEFabcdef" else code if code == 37 else 0
    for code in range(256)
)
_NO_PATH = re.compile(rb"\n(?!/(?!/))")

# A segment that whoever resolves a URL removes, with the one before it or without:
# https://www.rfc-editor.org/rfc/rfc3986#section-5.2.4. The lines of joined paths end.
_DOTS = re.compile(r"(?:\.|%2e){1,2}(?:[/?\n]|\Z)", re.IGNORECASE)
_DOT_SEGMENT = re.compile(rf"/{_DOTS.pattern}", re.IGNORECASE)
# What tells one visitor from another, by the names that servers and frameworks give it.
_SESSION = re.compile(
    r"[?&;](?:j?session[_-]?id|(?:php)?sessid|aspsessionid[a-z]*)=", re.IGNORECASE
)
#: What all of these names have in common, and what stands around them.
_SESSION_WORD, _SESSION_MARKS = "sess", "?&;"

# How many characters more a URL may be written in: a port with zeros, a host's case.
_SHRINKS: Final = 300
#: What fits behind the longest origin: "https://", 253 characters of host, ":65535".
ALWAYS_FITS: Final = MAX_LOCATION - 267


@dataclass(frozen=True, slots=True)
class Origin:
    """Scheme and host of a site, normalised; ``parse`` makes it from any text.

    ``host`` is lower-case ASCII (punycode) and includes the port unless it is the
    scheme's own.
    """

    scheme: str
    host: str

    def __str__(self) -> str:
        """Return the text before a path: ``https://www.example.com``."""
        return f"{self.scheme}://{self.host}"

    @classmethod
    def parse(cls, text: str) -> Origin:
        """Read ``https://Bücher.example:8443``; one slash may follow.

        Raises:
            LocationError: Not http(s), not a legal host, or there is more to it:
                credentials, a path, a query, a fragment.
        """
        origin, rest = _split(_clean(text))
        if rest != "/":
            raise LocationError.of("origin", text, "more than scheme and host")
        return origin

    def local_path(self, location: object) -> str:
        """Return path and query of a location, as a URI reference that begins with "/".

        Takes a path, or a URL whose host and scheme, if it has one, are the origin's.
        An IRI is percent-encoded; what is legal stays as it is.

        Raises:
            LocationError: No text, empty, neither a path nor a URL of this origin; with
                credentials, a fragment, control characters or lone surrogates;
                beginning with "//"; too long, or shorter than the schemas allow, behind
                the origin; or of no page of its own: with a dot segment or a session
                id.
        """
        refuse_long(location, len(self.scheme) + 3 + len(self.host))
        if isinstance(location, str) and _PLAIN.fullmatch(location):
            path: str = location
        else:
            path = quote(_own_path(_clean(location), self))
        _check_length(len(self.scheme) + 3 + len(self.host) + len(path), location)
        refuse_ambiguous(path)
        return path

    def absolute(self, location: object) -> str:
        """Return the absolute URL of something that may live on another host.

        A path is one of this origin, a URL of http or https is kept, and one without a
        scheme has that of this one; all come out as URIs (percent-encoded, punycode).

        Raises:
            LocationError: As ``local_path``, except for a foreign host.
        """
        if isinstance(location, str):
            location = _with_scheme(location, self)
        return resolve(location, str(self))


def page_of(location: object) -> object:
    """Return a location as a browser asks for it: without its fragment, "/" for none.

    What is no text comes back as it is.
    """
    if not isinstance(location, str):
        return location
    return location.partition("#")[0] or "/"


def plain(joined: str) -> bool:
    r"""Return whether many locations, joined with "\n", are all legal as they are.

    True means that ``Origin.local_path`` would return each of them unchanged, behind an
    origin of any length. False means: look at them one by one.
    """
    # First: what is too long is not even copied.
    if not lines_fit(joined):
        return False
    try:
        data = joined.encode("ascii")
    except UnicodeEncodeError:
        return False
    if data.translate(None, _LEGAL_BYTES) or _NO_PATH.search(b"\n" + data):
        return False
    escapes = data.count(b"%")
    if escapes and data.translate(_HEX_SHAPE).count(b"%hh") != escapes:
        return False
    return not _has_dot_segment(joined) and not _has_session(joined)


def lines_fit(joined: str, most: int = ALWAYS_FITS) -> bool:
    """Return whether each line has ``most`` characters at most, in few steps."""
    start = 0
    while len(joined) - start > most:
        end = joined.rfind("\n", start, start + most + 1)
        if end < 0:
            return False
        start = end + 1
    return True


def unambiguous(pieces: Sequence[str], columns: Sequence[str]) -> bool:
    r"""Return whether ``refuse_ambiguous`` passes many paths, all made in the same way.

    Each is the first of ``pieces``, a value, the next piece, and so on; ``columns`` has
    the values between two pieces, joined with "\n", none of them empty. False means:
    look at them one by one.
    """
    for joined in columns:
        if "." in joined and (joined[0] == "." or "\n." in joined or "/." in joined):
            return False
    # No value begins a segment with a dot: what is left may begin in a piece.
    if any(map(_DOT_SEGMENT.search, pieces)):
        return False
    if any(map(_DOTS.match, pieces[1:])) and any("/" in joined for joined in columns):
        return False
    texts = (*pieces, *columns)
    if not any("=" in text for text in texts):
        return True
    return not any(mark in text for text in texts for mark in _SESSION_MARKS)


def refuse_ambiguous(path: str) -> None:
    """Raise ``LocationError`` for a path and query that are of no page of their own.

    A dot segment is resolved before the page is asked for, so that the URL is another
    page's. A session id gives a page another URL for each visitor.
    """
    if _has_dot_segment(path.partition("?")[0]):
        what = "has a segment '.' or '..': crawlers would request another URL"
        raise LocationError.of("location", path, what)
    if _has_session(path):
        what = "has a session id: the URL would be another one for each visitor"
        raise LocationError.of("location", path, what)


def refuse_outside(path: str, folder: str) -> None:
    """Raise ``OutsideError`` for a path that is not in the folder of the sitemap.

    https://www.sitemaps.org/protocol.html#location
    """
    if not path.startswith(folder):
        what = f"not in {folder}, the folder of the sitemap"
        raise OutsideError.of("location", path, what)


def refuse_long(location: object, before: int = 0) -> None:
    """Raise ``LocationError`` for a text that no encoding makes short enough.

    Before it is copied or encoded. ``before`` is the length of what goes before a path.
    """
    if isinstance(location, str) and len(location) > MAX_LOCATION + _SHRINKS:
        _check_length(len(location) + before * location.startswith("/"), location)


def _with_scheme(text: str, origin: Origin) -> str:
    """Return a location with the scheme of ``origin``, where it has a host alone."""
    return f"{origin.scheme}:{text}" if text.startswith("//") else text


def is_location(text: str) -> bool:
    """Return whether a text may be a path of the site or a whole URL."""
    return text.isprintable() and text.startswith(("/", "http://", "https://"))


def resolve(location: object, prefix: str | None) -> str:
    """Do what ``Origin.absolute`` does, with any text in front of a path.

    ``prefix`` is a written origin, or ``ORIGIN_MARK``, or None where a path will not
    do.

    Raises:
        LocationError: As ``Origin.absolute``.
    """
    refuse_long(location, len(prefix or ""))
    text = _clean(location)
    if not text.startswith("/"):
        origin, path = _split(text)
        prefix = str(origin)
    elif prefix is None:
        raise LocationError.of("location", location, "not an absolute URL")
    else:
        path = _one_slash(text)
    uri = prefix + quote(path)
    # The mark stands for an origin whose length is not known here.
    stamped = MIN_LOCATION if prefix == ORIGIN_MARK else 0
    _check_length(len(uri) + stamped, location)
    return uri


def quote(path: str) -> str:
    """Percent-encode what a path and query may not hold; keep every legal %XX."""
    return urllib.parse.quote(_BARE_PERCENT.sub("%25", path), safe=_PUNCTUATION)


def _clean(location: object) -> str:
    """Refuse what no location may hold, wherever it stands."""
    if not isinstance(location, str):
        raise LocationError.of("location", location, "not a text")
    if not location:
        raise LocationError("location '': empty")
    if _FORBIDDEN.search(location):
        raise LocationError.of(
            "location", location, "a control character or lone surrogate"
        )
    if "#" in location:
        raise LocationError.of("location", location, "has a fragment")
    return location


def _own_path(text: str, origin: Origin) -> str:
    text = _with_scheme(text, origin)
    if text.startswith("/"):
        return text
    own, path = _split(text)
    if own != origin:
        raise LocationError.of("location", text, f"not a URL of {origin}")
    return _one_slash(path)


def _one_slash(path: str) -> str:
    if path.startswith("//"):
        raise LocationError.of("location", path, "begins with two slashes")
    return path


def _split(text: str) -> tuple[Origin, str]:
    """Cut an absolute URL into its origin and the rest, which begins with "/"."""
    match = _ABSOLUTE.fullmatch(text)
    if match is None:
        raise LocationError.of("location", text, "neither a path nor an http(s) URL")
    scheme, authority, rest = match.groups()
    try:
        origin = Origin(scheme.lower(), _host(scheme.lower(), authority))
    except ValueError as error:
        raise LocationError.of("location", text, error) from error
    return origin, rest if rest.startswith("/") else f"/{rest}"


@lru_cache(maxsize=256)
def _host(scheme: str, authority: str) -> str:
    """Normalise host and port; ValueError says what is wrong with them."""
    if "@" in authority:
        raise ValueError("has credentials")
    match = _AUTHORITY.fullmatch(authority)
    if match is None:
        raise ValueError("its host or port is not legal")
    name, port = match.groups()
    host = _ipv6(name) if name.startswith("[") else _domain(name)
    if not port or int(port) == _DEFAULT_PORTS[scheme]:
        return host
    if not 0 < int(port) < 65_536:
        raise ValueError("its port is not in 1..65535")
    return f"{host}:{int(port)}"


def _ipv6(name: str) -> str:
    if "%" in name:
        raise ValueError("its address has a zone, which means something here only")
    return f"[{ipaddress.IPv6Address(name[1:-1]).compressed}]"


def _domain(name: str) -> str:
    if not name:
        raise ValueError("has no host")
    if len(name) > 254:  # 253 and a dot; also, Python's codec is slow on long ones
        raise ValueError("its host is too long")
    if not name.isascii():
        name = _punycode(name)
    name = name.lower().removesuffix(".")
    if len(name) > 253 or not _HOST.fullmatch(name):
        raise ValueError("its host is not legal")
    return name


def _punycode(name: str) -> str:
    if _DEVIATIONS.search(name):
        raise ValueError("its host has letters of IDNA 2008: write it as xn--...")
    try:
        return name.encode("idna").decode("ascii")
    except UnicodeError as error:
        raise ValueError(f"its host is not legal: {error}") from error


def _has_dot_segment(text: str) -> bool:
    """Return whether a path has a dot segment, or one of many, joined with line breaks.

    Of many it may also be a query that looks like one.
    """
    if "/." not in text and ("/%" not in text or "%2e" not in text.lower()):
        return False
    return _DOT_SEGMENT.search(text) is not None


def _has_session(text: str) -> bool:
    """Return whether a path, or one of many, has a session id."""
    if "=" not in text or _SESSION_WORD not in text.lower():
        return False
    return _SESSION.search(text) is not None


def _check_length(length: int, location: object) -> None:
    if not MIN_LOCATION <= length <= MAX_LOCATION:
        is_long = length > MAX_LOCATION
        bound = f"over {MAX_LOCATION}" if is_long else f"under {MIN_LOCATION}"
        raise LocationError.of("location", location, f"{length} characters, {bound}")
