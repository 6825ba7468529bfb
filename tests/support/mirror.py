"""The test site on loopback: recorded answers, which can be spoiled on their way."""

from __future__ import annotations

import gzip
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from django.test import Client

from tests.support.fakes.faults import Reply
from tests.support.fakes.server import Request
from tests.support.fakes.site import FakeSite


class Mirror(FakeSite):
    """
    Sends what Django answered when it was recorded: all files of the sitemap.

    ``to`` has other replies by User-Agent (or a part of it), and ``cache`` what is sent
    for an address without a query.
    """

    to: Mapping[str, Reply]

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.to = {}
        self.cache: dict[str, Reply] = {}

    def record(self) -> None:
        """Take over what Django answers by now."""
        paths = ["/robots.txt", "/sitemap.xml", "/sitemap.xml.gz"]
        self.pages = {path: recorded(path) for path in paths}
        listed = re.findall(r"<loc>[^<]*(/sitemap-[^<]*)<", self.text("/sitemap.xml"))
        self.pages |= {path: recorded(path) for path in listed}

    def text(self, path: str) -> str:
        """Return the text of a recorded reply."""
        body = self.reply(path).body
        return (gzip.decompress(body) if body[:2] == b"\x1f\x8b" else body).decode()

    def reply(self, path: str) -> Reply:
        """Return a recorded reply."""
        reply = self.pages[path]
        assert isinstance(reply, Reply)
        return reply

    def spoil(self, path: str = "/sitemap.xml", **changes: Any) -> None:
        """Change a recorded reply: its ``status``, its ``body``; headers are added."""
        reply = self.reply(path)
        headers = {**reply.headers, **changes.pop("headers", {})}
        kept = {name: value for name, value in headers.items() if value is not None}
        self.pages[path] = replace(reply, headers=kept, **changes)

    def answer(self, request: Request) -> Reply:
        """Answer as a cache or a firewall does, if there is one."""
        agent = request.headers["user-agent"]
        for name, reply in self.to.items():
            if name in agent:
                return reply
        return self.cache.get(request.path) or super().answer(request)


def recorded(path: str) -> Reply:
    """Return what Django answers by now."""
    response = Client().get(path, headers={"accept-encoding": "gzip"})
    headers = {name: str(value) for name, value in response.headers.items()}
    headers.pop("Content-Length", None)
    return Reply(status=response.status_code, body=response.content, headers=headers)
