"""
Baidu's push interface: submit URLs.

https://ziyuan.baidu.com/linksubmit/index (in Chinese, and only with an account). It
exists with plain http only, so anybody on the way can read the token, which
allows to submit URLs of the site and nothing else.
"""

from __future__ import annotations

import dataclasses
import time
import urllib.parse
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from . import http
from .addresses import check_url
from .answers import as_count, as_text, explained, json_object, parts_of
from .base import Answer, Batch, CheckResult, Engine, Outcome, secret
from .errors import OptionError

ENDPOINT = "http://data.zz.baidu.com/urls"

#: Messages of the status 400, word for word.
_OVER_QUOTA, _TOO_MANY = "over quota", "only 2000 urls are allowed once"
_OF_THE_SITE = ("site error", "site init fail")
#: A quota is for a day in Beijing, eight hours before UTC. Ten minutes more, because
#: clocks differ: asked too early, we would wait for one more day.
_DAY, _BEGINS = 86_400.0, -8 * 3_600.0 + 600.0


@dataclass(frozen=True, kw_only=True)
class Baidu(Engine):
    """Submit URLs that were added or changed."""

    name: ClassVar[str] = "Baidu"
    takes_urls: ClassVar[bool] = True
    max_urls: ClassVar[int] = 2_000

    #: The site, as the push address in Baidu's console has it: ``www.example.com`` or
    #: ``https://www.example.com``.
    site: str
    #: The token of that address.
    token: str = secret()
    #: The URL to push to.
    endpoint: str = ENDPOINT

    def __post_init__(self) -> None:
        """
        Check the options.

        Raises:
            OptionError: One of them is invalid.
        """
        super().__post_init__()
        if not self._has_text("site") or not _host(self.site):
            problem = f"is {self.site!r}; use for example 'www.example.com'."
            raise OptionError("site", problem)
        if not self._has_text("token"):
            raise OptionError("token", "is empty: copy it from Baidu's push address.")
        check_url("endpoint", self.endpoint, plain=True)

    def wants(self, section: str, event: str) -> bool:
        """Return whether it is to be notified of an event: not of removed URLs."""
        return event != "removed" and super().wants(section, event)

    def submit(self, batch: Batch) -> Answer:
        """Push URLs; those that are not of the site, or no URLs, are refused alone."""
        urls = batch.urls
        response = self._push(urls)
        if _message(response) == _OVER_QUOTA and len(urls) > 1:
            # It does not say how many are left, except of URLs that it takes.
            urls = urls[:1]
            response = self._push(urls)
        return dataclasses.replace(self._read(urls, response), taken=len(urls))

    def check(self, origin: str, *, force: bool = False) -> list[CheckResult]:
        """Check that the site is this one; Baidu has nothing that could be asked."""
        host = urllib.parse.urlsplit(origin).hostname
        if _host(self.site) != host:
            text = f"'site' is {self.site}, but the host of the site is {host}."
            return [CheckResult.bad(text, "Correct 'site'.")]
        text = "Baidu says only of a submission whether site and token are right."
        return [CheckResult.good(text)]

    def _push(self, urls: Sequence[str]) -> http.Response:
        query = urllib.parse.urlencode({"site": self.site, "token": self.token})
        return http.send(
            "POST",
            f"{self.endpoint}?{query}",
            headers={"Content-Type": "text/plain"},
            body="\n".join(urls).encode(),
            timeout=self.timeout,
            plain=True,
        )

    def _read(self, urls: Sequence[str], response: http.Response) -> Answer:
        """Return what an answer means; it has to account for each URL."""
        message, said = _message(response), json_object(response)
        if message == _OVER_QUOTA:
            return self._exhausted(response, "the day", _until_tomorrow())
        named = (said.get("not_same_site"), said.get("not_valid"))
        refused = {url for urls in named for url in parts_of(urls, str)}
        refused_urls = [url for url in urls if url in refused]
        accepted = as_count(said.get("success"))
        is_whole = accepted == len(urls) - len(refused_urls)
        outcome, text = explained(
            response,
            "Baidu",
            "the URLs",
            code=message,
            proof="token",
            promised=is_whole if response.is_success else bool(message),
        )
        if outcome == Outcome.ACCEPTED:
            return self._accepted(urls, refused_urls, response)
        if message in _OF_THE_SITE:
            outcome = Outcome.UNAVAILABLE
            text = f"Baidu does not know the site ({message}): check 'site'."
        is_too_much = message == _TOO_MANY or response.status == 413
        return self._answer_to(response, outcome, text, is_divisible=is_too_much)

    def _accepted(
        self, urls: Sequence[str], refused: Sequence[str], response: http.Response
    ) -> Answer:
        accepted = len(urls) - len(refused)
        left = as_count(json_object(response).get("remain"))
        parts = [f"Baidu accepted {accepted:,} of {len(urls):,} URLs."]
        if refused:
            parts.append(f"The others are not of the site {self.site}.")
        if left is not None:
            parts.append(f"It takes {left:,} more today.")
        return self._answer_to(
            response,
            Outcome.ACCEPTED if accepted else Outcome.REJECTED,
            " ".join(parts),
            refused=refused,
            left=left,
            retry_after=_until_tomorrow() if left == 0 else None,
        )


def _message(response: http.Response) -> str:
    """Return what Baidu says of an error; empty if it says nothing."""
    return as_text(json_object(response).get("message")) or ""


def _until_tomorrow() -> float:
    """Return the seconds until the next day's quota is certainly there."""
    return _DAY - (time.time() - _BEGINS) % _DAY


def _host(site: str) -> str:
    """Return the host of a site, which may be given without its scheme."""
    try:
        parts = urllib.parse.urlsplit(site if "//" in site else f"//{site}")
        return parts.hostname or ""
    except ValueError:
        return ""
