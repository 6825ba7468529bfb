"""Baidu's push interface, as strict as the real one."""

from __future__ import annotations

import json
import urllib.parse
from typing import Any

from tests.support.fakes.faults import Reply
from tests.support.fakes.server import FakeServer, Request


class FakeBaidu(FakeServer):
    """``pushed`` lists the URLs, of which ``left`` may still be pushed today."""

    def __init__(self, token: str, site: str = "www.example.com", **options: Any):
        super().__init__(**options)
        self.token, self.site, self.left = token, site, 100_000
        self.pushed: list[str] = []

    @property
    def endpoint(self) -> str:
        return f"{self.origin}/urls"

    def answer(self, request: Request) -> Reply:
        if request.route != "/urls":
            return _error(404, "not found")
        if request.method != "POST":
            return Reply(status=405)
        if request.query.get("site") != [self.site]:
            return _error(400, "site error")
        if request.query.get("token") != [self.token]:
            return _error(401, "token is not valid")
        if request.headers.get("content-type") != "text/plain":
            return _error(400, "empty content")
        urls = request.body.decode().splitlines()
        if not urls:
            return _error(400, "empty content")
        if len(urls) > 2_000:
            return _error(400, "only 2000 urls are allowed once")
        with self.lock:
            return self._push(urls)

    def _push(self, urls: list[str]) -> Reply:
        if len(urls) > self.left:
            return _error(400, "over quota")
        valid = [url for url in urls if url.startswith(("http://", "https://"))]
        own = [u for u in valid if urllib.parse.urlsplit(u).hostname == self.site]
        self.left -= len(own)
        self.pushed += own
        return _json(
            200,
            {
                "remain": self.left,
                "success": len(own),
                "not_same_site": [url for url in valid if url not in own],
                "not_valid": [url for url in urls if url not in valid],
            },
        )


def _json(status: int, value: object) -> Reply:
    return Reply(status=status, body=json.dumps(value).encode())


def _error(status: int, message: str) -> Reply:
    return _json(status, {"error": status, "message": message})
