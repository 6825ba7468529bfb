"""A receiver of webhooks that checks them as docs/engines.md tells receivers to."""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import time
from collections import defaultdict
from typing import Any, NamedTuple

from tests.support.fakes.faults import Reply
from tests.support.fakes.server import FakeServer, Request

_SIGNATURE = re.compile(r"t=([0-9]{1,12}),v1=([0-9a-f]{64})")
_KEYS = {"site", "added", "changed", "removed", "requested"}
#: What it has besides, where documents changed.
_OF_DOCUMENTS = {"documents", "tags"}


class Heard(NamedTuple):
    """What a request said of a URL."""

    kind: str
    at: float
    #: The request's id: the same where it came twice.
    id: str


class FakeWebhook(FakeServer):
    """
    Accepts signed JSON at ``/changes``; ``received`` lists the documents.

    ``heard`` has what was said of each URL, in the order in which it came.

    ``ids`` has the id of each request, whatever it is answered. ``strange`` lists URLs
    that changed or were removed without having been added before.
    """

    def __init__(self, secret: str, **options: Any) -> None:
        super().__init__(**options)
        self.secret = secret
        #: Seconds by which its clock is ahead.
        self.ahead = 0.0
        self.received: list[dict[str, Any]] = []
        self.strange: list[str] = []
        self.heard: dict[str, list[Heard]] = defaultdict(list)
        self._known: set[str] = set()

    @property
    def ids(self) -> list[str]:
        return [request.headers.get("webhook-id", "") for request in self.requests]

    @property
    def url(self) -> str:
        """The option ``url`` of the engine."""
        return f"{self.origin}/changes"

    def answer(self, request: Request) -> Reply:
        if request.path != "/changes":
            return Reply(status=404)
        if request.method != "POST":
            return Reply(status=405)
        if not self.is_signed(request):
            return Reply(status=401, body=b"signature?")
        if request.headers.get("content-type") != "application/json":
            return Reply(status=415)
        document = json.loads(request.body)
        known = _KEYS | (_OF_DOCUMENTS if "documents" in document else set())
        urls = [
            url for key in known - {"site", "tags"} for url in document.get(key, [])
        ]
        is_own = all(url.startswith(f"{document.get('site')}/") for url in urls)
        if set(document) != known or not 0 < len(urls) <= 1_000 or not is_own:
            return Reply(status=422)
        with self.lock:
            self.received.append(document)
            delivery, now = request.headers["webhook-id"], time.time()
            for kind in _KEYS - {"site"}:
                for url in document[kind]:
                    self.heard[url].append(Heard(kind, now, delivery))
            self._known.update(document["added"])
            heard = [*document["changed"], *document["removed"]]
            self.strange += [url for url in heard if url not in self._known]
            self._known.difference_update(document["removed"])
        return Reply(status=204)

    def is_signed(self, request: Request) -> bool:
        header = request.headers.get("x-sitemaps-plus-signature", "")
        delivery = request.headers.get("webhook-id", "").encode()
        found = _SIGNATURE.fullmatch(header)
        if found is None or not delivery:
            return False
        seconds, given = found.groups()
        if abs(time.time() + self.ahead - int(seconds)) > 300:
            return False
        signed = b".".join((delivery, seconds.encode(), request.body))
        digest = hmac.new(self.secret.encode(), signed, hashlib.sha256)
        return hmac.compare_digest(digest.hexdigest(), given)
