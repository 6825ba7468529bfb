"""A hub that accepts ``GET /ping?sitemap=`` and reads the sitemap."""

from __future__ import annotations

from typing import Any

from tests.support.fakes.faults import Reply
from tests.support.fakes.server import FakeServer, Request


class FakeHub(FakeServer):
    """
    Accepts pings at ``/ping``, with ``sitemap`` or ``siteMap``.

    ``pinged`` lists the submitted sitemaps, ``read`` has their contents by URL.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.pinged: list[str] = []
        self.read: dict[str, bytes] = {}

    @property
    def url(self) -> str:
        """The option ``url`` of the engine."""
        return f"{self.origin}/ping?sitemap={{sitemap}}"

    def answer(self, request: Request) -> Reply:
        if request.route.lower() != "/ping":
            return Reply(status=404)
        if request.method != "GET":
            return Reply(status=405)
        query = {name.lower(): values for name, values in request.query.items()}
        if len(query.get("sitemap", [])) != 1:
            return Reply(status=400, body=b"which sitemap?")
        location = query["sitemap"][0]
        status, body = self.fetch(location)
        if status != 200:
            return Reply(status=422, body=f"cannot read it: {status}".encode())
        with self.lock:
            self.pinged.append(location)
            self.read[location] = body
        return Reply(body=b"<html><body>Sitemap Notification Received</body></html>")
