"""Ports on loopback that fail before any HTTP."""

from __future__ import annotations

import contextlib
import socket
import ssl
from collections.abc import Iterator
from typing import Any

import trustme

from tests.support.fakes.server import FakeServer


def free_port() -> int:
    """Return a port without a server."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


@contextlib.contextmanager
def deaf() -> Iterator[int]:
    """Yield a port that accepts connections and never reads."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


@contextlib.contextmanager
def full() -> Iterator[int]:
    """Yield a port whose queue of connections is full, so that the next one hangs."""
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        listening.listen(0)
        for _ in range(4):
            filler = stack.enter_context(socket.socket())
            filler.setblocking(False)
            filler.connect_ex(listening.getsockname())
        yield listening.getsockname()[1]


@contextlib.contextmanager
def secured(name: str, **options: Any) -> Iterator[tuple[FakeServer, trustme.CA]]:
    """Yield a server with a certificate for a name, and its authority."""
    authority = trustme.CA()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert(name, **options).configure_cert(context)
    with FakeServer(tls=context) as server:
        yield server, authority
