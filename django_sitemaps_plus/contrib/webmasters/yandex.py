"""
Yandex's Webmaster API, version 4: register sitemaps, and have pages crawled again.

https://yandex.com/dev/webmaster/doc/en/. A sitemap is registered once: Yandex reads it
again by itself. The queue of pages to crawl has a small quota a day, and IndexNow
reaches Yandex without one, so it is used only if ``recrawl`` is set.
"""

from __future__ import annotations

import time
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, ClassVar

from django_sitemaps_plus.engines import http
from django_sitemaps_plus.engines.addresses import Target, check_url
from django_sitemaps_plus.engines.base import (
    Answer,
    Batch,
    CheckResult,
    Engine,
    OptionError,
    Outcome,
    Refused,
    SitemapStatus,
    secret_option,
)
from django_sitemaps_plus.engines.http import explained

from .answers import as_count, as_text, of_account, parts_of, unless_refused

_ENDPOINT = "https://api.webmaster.yandex.net/v4"
#: Seconds between two registrations of the same sitemap. One would be enough, unless
#: somebody deleted it.
_REGISTERED_FOR = 86_400.0

#: Codes of errors that say that Yandex has it already.
_KNOWN = ("SITEMAP_ALREADY_ADDED", "URL_ALREADY_ADDED")
#: That mean that a person has to do something, though the status is 400.
_NOT_READY = ("HOST_NOT_LOADED", "HOST_NOT_INDEXED")
_EXHAUSTED = "QUOTA_EXCEEDED"
_OTHER_USER = "INVALID_USER_ID"


@dataclass(frozen=True, kw_only=True)
class YandexWebmaster(Engine):
    """Register the sitemap, and with ``recrawl`` submit URLs within the quota."""

    name: ClassVar[str] = "Yandex Webmaster"
    takes_urls: ClassVar[bool] = True
    takes_sitemaps: ClassVar[bool] = True

    #: An OAuth token with the permissions of Yandex Webmaster.
    token: str = secret_option()
    #: The site, as the API names it: ``https:www.example.com:443``. None: the site that
    #: URLs belong to.
    host_id: str | None = None
    #: Whether to submit URLs too, as many as the daily quota allows.
    recrawl: bool = False
    #: The URL of the API.
    endpoint: str = _ENDPOINT

    #: The number of the token's user, once it is known.
    _user: list[int] = field(
        default_factory=list, init=False, repr=False, compare=False
    )

    def __post_init__(self) -> None:
        """
        Check the options.

        Raises:
            OptionError: One of them is invalid.
        """
        super().__post_init__()
        if not self._has_text("token"):
            raise OptionError("token", "is empty: use an OAuth token of Yandex.")
        if not self.token.isascii() or not self.token.isprintable():
            raise OptionError("token", "has characters that no token has.")
        if self.host_id is not None and str(self.host_id).count(":") != 2:
            example = "'https:www.example.com:443'"
            problem = f"is {self.host_id!r}; use for example {example}."
            raise OptionError("host_id", problem)
        if not isinstance(self.recrawl, bool):
            raise OptionError("recrawl", f"is {self.recrawl!r}; use True or False.")
        check_url("endpoint", self.endpoint)

    def wants(self, section: str, event: str) -> bool:
        """Return whether it is to be notified of an event in a section."""
        return self.recrawl and super().wants(section, event)

    def interval_of(self, *, is_sitemap: bool) -> float:
        """Return the least seconds between two submissions of the same URL."""
        interval = super().interval_of(is_sitemap=is_sitemap)
        return max(interval, _REGISTERED_FOR) if is_sitemap else interval

    def submit(self, batch: Batch) -> Answer:
        """Register a sitemap, or have one page crawled again."""
        (location,) = batch.urls
        host = self._host(batch.origin)
        if batch.are_sitemaps:
            path = f"{host}/user-added-sitemaps"
            posted = self._ask("POST", path, url=location)
            return self._read(posted, "the sitemap", "sitemap_id")
        quota = self._question(f"{host}/recrawl/quota", "quota_remainder")
        if _quota(quota) == 0:
            return self._exhausted(quota, "the day")
        posted = self._ask("POST", f"{host}/recrawl/queue", url=location)
        return self._read(posted, "the page", "task_id")

    def check(self, origin: str, *, force: bool = False) -> list[CheckResult]:
        """Check that the site is verified, and what its quota is."""
        said = self._question(f"{self._user_path()}/hosts", "hosts").json_object
        hosts = parts_of(said.get("hosts"), dict)
        verified = {str(one.get("host_id")): one.get("verified") for one in hosts}
        host_id = self._host_id(origin)
        results = [of_account("Yandex", host_id, verified, "host_id")]
        if results[0].is_good and self.recrawl:
            results.append(self._quota_result(origin))
        return results

    def status(self, locations: Sequence[str]) -> list[SitemapStatus]:
        """Return Yandex's reports on sitemaps, which it gives together."""
        if not locations:
            return []
        path = f"{self._host(locations[0])}/sitemaps?limit=100"
        said = self._question(path, "sitemaps").json_object
        listed = parts_of(said.get("sitemaps"), dict)
        reports = {str(one.get("sitemap_url")): one for one in listed}
        return [_status(one, reports.get(one)) for one in locations]

    # Requests

    def _host(self, address: str) -> str:
        """Return the path of the site; raises as ``_question()``."""
        host = urllib.parse.quote(self._host_id(address), safe=":")
        return f"{self._user_path()}/hosts/{host}"

    def _host_id(self, address: str) -> str:
        if self.host_id is not None:
            return self.host_id
        target = Target.parse(address, plain=True)
        return f"{target.scheme}:{target.host}:{target.port}"

    def _user_path(self) -> str:
        """Return the path of the token's user, who is asked for once."""
        if not self._user:
            response = self._question("/user", "user_id")
            number = as_count(response.json_object.get("user_id"))
            if number is None:
                problem = "Yandex's answer does not say whose token it is."
                answer = self._answer_to(response, Outcome.UNAVAILABLE, problem)
                raise Refused(answer, "Correct 'token'.")
            self._user.append(number)
        return f"/user/{self._user[0]}"

    def _question(self, path: str, asked: str) -> http.Response:
        """
        Return the answer to a question, which has what was ``asked``.

        Raises:
            Refused: Yandex does not answer it.
            TransportError: There is no answer.
        """
        response = self._ask("GET", path)
        return unless_refused(response, self._read(response, "the question", asked))

    def _ask(self, method: str, path: str, **document: str) -> http.Response:
        """
        Call a method of the API.

        Raises:
            TransportError: There is no answer.
        """
        return http.send(
            method,
            f"{self.endpoint.rstrip('/')}{path}",
            headers={"Authorization": f"OAuth {self.token}"},
            document=document or None,
            timeout=self.timeout,
        )

    # Answers

    def _read(self, response: http.Response, what: str, promised: str) -> Answer:
        """
        Return what an answer means; to have it already is a success.

        ``promised`` is what the JSON of another success has.
        """
        said = response.json_object
        code = str(said.get("error_code", ""))
        if code == _EXHAUSTED:
            return self._exhausted(response, "the day", _renewed_in(said))
        if code == _OTHER_USER:
            self._user.clear()
        outcome, message = explained(
            response,
            "Yandex",
            what,
            code=code,
            proof="token",
            promised=promised in said if response.is_success else bool(code),
        )
        if response.status == 409 and code in _KNOWN:
            outcome, message = Outcome.ACCEPTED, f"Yandex has {what} already."
        elif response.status == 404 or code in _NOT_READY:
            outcome = Outcome.UNAVAILABLE
            shown = f"{response.status} {code}".strip()
            message = f"Yandex does not serve this site yet ({shown}): verify it there."
        return self._answer_to(response, outcome, message)

    def _quota_result(self, origin: str) -> CheckResult:
        left = _quota(self._ask("GET", f"{self._host(origin)}/recrawl/quota"))
        if left is None:
            text = "Yandex does not say how many pages it takes."
            return CheckResult.bad(text, "Try again later, or set 'recrawl' to False.")
        return CheckResult.good(f"Yandex takes {left:,} more pages today.")


def _quota(response: http.Response) -> int | None:
    """Return how many pages are left today; None if it is not said."""
    return as_count(response.json_object.get("quota_remainder"))


def _renewed_in(said: Mapping[str, Any]) -> float | None:
    """Return the seconds until the quota is renewed; None if Yandex does not say."""
    try:
        until = datetime.fromisoformat(str(said.get("exceeded_until")))
        seconds = until.timestamp() - time.time()
    except (ValueError, OverflowError):
        return None
    return seconds if seconds > 0 else None


def _status(location: str, report: Mapping[str, Any] | None) -> SitemapStatus:
    if report is None:
        problem = "Yandex's robots have not read the sitemap yet."
        return SitemapStatus(location=location, problem=problem)
    urls = as_count(report.get("urls_count"))
    return SitemapStatus(
        location=location,
        last_downloaded=as_text(report.get("last_access_date")),
        errors=as_count(report.get("errors_count")),
        submitted={} if urls is None else {"web": urls},
    )
