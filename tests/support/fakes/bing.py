"""
Bing's Webmaster API with JSON, as strict as the real one.

Errors have the status 400 and a number of ``ApiErrorCode``; ``/json`` is the only
protocol left. The quota is what is left of it today and this month.
"""

from __future__ import annotations

import json
import time
import urllib.parse
from typing import Any

from tests.support.fakes.faults import Reply
from tests.support.fakes.server import FakeServer, Request

_ROOT = "/webmaster/api.svc/json/"
_JSON = "application/json; charset=utf-8"


class FakeBing(FakeServer):
    """
    ``endpoint`` and ``key`` are options of the engine.

    ``sites`` maps each site of the user to whether it is verified. ``urls`` lists the
    URLs that were submitted, ``feeds`` the sitemaps, and ``quota`` is what is left.
    """

    def __init__(self, key: str, **options: Any) -> None:
        super().__init__(**options)
        self.key = key
        self.sites = {"https://www.example.com/": True}
        self.quota = {"DailyQuota": 100, "MonthlyQuota": 1_300}
        self.urls: list[str] = []
        self.feeds: dict[str, dict[str, Any]] = {}

    @property
    def endpoint(self) -> str:
        return f"{self.origin}{_ROOT}".rstrip("/")

    @property
    def methods(self) -> list[str]:
        """The methods that were called, in order."""
        return [request.route.removeprefix(_ROOT) for request in self.requests]

    def answer(self, request: Request) -> Reply:
        if not request.route.startswith(_ROOT):
            return Reply(status=404)
        if request.query.get("apikey") != [self.key]:
            return _fault(3, "ERROR!!! InvalidApiKey")
        name = request.route.removeprefix(_ROOT)
        known = {
            "SubmitFeed": ("POST", self._submit_feed),
            "SubmitUrlBatch": ("POST", self._submit_urls),
            "GetFeeds": ("GET", self._get_feeds),
            "GetUrlSubmissionQuota": ("GET", self._get_quota),
            "GetUserSites": ("GET", self._get_sites),
            "GetUrlInfo": ("GET", self._get_url),
        }
        if name not in known:
            return Reply(status=404)
        method, call = known[name]
        if request.method != method:
            return Reply(status=405)
        if method == "GET":
            return call({key: values[0] for key, values in request.query.items()})
        if request.headers.get("content-type") != _JSON:
            return Reply(status=415)
        try:
            return call(json.loads(request.body))
        except ValueError:
            return _fault(8, "ERROR!!! InvalidParameter")

    def _submit_feed(self, given: dict[str, Any]) -> Reply:
        site, feed = given.get("siteUrl"), given.get("feedUrl", "")
        if not self.sites.get(str(site)):
            return _fault(14, "ERROR!!! NotAuthorized")
        if _host(feed) != _host(str(site)):
            return _fault(7, "ERROR!!! InvalidUrl")
        now = int(time.time() * 1000)
        with self.lock:
            self.feeds[feed] = {
                "__type": "Feed:#Microsoft.Bing.Webmaster.Api",
                "Compressed": False,
                "FileSize": 0,
                "LastCrawled": "/Date(-62135568000000-0800)/",  # never
                "Status": "Pending",
                "Submitted": f"/Date({now}-0700)/",
                "Type": "Sitemap",
                "Url": feed,
                "UrlCount": 0,
            }
        return _json(None)

    def _submit_urls(self, given: dict[str, Any]) -> Reply:
        site, urls = given.get("siteUrl"), given.get("urlList")
        if not self.sites.get(str(site)):
            return _fault(14, "ERROR!!! NotAuthorized")
        if not isinstance(urls, list) or not 0 < len(urls) <= 500:
            return _fault(8, "ERROR!!! InvalidParameter")
        if any(_host(url) != _host(str(site)) for url in urls):
            return _fault(7, "ERROR!!! InvalidUrl")
        with self.lock:
            left = min(self.quota.values())
            if len(urls) > left:
                problem = f"Quota remaining for today: {left}, Submitted: {len(urls)}"
                return _fault(8, f"ERROR!!! {problem}")
            for name in self.quota:
                self.quota[name] -= len(urls)
            self.urls += urls
        return _json(None)

    def _get_feeds(self, given: dict[str, Any]) -> Reply:
        return _json(list(self.feeds.values()))

    def _get_quota(self, given: dict[str, Any]) -> Reply:
        if not self.sites.get(str(given.get("siteUrl"))):
            return _fault(14, "ERROR!!! NotAuthorized")
        kind = "UrlSubmissionQuota:#Microsoft.Bing.Webmaster.Api"
        return _json({"__type": kind, **self.quota})

    def _get_url(self, given: dict[str, Any]) -> Reply:
        """Answer as Bing does of a page that is indexed: not that it is."""
        if not self.sites.get(str(given.get("siteUrl"))):
            return _fault(14, "ERROR!!! NotAuthorized")
        known = {"LastCrawledDate": "/Date(1790000000000-0700)/", "HttpStatus": 0}
        return _json({"Url": given["url"], "DocumentSize": 0, **known})

    def _get_sites(self, given: dict[str, Any]) -> Reply:
        kind = "Site:#Microsoft.Bing.Webmaster.Api"
        known = [
            {"Url": site, "IsVerified": is_it} for site, is_it in self.sites.items()
        ]
        return _json([{"__type": kind, **one} for one in known])


def _host(url: str) -> str | None:
    return urllib.parse.urlsplit(url).hostname


def _json(value: object) -> Reply:
    body = json.dumps({"d": value}).encode()
    return Reply(body=body, headers={"Content-Type": _JSON})


def _fault(code: int, message: str) -> Reply:
    body = json.dumps({"ErrorCode": code, "Message": message}).encode()
    return Reply(status=400, body=body, headers={"Content-Type": _JSON})
