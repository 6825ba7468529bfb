"""Google's Indexing API, as strict as the real one: it reads the pages in question."""

from __future__ import annotations

import json
import re
from typing import Any

from tests.support.fakes.faults import Reply
from tests.support.fakes.google import FakeGoogle, _error, as_json
from tests.support.fakes.server import Request

_TYPES = re.compile(rb'"@type":\s*"(JobPosting|BroadcastEvent)"')


class FakeIndexing(FakeGoogle):
    """
    ``published`` lists the notifications, of which ``quota`` are left today.

    ``unsupported`` lists the pages that declare nothing that the API is for: Google
    takes them, and may close the account.
    """

    root = "/v3"
    scope = "https://www.googleapis.com/auth/indexing"

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.published: list[tuple[str, str]] = []
        self.unsupported: list[str] = []
        self.quota = 200

    def _call(self, request: Request) -> Reply:
        route = (request.method, request.route)
        if route != ("POST", f"{self.root}/urlNotifications:publish"):
            return Reply(status=404, body=b"<html>Not Found</html>")
        if request.headers.get("content-type") != "application/json":
            return _error(400, "Content-Type?", "badRequest")
        given = json.loads(request.body)
        url, kind = given.get("url", ""), given.get("type")
        if kind not in ("URL_UPDATED", "URL_DELETED") or set(given) != {"url", "type"}:
            return _error(400, "Invalid value at 'url_notification'", "badRequest")
        if not any(url.startswith(site) for site in self.properties if self._may(site)):
            return _error(403, "Permission denied. Failed to verify", "forbidden")
        with self.lock:
            if self.quota < 1:
                said = {"code": 429, "status": "RESOURCE_EXHAUSTED"}
                return as_json(429, {"error": said})
            self.quota -= 1
            self.published.append((kind, url))
        status, body = self.fetch(url)
        if kind == "URL_DELETED" and status not in (404, 410):
            self.unsupported.append(url)
        if kind == "URL_UPDATED" and not _TYPES.search(body):
            self.unsupported.append(url)
        return as_json(200, {"urlNotificationMetadata": {"url": url}})
