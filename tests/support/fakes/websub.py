"""A WebSub hub that reads published feeds, and wants them to name it."""

from __future__ import annotations

import urllib.parse
from typing import Any

from lxml import etree

from tests.support.fakes.faults import Reply
from tests.support.fakes.server import FakeServer, Request

_XML = etree.XMLParser(resolve_entities=False, no_network=True)
_LINK = "{http://www.w3.org/2005/Atom}link"


class FakeWebSubHub(FakeServer):
    """``published`` lists the feeds, ``read`` what each had when it was published."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.published: list[str] = []
        self.read: dict[str, bytes] = {}

    @property
    def url(self) -> str:
        """The option ``hub`` of the engine."""
        return f"{self.origin}/"

    def answer(self, request: Request) -> Reply:
        if request.path != "/":
            return Reply(status=404)
        if request.method != "POST":
            return Reply(status=405)
        kind = request.headers.get("content-type", "")
        if kind != "application/x-www-form-urlencoded":
            return Reply(status=400, body=b"which form?")
        form = urllib.parse.parse_qs(request.body.decode())
        urls = form.get("hub.url", [])
        if form.get("hub.mode") != ["publish"] or not urls:
            return Reply(status=400, body=b"hub.mode, hub.url?")
        found = {url: self.fetch(url) for url in urls}
        for url, (status, body) in found.items():
            if status != 200 or not self._is_named(url, body):
                return Reply(status=400, body=f"cannot publish {url}".encode())
        with self.lock:
            self.published += urls
            self.read |= {url: body for url, (_, body) in found.items()}
        return Reply(status=204)

    def _is_named(self, url: str, body: bytes) -> bool:
        """Return whether a feed has links to the hub and to itself."""
        try:
            links = etree.fromstring(body, _XML).iter(_LINK)
        except etree.XMLSyntaxError:
            return False
        return {("hub", self.url), ("self", url)} <= {
            (link.get("rel"), link.get("href")) for link in links
        }
