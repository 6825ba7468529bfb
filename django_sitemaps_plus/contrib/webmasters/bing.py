"""
Bing's Webmaster API: submit URLs and sitemaps within their quota, and read status.

https://learn.microsoft.com/bingwebmaster. Of its protocols only the one with JSON has
not been retired.
"""

from __future__ import annotations

import dataclasses
import re
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from django_sitemaps_plus.engines import http
from django_sitemaps_plus.engines.addresses import check_url
from django_sitemaps_plus.engines.base import (
    Answer,
    Batch,
    CheckResult,
    Engine,
    OptionError,
    Outcome,
    SitemapStatus,
    secret_option,
)
from django_sitemaps_plus.engines.http import explained

from .answers import as_count, as_text, of_account, parts_of, unless_refused

_ENDPOINT = "https://ssl.bing.com/webmaster/api.svc/json"

#: The numbers of ``ApiErrorCode``.
#: https://learn.microsoft.com/dotnet/api/microsoft.bing.webmaster.api.interfaces.apierrorcode
_INVALID_KEY, _INVALID_URL, _INVALID_PARAMETER, _KNOWN = 3, 7, 8, 12
_THROTTLED = (4, 5)
_FAILED = (1, 2)
#: Of a user, a site or a permission: somebody has to do something.
_DENIED = (6, 10, 11, 13, 14)
#: What is sent where something is asked.
_QUESTION = "the question"
#: In the message of an invalid parameter, if it is that the quota is used up.
_QUOTA = "quota"
#: Seconds to stay away when throttled: it is for hours.
_THROTTLED_FOR = 3_600.0

#: A date as the JSON has it: milliseconds since 1970, and an offset to ignore.
_DATE = re.compile(r"/Date\(([0-9]{1,15})([+-][0-9]{4})?\)/")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SITE = re.compile(r"https?://[^/?#@\s]+(/[^?#\s]*)?")


@dataclass(frozen=True, kw_only=True)
class BingWebmaster(Engine):
    """Submit URLs and sitemaps that changed."""

    name: ClassVar[str] = "Bing Webmaster"
    takes_urls: ClassVar[bool] = True
    takes_sitemaps: ClassVar[bool] = True
    max_urls: ClassVar[int] = 500

    #: The site, as Bing Webmaster Tools lists it: ``https://www.example.com/``.
    site: str
    #: The API key of the user.
    key: str = secret_option()
    #: Whether to submit URLs, not sitemaps only.
    urls: bool = True
    #: The URL of the API.
    endpoint: str = _ENDPOINT

    def __post_init__(self) -> None:
        """
        Check the options.

        Raises:
            OptionError: One of them is invalid.
        """
        super().__post_init__()
        if not self._has_text("site") or not _SITE.fullmatch(self.site):
            problem = f"is {self.site!r}; use for example 'https://www.example.com/'."
            raise OptionError("site", problem)
        if not self._has_text("key"):
            problem = (
                "is empty: Bing Webmaster Tools has it under Settings, API access."
            )
            raise OptionError("key", problem)
        if not isinstance(self.urls, bool):
            raise OptionError("urls", f"is {self.urls!r}; use True or False.")
        check_url("endpoint", self.endpoint)

    def wants(self, section: str, event: str) -> bool:
        """Return whether it is to be notified of an event in a section."""
        return self.urls and super().wants(section, event)

    def submit(self, batch: Batch) -> Answer:
        """Submit a sitemap, or as many URLs as the quota allows."""
        host = urllib.parse.urlsplit(batch.origin).hostname
        if host != urllib.parse.urlsplit(self.site).hostname:
            problem = f"{batch.origin} is not part of the site {self.site}."
            return Answer(outcome=Outcome.REJECTED, message=problem)
        if batch.are_sitemaps:
            feed = {"siteUrl": self.site, "feedUrl": batch.urls[0]}
            return self._read(self._ask("SubmitFeed", feed), "the sitemap")
        response = self._question("GetUrlSubmissionQuota", siteUrl=self.site)
        quota = _quota(response)
        if quota is None:
            problem = "Bing's answer does not say how many URLs it takes."
            return self._answer_to(
                response, Outcome.UNAVAILABLE, problem, is_unsent=True
            )
        if min(quota) < 1:
            return self._exhausted(response, "the site")
        urls = list(batch.urls[: min(quota)])
        body = {"siteUrl": self.site, "urlList": urls}
        answer = self._read(self._ask("SubmitUrlBatch", body), "the URLs")
        return dataclasses.replace(answer, taken=len(urls))

    def check(self, origin: str, *, force: bool = False) -> list[CheckResult]:
        """Check that the site is verified, and what its quota is."""
        sites = parts_of(self._question("GetUserSites").json_object.get("d"), dict)
        verified = {str(one.get("Url")): one.get("IsVerified") for one in sites}
        results = [of_account("Bing", self.site, verified, "site")]
        if results[0].is_good and self.urls:
            results.append(self._quota_result())
        return results

    def status(self, locations: Sequence[str]) -> list[SitemapStatus]:
        """Return Bing's reports on sitemaps, which it gives together."""
        said = self._question("GetFeeds", siteUrl=self.site).json_object
        feeds = {str(feed.get("Url")): feed for feed in parts_of(said.get("d"), dict)}
        return [_status(one, feeds.get(one)) for one in locations]

    def last_crawled(self, url: str) -> str | None:
        """
        Return when Bing last crawled a URL; None if it does not say.

        Whether it is indexed cannot be told: of indexed pages, too, Bing answers that
        their size is 0. Raises as ``check`` does.
        """
        said = self._question("GetUrlInfo", siteUrl=self.site, url=url).json_object
        info = said["d"] if isinstance(said.get("d"), dict) else {}
        return _moment(info.get("LastCrawledDate"))

    # Requests

    def _question(self, method: str, **query: str) -> http.Response:
        """
        Return the answer to a question.

        Raises:
            Refused: Bing does not answer it.
            TransportError: There is no answer.
        """
        response = self._ask(method, None, **query)
        return unless_refused(response, self._read(response, _QUESTION))

    def _ask(
        self, method: str, document: Mapping[str, Any] | None, **query: str
    ) -> http.Response:
        """
        Call a method of the API: with a document by POST.

        Raises:
            TransportError: There is no answer.
        """
        asked = urllib.parse.urlencode({**query, "apikey": self.key})
        return http.send(
            "GET" if document is None else "POST",
            f"{self.endpoint.rstrip('/')}/{method}?{asked}",
            headers={"Content-Type": "application/json; charset=utf-8"},
            document=document,
            timeout=self.timeout,
        )

    # Answers

    def _read(self, response: http.Response, what: str) -> Answer:
        """Return what an answer means; faults also come with the status 200."""
        said = response.json_object
        fault = said["d"] if isinstance(said.get("d"), dict) else said
        code, text = as_count(fault.get("ErrorCode")), str(fault.get("Message", ""))
        if code == _INVALID_PARAMETER and _QUOTA in text.lower():
            return self._exhausted(response, "the site")
        if code:
            outcome, message = _of_code(code, what)
        else:
            promised = response.is_success and "d" in said
            outcome, message = explained(
                response, "Bing", what, proof="key", promised=promised
            )
        is_divisible = outcome == Outcome.REJECTED
        answer = self._answer_to(response, outcome, message, is_divisible=is_divisible)
        if code in _THROTTLED and answer.retry_after is None:
            answer = dataclasses.replace(answer, retry_after=_THROTTLED_FOR)
        return answer

    def _quota_result(self) -> CheckResult:
        response = self._ask("GetUrlSubmissionQuota", None, siteUrl=self.site)
        quota = _quota(response)
        if quota is None:
            text = "Bing does not say how many URLs it takes."
            return CheckResult.bad(text, "Try again later, or set 'urls' to False.")
        text = f"Bing takes {quota[0]:,} more URLs today, and {quota[1]:,} this month."
        return CheckResult.good(text)


def _of_code(code: int, what: str) -> tuple[Outcome, str]:
    """Explain a number of ``ApiErrorCode``."""
    if code == _KNOWN:
        return Outcome.ACCEPTED, f"Bing knows {what} already."
    if code in _THROTTLED:
        return Outcome.THROTTLED, f"Bing asks for fewer requests (error {code})."
    if code in _FAILED:
        return Outcome.UNAVAILABLE, f"Bing has an internal error ({code})."
    if code == _INVALID_KEY:
        return Outcome.UNAVAILABLE, "Bing rejects the API key: check 'key'."
    if code in _DENIED:
        problem = f"Bing does not let this user submit {what} (error {code})"
        fix = "check 'key'" if what == _QUESTION else "see ping_sitemaps --check"
        return Outcome.UNAVAILABLE, f"{problem}: {fix}."
    if code in (_INVALID_URL, _INVALID_PARAMETER) and what == "the URLs":
        return Outcome.REJECTED, f"Bing finds one of the URLs invalid (error {code})."
    # As for some minutes after a site was verified.
    return Outcome.UNAVAILABLE, f"Bing refuses {what} (error {code})."


def _quota(response: http.Response) -> tuple[int, int] | None:
    """Return how many URLs are left today and this month."""
    said = response.json_object.get("d")
    quota = said if isinstance(said, dict) else {}
    daily, monthly = (as_count(quota.get(n)) for n in ("DailyQuota", "MonthlyQuota"))
    return None if daily is None or monthly is None else (daily, monthly)


def _status(location: str, feed: Mapping[str, Any] | None) -> SitemapStatus:
    if feed is None:
        problem = "The sitemap was never submitted to Bing."
        return SitemapStatus(location=location, problem=problem)
    state, urls = as_text(feed.get("Status")) or "", as_count(feed.get("UrlCount"))
    is_known = state in ("Success", "Pending")
    return SitemapStatus(
        location=location,
        last_submitted=_moment(feed.get("Submitted")),
        last_downloaded=_moment(feed.get("LastCrawled")),
        is_pending=state == "Pending" if is_known else None,
        submitted={} if urls is None else {"web": urls},
        problem="" if is_known else f"Bing says: {state}.",
    )


def _moment(value: object) -> str | None:
    """Return a date as RFC 3339 has it; the year 1 means never."""
    match = _DATE.fullmatch(str(value))
    if match is None:
        return None
    try:
        moment = _EPOCH + timedelta(milliseconds=int(match[1]))
    except OverflowError:
        return None
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
