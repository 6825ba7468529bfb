"""Faults between a client and a server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol


@dataclass(frozen=True, kw_only=True)
class Reply:
    """A whole answer."""

    status: int = 200
    body: bytes = b""
    headers: Mapping[str, str] = field(default_factory=dict)


class Wire(Protocol):
    """A connection, for faults."""

    def wait(self, seconds: float) -> bool:
        """Sleep; return True if the server stops."""

    def write(self, data: bytes) -> bool:
        """Write; return False if the client hung up."""

    def reply(self, answer: Reply) -> None:
        """Write a whole answer."""


class Fault:
    """
    A way to fail.

    ``before`` is called before the request is read, ``instead`` in place of the answer.
    Each returns whether the connection is finished.
    """

    def before(self, wire: Wire) -> bool:
        return False

    def instead(self, wire: Wire) -> bool:
        return False


@dataclass(frozen=True)
class Slow(Fault):
    """Waits before the "request" is read, or before the "answer" or its "body"."""

    stage: str
    seconds: float = 30.0

    def before(self, wire: Wire) -> bool:
        return self.stage == "request" and wire.wait(self.seconds)

    def instead(self, wire: Wire) -> bool:
        if self.stage == "answer":
            return wire.wait(self.seconds)
        if self.stage == "body":
            wire.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
            return wire.wait(self.seconds) or True
        return False


@dataclass(frozen=True)
class Drip(Fault):
    """Sends the "headers" or the "body" byte by byte, for half a minute."""

    stage: str
    every: float = 0.05

    def instead(self, wire: Wire) -> bool:
        wire.write(b"HTTP/1.1 200 OK\r\n")
        if self.stage == "body":
            wire.write(b"Content-Length: 1000000\r\n\r\n")
        for _ in range(round(30 / self.every)):
            if not wire.write(b"x") or wire.wait(self.every):
                break
        return True


@dataclass(frozen=True)
class Cut(Fault):
    """Closes before the "request" is read, or in the middle of "status" or "body"."""

    where: str
    status: int = 200

    def before(self, wire: Wire) -> bool:
        return self.where == "request"

    def instead(self, wire: Wire) -> bool:
        if self.where == "status":
            wire.write(b"HTTP/1.")
        elif self.where == "body":
            start = f"HTTP/1.1 {self.status} Half\r\nContent-Length: 1000\r\n\r\nhal"
            wire.write(start.encode())
        return True


@dataclass(frozen=True)
class Endless(Fault):
    """Sends a body without end, as fast as the client reads."""

    status: int = 200

    def instead(self, wire: Wire) -> bool:
        wire.write(f"HTTP/1.1 {self.status} Endless\r\n\r\n".encode())
        while wire.write(b"endless " * 1024):
            pass
        return True


@dataclass(frozen=True)
class Raw(Fault):
    """Sends bytes as they are."""

    data: bytes

    def instead(self, wire: Wire) -> bool:
        wire.write(self.data)
        return True


@dataclass(frozen=True)
class Fixed(Fault):
    """Sends another answer."""

    answer: Reply

    def instead(self, wire: Wire) -> bool:
        wire.reply(self.answer)
        return True


def reply(status: int, body: str = "", **headers: str) -> Fault:
    """Answer with a status: ``reply(503, "busy", retry_after="120")``."""
    named = {name.replace("_", "-").title(): text for name, text in headers.items()}
    return Fixed(Reply(status=status, body=body.encode(), headers=named))


def redirect(to: str, status: int = 301) -> Fault:
    """Answer with a redirect."""
    return reply(status, location=to)


def html(status: int = 200) -> Fault:
    """Answer with a web page."""
    page = "<!DOCTYPE html>\n<title>Welcome</title>"
    return reply(status, page, content_type="text/html; charset=utf-8")


def throttle(retry_after: str | None = None) -> Fault:
    """Answer 429, with or without Retry-After."""
    if retry_after is None:
        return reply(429, "Too Many Requests")
    return reply(429, "Too Many Requests", retry_after=retry_after)
