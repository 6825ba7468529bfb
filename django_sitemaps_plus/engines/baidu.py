"""
Baidu's push interface: submit URLs.

https://ziyuan.baidu.com/linksubmit/index (in Chinese, and only with an account). It
exists with plain http only, so whoever is on the way can read the token; with it one
can submit URLs of the site, and no more.
"""

from __future__ import annotations

import urllib.parse
from dataclasses import dataclass
from typing import ClassVar

from . import http
from .addresses import check_url
from .answers import as_count, as_text, as_texts, json_object
from .base import Answer, Batch, CheckResult, Engine, Outcome, secret
from .errors import OptionError, TransportError

ENDPOINT = "http://data.zz.baidu.com/urls"

#: Messages of the status 400, word for word.
_OVER_QUOTA, _TOO_MANY = "over quota", "only 2000 urls are allowed once"
_OF_THE_SITE = ("site error", "site init fail")


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
        """Tell whether it is to be notified of an event: not of removed URLs."""
        return event != "removed" and super().wants(section, event)

    def submit(self, batch: Batch) -> Answer:
        """Push URLs; those that are not of the site, or no URLs, are refused alone."""
        query = urllib.parse.urlencode({"site": self.site, "token": self.token})
        try:
            response = http.send(
                "POST",
                f"{self.endpoint}?{query}",
                headers={"Content-Type": "text/plain"},
                body="\n".join(batch.urls).encode(),
                timeout=self.timeout,
                plain=True,
            )
        except TransportError as error:
            return self._unreachable(error)
        if response.is_success:
            return self._accepted(batch, response)
        return self._refused(batch, response)

    def check(self, origin: str, *, force: bool = False) -> list[CheckResult]:
        """Check that the site is this one; Baidu has nothing that could be asked."""
        own = urllib.parse.urlsplit(origin).hostname
        if _host(self.site) != own:
            text = f"'site' is {self.site}, which is not the host {own}."
            return [self._finding(text, "Correct 'site'.")]
        text = "Baidu says only of a submission whether site and token are right."
        return [CheckResult(is_good=True, text=text)]

    def _accepted(self, batch: Batch, response: http.Response) -> Answer:
        said = json_object(response) or {}
        other, invalid = said.get("not_same_site"), said.get("not_valid")
        refused = {*as_texts(other), *as_texts(invalid)}
        own = [url for url in batch.urls if url in refused]
        good, all_urls = len(batch.urls) - len(own), len(batch.urls)
        parts = [f"Baidu accepted {good:,} of {all_urls:,} URLs."]
        if own:
            parts.append(f"The others are not of the site {self.site}.")
        left = as_count(said.get("remain"))
        if left is not None:
            parts.append(f"It takes {left:,} more today.")
        return self._answer(
            Outcome.REJECTED if len(own) == len(batch.urls) else Outcome.ACCEPTED,
            " ".join(parts),
            status=response.status,
            body=response.text,
            refused=own,
        )

    def _refused(self, batch: Batch, response: http.Response) -> Answer:
        """Explain a refusal, which concerns all URLs of the batch."""
        status, said = response.status, json_object(response) or {}
        message = as_text(said.get("message")) or ""
        if message == _OVER_QUOTA and len(batch.urls) == 1:
            text = "Baidu takes no more URLs: the quota of the day is used up."
            return self._exhausted(text, status=status, body=response.text)
        # It does not say how many are left, so that halves of the batch may pass.
        is_too_much = message in (_OVER_QUOTA, _TOO_MANY) or status == 413
        outcome, text = _explained(status, message)
        return self._answer_to(
            response,
            Outcome.REJECTED if is_too_much else outcome,
            text,
            is_divisible=is_too_much,
        )


def _explained(status: int, message: str) -> tuple[Outcome, str]:
    shown = f"{status} {message}".strip()
    if status == 429:
        return Outcome.THROTTLED, "Baidu asks for fewer requests (429)."
    if message in _OF_THE_SITE:
        problem = f"Baidu does not know the site ({shown}): check 'site'."
    elif status == 400:
        return Outcome.REJECTED, f"Baidu cannot use the request ({shown})."
    elif status in (401, 403):
        problem = f"Baidu rejects the token ({shown}): check 'token'."
    elif status in (404, 405, 410):
        problem = f"Baidu takes no URLs at this address ({shown}): check 'endpoint'."
    elif 300 <= status < 400:
        problem = f"Baidu answers with a redirect ({shown}): check 'endpoint'."
    elif status >= 500:
        problem = f"Baidu has an internal error ({shown})."
    else:
        problem = f"Baidu refuses the request ({shown})."
    return Outcome.UNAVAILABLE, problem


def _host(site: str) -> str:
    """Return the host of a site, which may be given without its scheme."""
    try:
        parts = urllib.parse.urlsplit(site if "//" in site else f"//{site}")
        return parts.hostname or ""
    except ValueError:
        return ""
