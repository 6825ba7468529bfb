"""A site under test without Django: contents by path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.support.fakes.faults import Reply
from tests.support.fakes.server import FakeServer, Request

Page = str | bytes | Reply


class FakeSite(FakeServer):
    """
    Serves ``pages``, by path: texts, bytes or whole replies; otherwise 404.

    ``with FakeSite({"/key.txt": "…"}) as site: site.origin``
    """

    def __init__(self, pages: Mapping[str, Page] | None = None, **options: Any) -> None:
        super().__init__(**options)
        self.pages: dict[str, Page] = dict(pages or {})

    def answer(self, request: Request) -> Reply:
        page = self.pages.get(request.route)
        if page is None:
            return Reply(status=404, body=b"not here")
        if isinstance(page, Reply):
            return page
        body = page.encode() if isinstance(page, str) else page
        return Reply(body=body, headers={"Content-Type": "text/plain; charset=utf-8"})
