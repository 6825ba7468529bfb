"""
The example site's public name, as its own machine resolves it.

Crawlers want a site to have a name; this one's means the loopback interface in each
process that imports this module, as a line in /etc/hosts would do for all.
"""

from __future__ import annotations

import socket
from collections.abc import Callable
from typing import Any

NAME = "www.example.com"
LOOPBACK = "127.0.0.1"


def _own(resolve: Callable[..., Any]) -> Callable[..., Any]:
    """Return ``resolve``, which takes a host first, with the name known to it."""

    def inner(host: Any, *args: Any, **kwargs: Any) -> Any:
        return resolve(LOOPBACK if host == NAME else host, *args, **kwargs)

    return inner


socket.getaddrinfo = _own(socket.getaddrinfo)
socket.gethostbyname = _own(socket.gethostbyname)  # Scrapy's
