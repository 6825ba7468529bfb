"""
The classic ping, ``GET …?sitemap=``, for hubs and crawlers of your own.

The large search engines have retired it: see ``retired`` and ``docs/engines.md``.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from . import http, retired
from .addresses import Target, check_url
from .base import (
    Answer,
    Batch,
    CheckResult,
    Engine,
    OptionError,
    Outcome,
    secret_option,
)
from .http import explained

_PLACEHOLDER = "{sitemap}"
_TOKEN = "{token}"  # noqa: S105 (stands for one)
#: Names in a query whose values are secrets.
_SECRET = re.compile(
    r"(.*[._-])?(api|access)?_?(token|key|secret|pass|passwd|password|auth|sig|signature)"
)
#: The length from which another value in the query may be one.
_SECRET_FROM = 8


@dataclass(frozen=True, kw_only=True)
class Ping(Engine):
    """Send the URL of a sitemap in a query; a 2xx status is a success."""

    name: ClassVar[str] = "Ping"
    takes_sitemaps: ClassVar[bool] = True

    #: The URL to request: it contains ``{sitemap}``, or ends with "=".
    url: str
    #: Replaces ``{token}`` in ``url``, percent-encoded.
    token: str = secret_option(default="")

    def __post_init__(self) -> None:
        """
        Check the options.

        Raises:
            OptionError: One of them is invalid.
        """
        super().__post_init__()
        check_url("url", self.url, plain=True)
        if self.url.count(_PLACEHOLDER) != 1 and not self.url.endswith("="):
            example = "https://hub.example/ping?sitemap={sitemap}"
            problem = f"lacks {_PLACEHOLDER}; use {example!r}, for example."
            raise OptionError("url", problem)
        for part in urllib.parse.urlsplit(self.url).query.split("&"):
            name, _, value = part.partition("=")
            is_given = value not in ("", _TOKEN, _PLACEHOLDER)
            if is_given and _SECRET.fullmatch(name.lower()):
                problem = f"contains a secret: write '{name}={_TOKEN}'"
                raise OptionError("url", f"{problem}, and give it as 'token'.")
        if not isinstance(self.token, str):
            raise OptionError("token", "must be text.")
        if bool(self.token) != (_TOKEN in self.url):
            example = "https://hub.example/ping?token={token}&sitemap={sitemap}"
            problem = f"and {_TOKEN} in 'url' need each other: {example!r}."
            raise OptionError("token", problem)

    def __repr__(self) -> str:
        """Show the URL without anything that may be a token."""
        shown = self.redact(self.url)
        return f"{type(self).__name__}(alias={self.alias!r}, url={shown!r})"

    def submit(self, batch: Batch) -> Answer:
        """Request the URL, unless it is known to be retired."""
        if reason := retired.sentence(self.url):
            return Answer(outcome=Outcome.REJECTED, message=reason)
        (location,) = batch.urls
        address = self._address(location)
        response = http.send("GET", address, timeout=self.timeout, plain=True)
        outcome, message = explained(
            response,
            Target.parse(self.url, plain=True).authority,
            "the sitemap",
            option="url",
            rejected=(400, 413, 414, 422),
            promised="page",
        )
        return self._answer_to(response, outcome, message)

    def check(self, origin: str, *, force: bool = False) -> list[CheckResult]:
        """Check that the URL is not known to be retired."""
        if reason := retired.sentence(self.url):
            return [CheckResult.bad(reason, "Remove it from ENGINES.")]
        return super().check(origin, force=force)

    def _address(self, location: str) -> str:
        quoted = urllib.parse.quote(location, safe="")
        url = self.url if _PLACEHOLDER in self.url else f"{self.url}{_PLACEHOLDER}"
        token = urllib.parse.quote(self.token, safe="")
        return url.replace(_TOKEN, token).replace(_PLACEHOLDER, quoted)

    def _secrets(self) -> Iterable[str]:
        """Yield the token, and values in the query that are as long as one."""
        yield from super()._secrets()
        query = urllib.parse.urlsplit(self.url).query
        for part in query.split("&"):
            value = part.partition("=")[2]
            is_long = len(value) >= _SECRET_FROM
            if is_long and _PLACEHOLDER not in value and _TOKEN not in value:
                yield value
                yield urllib.parse.unquote_plus(value)
