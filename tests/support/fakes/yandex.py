"""Yandex's Webmaster API, version 4, as strict as the real one."""

from __future__ import annotations

import json
import urllib.parse
import uuid
from typing import Any

from tests.support.fakes.faults import Reply
from tests.support.fakes.server import FakeServer, Request

_ROOT = "/v4"
USER = 1130000


class FakeYandex(FakeServer):
    """
    ``endpoint`` and ``token`` are options of the engine.

    ``hosts`` maps each site to whether it is verified, ``added`` lists the registered
    sitemaps, ``queue`` the pages to crawl again, of which ``quota`` are left today.
    ``crawled`` are the sitemaps that robots have read.
    """

    def __init__(self, token: str, **options: Any) -> None:
        super().__init__(**options)
        self.token = token
        self.user = USER
        self.hosts = {"https:www.example.com:443": True}
        self.added: list[str] = []
        self.queue: list[str] = []
        self.quota = 3
        self.crawled: list[dict[str, Any]] = []

    @property
    def endpoint(self) -> str:
        return f"{self.origin}{_ROOT}"

    @property
    def calls(self) -> list[str]:
        """Method and the end of the path of each request."""
        return [f"{r.method} {r.route.rpartition('/')[2]}" for r in self.requests]

    def answer(self, request: Request) -> Reply:
        if request.headers.get("authorization") != f"OAuth {self.token}":
            return _error(401, "INVALID_OAUTH_TOKEN")
        parts = request.route.removeprefix(f"{_ROOT}/").split("/")
        names = [urllib.parse.unquote(part) for part in parts]
        match request.method, names:
            case "GET", ["user"]:
                return _json(200, {"user_id": self.user})
            case _, ["user", user, *rest] if rest[:1] == ["hosts"]:
                if user != str(self.user):
                    extra = {"available_user_id": self.user}
                    return _error(403, "INVALID_USER_ID", **extra)
                return self._hosts(request, rest[1:])
            case _:
                return _error(404, "RESOURCE_NOT_FOUND")

    def _hosts(self, request: Request, names: list[str]) -> Reply:
        if not names:
            known = [
                {"host_id": host, "ascii_host_url": _url(host), "verified": is_verified}
                for host, is_verified in self.hosts.items()
            ]
            return _json(200, {"hosts": known})
        if not self.hosts.get(names[0]):
            return _error(404, "HOST_NOT_VERIFIED", host_id=names[0])
        match request.method, names[1:]:
            case "GET", ["sitemaps"]:
                return _json(200, {"sitemaps": self.crawled})
            case "GET", ["recrawl", "quota"]:
                return _json(200, {"daily_quota": 3, "quota_remainder": self.quota})
            case "POST", ["user-added-sitemaps"]:
                return self._posted(request, names[0], self._add)
            case "POST", ["recrawl", "queue"]:
                return self._posted(request, names[0], self._recrawl)
            case _:
                return _error(405, "METHOD_NOT_ALLOWED")

    def _posted(self, request: Request, host: str, action: Any) -> Reply:
        if request.headers.get("content-type") != "application/json":
            return _error(415, "CONTENT_TYPE_UNSUPPORTED")
        try:
            url = json.loads(request.body)["url"]
        except (ValueError, KeyError, TypeError):
            return _error(400, "ENTITY_VALIDATION_ERROR")
        if not str(url).startswith(_url(host)):
            return _error(400, "INVALID_URL")
        with self.lock:
            reply: Reply = action(url)
        return reply

    def _add(self, url: str) -> Reply:
        known = "c7-fe:80-c0"
        if url in self.added:
            return _error(409, "SITEMAP_ALREADY_ADDED", sitemap_id=known)
        self.added.append(url)
        return _json(201, {"sitemap_id": known})

    def _recrawl(self, url: str) -> Reply:
        if url in self.queue:
            return _error(409, "URL_ALREADY_ADDED")
        if self.quota < 1:
            return _error(429, "QUOTA_EXCEEDED", daily_quota=3)
        self.quota -= 1
        self.queue.append(url)
        task = {"task_id": str(uuid.uuid4()), "quota_remainder": self.quota}
        return _json(202, task)


def _url(host: str) -> str:
    scheme, name, port = host.split(":")
    shown = "" if (scheme, port) in (("https", "443"), ("http", "80")) else f":{port}"
    return f"{scheme}://{name}{shown}/"


def _json(status: int, value: object) -> Reply:
    headers = {"Content-Type": "application/json;charset=utf-8"}
    return Reply(status=status, body=json.dumps(value).encode(), headers=headers)


def _error(status: int, code: str, **extra: Any) -> Reply:
    said = {"error_code": code, "error_message": code.lower().replace("_", " ")}
    return _json(status, {**said, **extra})
