"""
Bing's Webmaster API: submit URLs and sitemaps within their quota, and read status.

https://learn.microsoft.com/bingwebmaster. Of its protocols only the one with JSON has
not been retired.
"""

from __future__ import annotations

import dataclasses
import json
import re
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

from . import http
from .addresses import check_url
from .answers import as_count, as_mappings, as_text, json_object
from .base import Answer, Batch, CheckResult, Engine, Outcome, SitemapStatus, secret
from .errors import OptionError, TransportError

ENDPOINT = "https://ssl.bing.com/webmaster/api.svc/json"

#: The numbers of ``ApiErrorCode``.
#: https://learn.microsoft.com/dotnet/api/microsoft.bing.webmaster.api.interfaces.apierrorcode
_INVALID_KEY, _INVALID_URL, _INVALID_PARAMETER, _KNOWN = 3, 7, 8, 12
_THROTTLED = (4, 5)
_FAILED = (1, 2)
#: Of a user, a site or a permission: somebody has to do something.
_DENIED = (6, 10, 11, 13, 14)
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
    key: str = secret()
    #: Whether to submit URLs, not sitemaps only.
    urls: bool = True
    #: The URL of the API.
    endpoint: str = ENDPOINT

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
        """Tell whether it is to be notified of an event in a section."""
        return self.urls and super().wants(section, event)

    def submit(self, batch: Batch) -> Answer:
        """Submit a sitemap, or as many URLs as the quota allows."""
        host = urllib.parse.urlsplit(batch.origin).hostname
        if host != urllib.parse.urlsplit(self.site).hostname:
            return self._answer(
                Outcome.REJECTED,
                f"{batch.origin} is not part of the site {self.site}.",
            )
        try:
            if batch.are_sitemaps:
                feed = {"siteUrl": self.site, "feedUrl": batch.urls[0]}
                return self._read(self._ask("SubmitFeed", body=feed), "the sitemap")
            return self._submit_urls(batch)
        except TransportError as error:
            return self._unreachable(error)

    def check(self, origin: str, *, force: bool = False) -> list[CheckResult]:
        """Check that the site is verified, and what its quota is."""
        try:
            response = self._ask("GetUserSites")
            answer = self._read(response, "the question")
            if answer.outcome != Outcome.ACCEPTED:
                return [self._finding(answer.message, "Correct 'key'.")]
            known = as_mappings((json_object(response) or {}).get("d"))
            found = [self._site_result(known)]
            if found[0].is_good and self.urls:
                found.append(self._quota_result())
            return found
        except TransportError as error:
            return [self._finding(str(error), "Check 'endpoint' and the network.")]

    def status(self, locations: Sequence[str]) -> list[SitemapStatus]:
        """Return Bing's reports on sitemaps, which it gives all at once."""
        problem, feeds = "", dict[str, Mapping[str, Any]]()
        try:
            response = self._ask("GetFeeds", siteUrl=self.site)
            answer = self._read(response, "the question")
            if answer.outcome != Outcome.ACCEPTED:
                problem = answer.message
            listed = as_mappings((json_object(response) or {}).get("d"))
            feeds = {str(feed.get("Url")): feed for feed in listed}
        except TransportError as error:
            problem = self.redact(str(error))
        return [_status(one, feeds.get(one), problem) for one in locations]

    # Requests

    def _submit_urls(self, batch: Batch) -> Answer:
        response = self._ask("GetUrlSubmissionQuota", siteUrl=self.site)
        answer = self._read(response, "the question")
        if answer.outcome != Outcome.ACCEPTED:
            return dataclasses.replace(answer, is_unsent=True)
        quota = _quota(response)
        if quota is None:
            problem = "Bing's answer does not say how many URLs it takes."
            return self._answer(Outcome.UNAVAILABLE, problem, is_unsent=True)
        if min(quota) < 1:
            text = "Bing takes no more URLs: the quota of the site is used up."
            return self._exhausted(text, status=response.status, body=response.text)
        urls = list(batch.urls[: min(quota)])
        body = {"siteUrl": self.site, "urlList": urls}
        answer = self._read(self._ask("SubmitUrlBatch", body=body), "the URLs")
        return dataclasses.replace(answer, taken=len(urls))

    def _ask(
        self, method: str, body: Mapping[str, Any] | None = None, **query: str
    ) -> http.Response:
        """
        Call a method of the API: with a body by POST.

        Raises:
            TransportError: There is no answer.
        """
        asked = urllib.parse.urlencode({**query, "apikey": self.key})
        return http.send(
            "GET" if body is None else "POST",
            f"{self.endpoint.rstrip('/')}/{method}?{asked}",
            headers={"Content-Type": "application/json; charset=utf-8"},
            body=None if body is None else json.dumps(body).encode(),
            timeout=self.timeout,
        )

    # Answers

    def _read(self, response: http.Response, what: str) -> Answer:
        """Return what an answer means; faults also come with the status 200."""
        fault = json_object(response) or {}
        code, said = as_count(fault.get("ErrorCode")), str(fault.get("Message", ""))
        if code == _INVALID_PARAMETER and _QUOTA in said.lower():
            text = "Bing takes no more URLs: the quota of the site is used up."
            return self._exhausted(text, status=response.status, body=response.text)
        status = response.status
        if code:
            outcome, message = _of_code(code, what)
        elif response.is_success:
            outcome, message = Outcome.ACCEPTED, f"Bing accepted {what}."
        else:
            outcome, message = _of_status(status, what)
        wait = None if outcome == Outcome.ACCEPTED else response.retry_after
        if code in _THROTTLED and wait is None:
            wait = _THROTTLED_FOR
        return self._answer(
            outcome,
            message,
            status=status,
            body=response.text,
            retry_after=wait,
            is_divisible=outcome == Outcome.REJECTED,
        )

    def _site_result(self, known: Sequence[Mapping[str, Any]]) -> CheckResult:
        """Say whether the user has the site, under the name that the option has."""
        verified = {str(one.get("Url")): one.get("IsVerified") for one in known}
        if verified.get(self.site):
            text = f"Bing knows {self.site}, which is verified."
            return CheckResult(is_good=True, text=text)
        if self.site in verified:
            text = f"{self.site} is not verified."
            return self._finding(text, "Verify it in Bing Webmaster Tools.")
        seen = ", ".join(sorted(verified)[:20]) or "none"
        text = f"The user of this key does not have the site {self.site}, but {seen}."
        return self._finding(text, "Set 'site' to one of them, letter for letter.")

    def _quota_result(self) -> CheckResult:
        response = self._ask("GetUrlSubmissionQuota", siteUrl=self.site)
        quota = _quota(response)
        if quota is None:
            text = "Bing does not say how many URLs it takes."
            return self._finding(text, "Try again later, or set 'urls' to False.")
        text = f"Bing takes {quota[0]:,} more URLs today, and {quota[1]:,} this month."
        return CheckResult(is_good=True, text=text)


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
        return Outcome.UNAVAILABLE, f"{problem}: see ping_sitemaps --check."
    if code in (_INVALID_URL, _INVALID_PARAMETER) and what == "the URLs":
        return Outcome.REJECTED, f"Bing finds one of the URLs invalid (error {code})."
    # As for some minutes after a site was verified.
    return Outcome.UNAVAILABLE, f"Bing refuses {what} (error {code})."


def _of_status(status: int, what: str) -> tuple[Outcome, str]:
    if status == 429:
        return Outcome.THROTTLED, "Bing asks for fewer requests (429)."
    if status in (400, 413):
        return Outcome.REJECTED, f"Bing cannot read the request ({status})."
    if status in (401, 403):
        problem = f"Bing rejects the API key ({status}): check 'key'."
    elif 300 <= status < 400:
        problem = f"Bing's API answers with a redirect ({status}): check 'endpoint'."
    elif status >= 500:
        problem = f"Bing has an internal error ({status})."
    else:
        problem = f"Bing refuses {what} ({status})."
    return Outcome.UNAVAILABLE, problem


def _quota(response: http.Response) -> tuple[int, int] | None:
    """Return how many URLs are left today and this month."""
    said = (json_object(response) or {}).get("d")
    found = said if isinstance(said, dict) else {}
    daily, monthly = (as_count(found.get(n)) for n in ("DailyQuota", "MonthlyQuota"))
    return None if daily is None or monthly is None else (daily, monthly)


def _status(
    location: str, feed: Mapping[str, Any] | None, problem: str
) -> SitemapStatus:
    if feed is None:
        problem = problem or "The sitemap was never submitted to Bing."
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
    found = _DATE.fullmatch(str(value))
    if found is None:
        return None
    try:
        moment = _EPOCH + timedelta(milliseconds=int(found[1]))
    except OverflowError:
        return None
    return moment.isoformat(timespec="seconds").replace("+00:00", "Z")
