"""Where a URL leads, and whether a request may go there."""

from __future__ import annotations

import ipaddress
import re
import urllib.parse
from dataclasses import dataclass

from .errors import OptionError

_DEFAULT_PORTS = {"http": 80, "https": 443}
_URL = re.compile(r"[!-~]+")
#: RFC 6052: IPv4 addresses as DNS64 writes them.
_NAT64 = ipaddress.ip_network("64:ff9b::/96")


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a URL leads."""

    scheme: str
    #: Lower-case, without port and brackets.
    host: str
    port: int
    #: Path and query.
    path: str

    @property
    def authority(self) -> str:
        """Host and port, as the header Host has them (RFC 9110, section 7.2)."""
        host = f"[{self.host}]" if ":" in self.host else self.host
        is_default = self.port == _DEFAULT_PORTS[self.scheme]
        return host if is_default else f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        """Whether the name itself says that it is this host."""
        if self.host == "localhost" or self.host.endswith(".localhost"):
            return True
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            return False

    @classmethod
    def parse(cls, url: object) -> Target:
        """
        Read an absolute URL of http or https.

        Raises:
            ValueError: What is wrong with it, without the URL.
        """
        if not isinstance(url, str) or not _URL.fullmatch(url):
            raise ValueError("is no URL of printable ASCII")
        try:
            parts = urllib.parse.urlsplit(url)
            port = parts.port
        except ValueError as error:  # its words may quote the URL
            raise ValueError("has no legal host or port") from error
        if parts.scheme not in _DEFAULT_PORTS or not parts.hostname:
            raise ValueError("is no URL that begins with https:// and a host")
        if "@" in parts.netloc:
            raise ValueError("has a user or a password in front of the host")
        path = parts.path if parts.path.startswith("/") else f"/{parts.path}"
        return cls(
            scheme=parts.scheme,
            host=parts.hostname,
            port=_DEFAULT_PORTS[parts.scheme] if port is None else port,
            path=f"{path}?{parts.query}" if parts.query else path,
        )


def check_url(option: str, url: object, *, plain: bool = False) -> None:
    """
    Look at an address among the options of an engine.

    ``plain`` allows http to other hosts than this one.

    Raises:
        OptionError: It is none, or what it gets could be read on the way.
    """
    try:
        target = Target.parse(url)
    except ValueError as error:
        example = "https://engine.example/path"
        raise OptionError(option, f"{error}; write {example!r}.") from error
    if target.scheme == "http" and not plain and not target.is_loopback:
        problem = f"is plain http to {target.authority}; write https://."
        raise OptionError(option, problem)


def is_private(address: str) -> bool:
    """Tell whether an address is of this host, this network, or of none."""
    # A zone, as in fe80::1%eth0, is of this network only.
    known = ipaddress.ip_address(address.partition("%")[0])
    if isinstance(known, ipaddress.IPv6Address):
        if known.ipv4_mapped is not None:
            return is_private(str(known.ipv4_mapped))
        if known in _NAT64:
            return is_private(str(ipaddress.IPv4Address(int(known) & 0xFFFF_FFFF)))
    return not known.is_global or known.is_multicast
