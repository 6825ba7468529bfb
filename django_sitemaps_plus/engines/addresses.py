"""Parse the URLs of requests, and distinguish public from private hosts."""

from __future__ import annotations

import ipaddress
import re
import urllib.parse
from dataclasses import dataclass

from .base import OptionError

_DEFAULT_PORTS = {"http": 80, "https": 443}
_URL = re.compile(r"[!-~]+")
#: Endings of names that no public site has: RFC 6761, RFC 6762, RFC 9476 and ICANN.
_PRIVATE = (".localhost", ".local", ".test", ".invalid", ".internal", ".alt", ".lan")
#: Those whose last 32 bits are an IPv4 address: mapped ones, and as DNS64 writes them
#: (RFC 6052).
_WITH_IPV4 = [ipaddress.ip_network(one) for one in ("::ffff:0:0/96", "64:ff9b::/96")]
#: Networks that some versions of Python take for public ones.
#: https://www.iana.org/assignments/iana-ipv6-special-registry
_RESERVED = [
    ipaddress.ip_network(network)
    for network in (
        "192.0.0.0/24",  # of the IETF: RFC 6890
        "::/96",  # with an IPv4 address at the end: RFC 4291, section 2.5.5.1
        "64:ff9b:1::/48",  # DNS64 of one's own: RFC 8215
        "2002::/16",  # with an IPv4 address in it, 6to4: RFC 7526
        "3fff::/20",  # documentation: RFC 9637
        "5f00::/16",  # segments within a network: RFC 9602
        "fec0::/10",  # of one site: RFC 3879
    )
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """The parts of a URL that a request needs."""

    scheme: str
    #: Lower-case, without port and brackets.
    host: str
    port: int
    #: Path and query.
    path: str

    @property
    def authority(self) -> str:
        """Host and port, as in the Host header (RFC 9110, section 7.2)."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        is_default = self.port == _DEFAULT_PORTS[self.scheme]
        return host if is_default else f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether the name itself means this host."""
        if self.host == "localhost" or self.host.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @classmethod
    def parse(cls, url: object, *, plain: bool = False) -> Target:
        """
        Parse an absolute http or https URL.

        ``plain`` allows http to other hosts than this one.

        Raises:
            ValueError: What is wrong with the URL, without quoting it.
        """
        if not isinstance(url, str) or not _URL.fullmatch(url):
            raise ValueError("is not a URL of printable ASCII characters")
        try:
            parts = urllib.parse.urlsplit(url)
            port = parts.port
        except ValueError as error:  # its text may quote the URL
            raise ValueError("has an invalid host or port") from error
        if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
            raise ValueError("does not start with https:// and a host")
        if "@" in parts.netloc:
            raise ValueError("contains a user name or a password")
        path = parts.path if parts.path.startswith("/") else f"/{parts.path}"
        path = f"{path}?{parts.query}" if parts.query else path
        port = _DEFAULT_PORTS[parts.scheme] if port is None else port
        target = cls(scheme=parts.scheme, host=parts.hostname, port=port, path=path)
        if target.scheme == "http" and not plain and not target.is_loopback:
            raise ValueError(f"uses plain http for {target.authority}, not https")
        return target


def check_url(option: str, url: object, *, plain: bool = False) -> None:
    """
    Check an option of an engine that is a URL.

    ``plain`` allows http to other hosts than this one.

    Raises:
        OptionError: It is not a URL, or others could read what is sent to it.
    """
    try:
        Target.parse(url, plain=plain)
    except ValueError as error:
        example = "https://engine.example/path"
        raise OptionError(option, f"{error}; use {example!r}, for example.") from error


def is_private(host: str) -> bool:
    """
    Return whether a host is not on the public Internet.

    ``host`` is an IP address or a name, with or without a port. Names are not
    resolved, but judged by their ending.
    """
    name = host.rpartition("]")[0].lstrip("[") if "]" in host else host
    if name.count(":") == 1:
        name = name.partition(":")[0]
    try:
        # A zone, as in fe80::1%eth0, exists on this network only.
        address = ipaddress.ip_address(name.partition("%")[0])
    except ValueError:
        name = name.rstrip(".").lower()
        return "." not in name or name.endswith(_PRIVATE)
    if any(address in network for network in _WITH_IPV4):
        return is_private(str(ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)))
    is_reserved = any(address in network for network in _RESERVED)
    return is_reserved or not address.is_global or address.is_multicast
