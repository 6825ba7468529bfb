"""Ports on loopback that fail before any HTTP."""

from __future__ import annotations

import contextlib
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from typing import Any

import trustme

from tests.support.fakes.server import FakeServer

#: What keeps ports from being given to somebody else, until this process ends.
_kept: list[socket.socket] = []


def free_port() -> int:
    """
    Return a port without a server, which is given to nobody who asks for any port.

    Servers can listen at it all the same, for they set SO_REUSEADDR, as we do here.
    """
    keeper = socket.socket()
    keeper.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    keeper.bind(("127.0.0.1", 0))
    _kept.append(keeper)
    return int(keeper.getsockname()[1])


@contextlib.contextmanager
def deaf() -> Iterator[int]:
    """Yield a port that accepts connections and never reads."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        yield listening.getsockname()[1]


class Proxy:
    """A port in front of another one, which can stop to forward: the host hangs."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target, self._goes_on = target, threading.Event()
        self._goes_on.set()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._open: list[socket.socket] = [self._listening]
        self._start(self._accept)

    def _start(self, work: Callable[..., object], *given: Any) -> None:
        threading.Thread(target=work, args=given, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listening.accept()
                far = socket.create_connection(self._target)
                self._open += [near, far]
                self._start(self._forward, near, far)
                self._start(self._forward, far, near)

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while some := source.recv(65_536):
                self._goes_on.wait()
                target.sendall(some)
        with contextlib.suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    @contextlib.contextmanager
    def hanging(self) -> Iterator[None]:
        """Accept connections and what is sent, and forward nothing meanwhile."""
        self._goes_on.clear()
        try:
            yield
        finally:
            self._goes_on.set()

    def close(self) -> None:
        """End all connections."""
        for one in self._open:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()


@contextlib.contextmanager
def full(host: str = "127.0.0.1", port: int = 0) -> Iterator[int]:
    """Yield a port whose queue of connections is full, so that the next one hangs."""
    with contextlib.ExitStack() as stack:
        listening = stack.enter_context(socket.create_server((host, port)))
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
