"""
Yandex's Webmaster API, version 4: register sitemaps, and have pages crawled again.

https://yandex.com/dev/webmaster/doc/en/. A sitemap is registered once: Yandex reads it
again by itself. The queue of pages to crawl has a small quota a day, and IndexNow
reaches Yandex without one, so it is used only if ``recrawl`` is set.
"""

from __future__ import annotations

import json
import urllib.parse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

from . import http
from .addresses import check_url
from .answers import as_count, as_mappings, as_text, json_object
from .base import Answer, Batch, CheckResult, Engine, Outcome, SitemapStatus, secret
from .errors import OptionError, TransportError

ENDPOINT = "https://api.webmaster.yandex.net/v4"
#: Seconds between two registrations of the same sitemap, of which one is enough: a day,
#: in case that somebody deleted it.
REGISTERED_FOR = 86_400.0

_DEFAULT_PORTS = {"http": 80, "https": 443}
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
    token: str = secret()
    #: The site, as the API names it: ``https:www.example.com:443``. None: the site that
    #: URLs belong to.
    host_id: str | None = None
    #: Whether to submit URLs too, as many as the daily quota allows.
    recrawl: bool = False
    #: The URL of the API.
    endpoint: str = ENDPOINT

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
        """Tell whether it is to be notified of an event in a section."""
        return self.recrawl and super().wants(section, event)

    def interval_of(self, *, is_sitemap: bool) -> float:
        """Return the least seconds between two submissions of the same URL."""
        interval = super().interval_of(is_sitemap=is_sitemap)
        return max(interval, REGISTERED_FOR) if is_sitemap else interval

    def submit(self, batch: Batch) -> Answer:
        """Register a sitemap, or have one page crawled again."""
        (location,) = batch.urls
        try:
            host = self._host(batch.origin)
            if isinstance(host, Answer):
                return host
            if batch.are_sitemaps:
                path = f"{host}/user-added-sitemaps"
                return self._read(self._ask("POST", path, url=location), "the sitemap")
            return self._recrawl(host, location)
        except TransportError as error:
            return self._unreachable(error)

    def check(self, origin: str, *, force: bool = False) -> list[CheckResult]:
        """Check that the site is verified, and what its quota is."""
        try:
            user = self._user_path()
            if isinstance(user, Answer):
                return [self._finding(user.message, "Correct 'token'.")]
            response = self._ask("GET", f"{user}/hosts")
            answer = self._read(response, "the question")
            if answer.outcome != Outcome.ACCEPTED:
                return [self._finding(answer.message, "Correct 'token'.")]
            known = as_mappings((json_object(response) or {}).get("hosts"))
            found = [self._host_result(origin, known)]
            if found[0].is_good and self.recrawl:
                found.append(self._quota_result(origin, user))
            return found
        except TransportError as error:
            return [self._finding(str(error), "Check 'endpoint' and the network.")]

    def status(self, locations: Sequence[str]) -> list[SitemapStatus]:
        """Return Yandex's reports on sitemaps, which it gives all at once."""
        problem, known = "", dict[str, Mapping[str, Any]]()
        try:
            host = self._host(locations[0]) if locations else ""
            if isinstance(host, Answer):
                problem = host.message
            elif host:
                response = self._ask("GET", f"{host}/sitemaps?limit=100")
                answer = self._read(response, "the question")
                if answer.outcome != Outcome.ACCEPTED:
                    problem = answer.message
                listed = as_mappings((json_object(response) or {}).get("sitemaps"))
                known = {str(one.get("sitemap_url")): one for one in listed}
        except TransportError as error:
            problem = self.redact(str(error))
        return [_status(one, known.get(one), problem) for one in locations]

    # Requests

    def _recrawl(self, host: str, location: str) -> Answer:
        """Put a page into the queue, if the quota of the day allows."""
        response = self._ask("GET", f"{host}/recrawl/quota")
        answer = self._read(response, "the question")
        if answer.outcome != Outcome.ACCEPTED:
            return answer
        if _quota(response) == 0:
            text = "Yandex takes no more pages: the quota of the day is used up."
            return self._exhausted(text, status=response.status, body=response.text)
        posted = self._ask("POST", f"{host}/recrawl/queue", url=location)
        return self._read(posted, "the page")

    def _host(self, address: str) -> str | Answer:
        """Return the path of the site, or why it is not known."""
        user = self._user_path()
        if isinstance(user, Answer):
            return user
        host = urllib.parse.quote(self._host_id(address), safe=":")
        return f"{user}/hosts/{host}"

    def _host_id(self, address: str) -> str:
        if self.host_id is not None:
            return self.host_id
        parts = urllib.parse.urlsplit(address)
        port = parts.port or _DEFAULT_PORTS.get(parts.scheme, 443)
        return f"{parts.scheme}:{parts.hostname}:{port}"

    def _user_path(self) -> str | Answer:
        """Return the path of the token's user, who is asked for once."""
        if not self._user:
            response = self._ask("GET", "/user")
            number = as_count((json_object(response) or {}).get("user_id"))
            if not response.is_success:
                return self._read(response, "the token")
            if number is None:
                problem = "Yandex's answer does not say whose token it is."
                return self._answer_to(response, Outcome.UNAVAILABLE, problem)
            self._user.append(number)
        return f"/user/{self._user[0]}"

    def _ask(self, method: str, path: str, **body: str) -> http.Response:
        """
        Call a method of the API.

        Raises:
            TransportError: There is no answer.
        """
        return http.send(
            method,
            f"{self.endpoint.rstrip('/')}{path}",
            headers={
                "Authorization": f"OAuth {self.token}",
                "Content-Type": "application/json",
            },
            body=json.dumps(body).encode() if body else None,
            timeout=self.timeout,
        )

    # Answers

    def _read(self, response: http.Response, what: str) -> Answer:
        """Return what an answer means; to have it already is a success."""
        said = {} if response.is_success else json_object(response) or {}
        code = str(said.get("error_code", ""))
        if code == _EXHAUSTED:
            text = "Yandex takes no more pages: the quota of the day is used up."
            return self._exhausted(text, status=response.status, body=response.text)
        if code == _OTHER_USER:
            self._user.clear()
        outcome, message = _explained(response.status, code, what)
        return self._answer_to(response, outcome, message)

    def _host_result(
        self, origin: str, known: Sequence[Mapping[str, Any]]
    ) -> CheckResult:
        """Say whether the user has the site, and may submit for it."""
        own = self._host_id(origin)
        verified = {str(one.get("host_id")): one.get("verified") for one in known}
        if verified.get(own):
            return CheckResult(is_good=True, text=f"{own} is verified at Yandex.")
        if own in verified:
            text = f"{own} is not verified at Yandex."
            return self._finding(text, "Verify it in Yandex Webmaster.")
        seen = ", ".join(sorted(verified)[:20]) or "none"
        text = f"The user of this token does not have the site {own}, but {seen}."
        return self._finding(text, "Add it in Yandex Webmaster, or correct 'host_id'.")

    def _quota_result(self, origin: str, user: str) -> CheckResult:
        host = urllib.parse.quote(self._host_id(origin), safe=":")
        left = _quota(self._ask("GET", f"{user}/hosts/{host}/recrawl/quota"))
        if left is None:
            text = "Yandex does not say how many pages it takes."
            return self._finding(text, "Try again later, or set 'recrawl' to False.")
        return CheckResult(
            is_good=True, text=f"Yandex takes {left:,} more pages today."
        )


def _explained(status: int, code: str, what: str) -> tuple[Outcome, str]:
    if 200 <= status < 300:
        return Outcome.ACCEPTED, f"Yandex accepted {what}."
    if status == 409 and code in _KNOWN:
        return Outcome.ACCEPTED, f"Yandex has {what} already."
    shown = f"{status} {code}".strip()
    if status == 429:
        return Outcome.THROTTLED, f"Yandex asks for fewer requests ({shown})."
    if status in (400, 413, 422) and code not in _NOT_READY:
        return Outcome.REJECTED, f"Yandex cannot use {what} ({shown})."
    if status in (401, 403):
        problem = f"Yandex rejects the token ({shown}): check 'token'."
    elif status in (400, 404):
        problem = f"Yandex does not serve this site yet ({shown}): verify it there."
    elif 300 <= status < 400:
        problem = f"Yandex's API answers with a redirect ({shown}): check 'endpoint'."
    elif status >= 500:
        problem = f"Yandex has an internal error ({shown})."
    else:
        problem = f"Yandex refuses {what} ({shown})."
    return Outcome.UNAVAILABLE, problem


def _quota(response: http.Response) -> int | None:
    """Return how many pages are left today; None if it is not said."""
    return as_count((json_object(response) or {}).get("quota_remainder"))


def _status(
    location: str, known: Mapping[str, Any] | None, problem: str
) -> SitemapStatus:
    if known is None:
        problem = problem or "Yandex's robots have not read the sitemap yet."
        return SitemapStatus(location=location, problem=problem)
    urls = as_count(known.get("urls_count"))
    return SitemapStatus(
        location=location,
        last_downloaded=as_text(known.get("last_access_date")),
        errors=as_count(known.get("errors_count")),
        submitted={} if urls is None else {"web": urls},
    )
