"""
Google's URL Inspection API, as strict as the real one.

It knows what ``says`` answers of a URL: an ``indexStatusResult``, of which any field
may be missing. The quota of a day is the property's, and other tools use it, too. Too
many requests at a time are answered as a missing permission is.
"""

from __future__ import annotations

import json
import urllib.parse
from collections import Counter
from collections.abc import Callable
from typing import Any

from tests.support.fakes.faults import Reply
from tests.support.fakes.google import FakeGoogle, as_json, covers
from tests.support.fakes.server import Request

_PATH = "/v1/urlInspection/index:inspect"
#: What Google allows a day for a property.
QUOTA = 2_000
INDEXED = {
    "verdict": "PASS",
    "coverageState": "Submitted and indexed",
    "robotsTxtState": "ALLOWED",
    "indexingState": "INDEXING_ALLOWED",
    "pageFetchState": "SUCCESSFUL",
    "crawledAs": "MOBILE",
    "lastCrawlTime": "2026-10-01T02:03:04Z",
}
UNKNOWN = {
    "verdict": "NEUTRAL",
    "coverageState": "URL is unknown to Google",
    "robotsTxtState": "ROBOTS_TXT_STATE_UNSPECIFIED",
}


class FakeInspection(FakeGoogle):
    """
    ``endpoint`` and ``credentials`` are options of the engine.

    ``used`` counts the requests of each ``day``, whatever the answer, and ``asked``
    lists the URLs. ``others`` is what other tools used today, ``pressure`` how many of
    the next requests are too many, ``seconds`` how long an answer takes, and
    ``at_once`` how many were answered at the same time.
    """

    def __init__(self, *args: Any, seconds: float = 0.0, **options: Any) -> None:
        super().__init__(*args, **options)
        self.says: Callable[[str], Any] = lambda url: INDEXED
        self.day: Any = 0
        self.used: Counter[Any] = Counter()
        self.asked: list[str] = []
        self.others = self.pressure = self.at_once = 0
        self.seconds = seconds
        self._now = 0

    def answer(self, request: Request) -> Reply:
        if request.route != _PATH:
            return super().answer(request)
        with self.lock:
            self._now += 1
            self.at_once = max(self.at_once, self._now)
        self.stopped.wait(self.seconds)
        try:
            return self._inspect(request)
        finally:
            with self.lock:
                self._now -= 1

    def _inspect(self, request: Request) -> Reply:
        if request.method != "POST":
            return Reply(status=404, body=b"<html>Not Found</html>")
        if not self.has_token(request):
            return _refusal(401, "UNAUTHENTICATED", "Invalid Credentials")
        with self.lock:
            self.used[self.day] += 1
            used = self.used[self.day] + self.others
            is_pressed, self.pressure = self.pressure > 0, max(0, self.pressure - 1)
        try:
            asked = json.loads(request.body)
        except ValueError:  # also of a client that was killed
            asked = {}
        if set(asked) != {"inspectionUrl", "siteUrl", "languageCode"}:
            return _refusal(400, "INVALID_ARGUMENT", "Invalid JSON payload received.")
        url, site = asked["inspectionUrl"], asked["siteUrl"]
        is_own = site in self.properties and covers(site, url)
        if is_pressed or not is_own:
            text = (
                "You do not own this site, or the inspected URL is not part of this "
                "property."
            )
            return _refusal(403, "PERMISSION_DENIED", text)
        if used > QUOTA:
            text = f"Quota exceeded for {site}."
            return _refusal(429, "RESOURCE_EXHAUSTED", text)
        with self.lock:
            self.asked.append(url)
        said = self.says(url)
        if isinstance(said, Reply):
            return said
        link = "https://search.google.com/search-console/inspect?resource_id="
        whole = {"inspectionResultLink": f"{link}{urllib.parse.quote(site, safe='')}"}
        if said is not None:
            whole["indexStatusResult"] = said
        return as_json(200, {"inspectionResult": whole})


def _refusal(code: int, status: str, message: str) -> Reply:
    error = {"code": code, "message": message, "status": status}
    return as_json(code, {"error": error})
