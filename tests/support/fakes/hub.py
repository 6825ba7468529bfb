"""Somebody who still listens to ``GET /ping?sitemap=``, and reads the sitemap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.support.fakes.faults import Reply
from tests.support.fakes.server import FakeServer, Request, fetch


class FakeHub(FakeServer):
    """
    Takes pings at ``/ping``, in ``sitemap`` or ``siteMap``.

    ``pinged`` are the sitemaps that it was told of, ``read`` their bytes by address.
    """

    def __init__(
        self,
        *,
        resolve: Mapping[str, str] | None = None,
        site: str | None = None,
        **options: Any,
    ) -> None:
        super().__init__(**options)
        self.resolve = dict(resolve or {})
        self.site = site
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
        status, body = fetch(location, self.resolve, self.site)
        if status != 200:
            return Reply(status=422, body=f"cannot read it: {status}".encode())
        with self.lock:
            self.pinged.append(location)
            self.read[location] = body
        return Reply(body=b"<html><body>Sitemap Notification Received</body></html>")
