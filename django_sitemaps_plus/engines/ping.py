"""
The classic ping, ``GET …?sitemap=``, for hubs and crawlers of one's own.

The large engines have retired it: see ``retired``, and ``docs/engines.md``.
"""

from __future__ import annotations

import urllib.parse
from collections.abc import Iterable
from dataclasses import dataclass
from typing import ClassVar

from . import http, retired
from .addresses import Target, check_url
from .base import Answer, Batch, CheckResult, Engine, Outcome
from .errors import OptionError, TransportError

_PLACE = "{sitemap}"
#: Characters from which on a value in the address may be a secret.
_SECRET_FROM = 8


@dataclass(frozen=True, kw_only=True)
class Ping(Engine):
    """Told the address of a sitemap in a query; any 2xx is a success."""

    name: ClassVar[str] = "Ping"
    takes_sitemaps: ClassVar[bool] = True

    #: The address with ``{sitemap}`` in it, or ending in "=".
    url: str

    def __post_init__(self) -> None:
        """
        Look at the options.

        Raises:
            OptionError: One of them is impossible.
        """
        super().__post_init__()
        check_url("url", self.url, plain=True)
        if self.url.count(_PLACE) != 1 and not self.url.endswith("="):
            example = "https://hub.example/ping?sitemap={sitemap}"
            problem = f"has no place for the sitemap; write {example!r}."
            raise OptionError("url", problem)

    def __repr__(self) -> str:
        """Show the address without what may be a token in it."""
        return f"{type(self).__name__}(alias={self.alias!r}, url={self._shown()!r})"

    def submit(self, batch: Batch) -> Answer:
        """Ask the address with the sitemap in it; a retired one is not asked."""
        gone = retired.sentence(self.url)
        if gone:
            return self._answer(Outcome.REJECTED, gone)
        (location,) = batch.urls
        try:
            response = http.send(
                "GET", self._address(location), timeout=self.timeout, plain=True
            )
        except TransportError as error:
            return self._answer(
                Outcome.UNAVAILABLE, str(error), is_unsent=error.is_unsent
            )
        outcome, message = self._explain(response)
        return self._answer(
            outcome,
            message,
            status=response.status,
            body=response.text,
            retry_after=None if response.is_success else response.retry_after,
        )

    def check(self, origin: str, *, force: bool = False) -> list[CheckResult]:
        """Look whether the address is one that is not called any more."""
        gone = retired.sentence(self.url)
        if gone:
            return [self._finding(gone, "Remove it from ENGINES.")]
        return super().check(origin, force=force)

    def _address(self, location: str) -> str:
        quoted = urllib.parse.quote(location, safe="")
        if _PLACE in self.url:
            return self.url.replace(_PLACE, quoted)
        return self.url + quoted

    def _explain(self, response: http.Response) -> tuple[Outcome, str]:
        name, status = Target.parse(self.url).authority, response.status
        if response.is_success:
            return Outcome.ACCEPTED, f"{name} knows of the sitemap."
        if status == 429:
            return Outcome.THROTTLED, f"{name} wants fewer requests (429)."
        if status in (400, 413, 414, 422):
            return Outcome.REJECTED, f"{name} does not take the sitemap ({status})."
        if 300 <= status < 400:
            advice = "write the address to which it leads as 'url'"
            return Outcome.UNAVAILABLE, f"{name} redirects ({status}): {advice}."
        if status in (404, 405, 410):
            advice = "see 'url'"
            return (
                Outcome.UNAVAILABLE,
                f"Nobody listens at this address of {name} ({status}): {advice}.",
            )
        if status >= 500:
            return Outcome.UNAVAILABLE, f"{name} has an error of its own ({status})."
        return Outcome.UNAVAILABLE, f"{name} refuses ({status})."

    def _shown(self) -> str:
        return self.redact(self.url)

    def _secrets(self) -> Iterable[str]:
        """Yield what stands in the query and is long enough to be a token."""
        query = urllib.parse.urlsplit(self.url).query
        for part in query.split("&"):
            value = part.partition("=")[2]
            if len(value) >= _SECRET_FROM and _PLACE not in value:
                yield value
                yield urllib.parse.unquote_plus(value)
