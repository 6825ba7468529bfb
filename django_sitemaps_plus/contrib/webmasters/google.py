"""
Google's Search Console API: submit sitemaps, and read their status.

https://developers.google.com/webmaster-tools/v1/sitemaps. Access tokens come from
google-auth, see ``google_auth``.
"""

from __future__ import annotations

import datetime as dt
import re
import urllib.parse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

from django_sitemaps_plus.engines import http
from django_sitemaps_plus.engines.base import (
    Answer,
    Batch,
    CheckResult,
    NoToken,
    OptionError,
    Outcome,
    SitemapStatus,
    TransportError,
)

from .answers import as_count, as_text, parts_of
from .google_auth import GoogleEngine

_ENDPOINT = "https://www.googleapis.com/webmasters/v3"
#: Where URLs are inspected: an API of its own, beside that of an ``endpoint``.
_INSPECTION = "https://searchconsole.googleapis.com/v1"
#: Seconds and bytes of an inspection, which takes some six seconds.
_SECONDS, _BYTES = 30.0, 1_000_000
#: Pages with impressions that are asked for, and bytes of the answer.
_MOST_SHOWN, _BYTES_SHOWN = 5_000, 10_000_000

_PROPERTY = re.compile(r"https?://[^/?#@]+/([^?#]*/)?|sc-domain:[a-z0-9.-]+")
_ADD_OWNER = (
    "The account must be an owner of the property. Search Console's dialog "
    '"Users and permissions" refuses service accounts: add the account at '
    "https://www.google.com/webmasters/verification/home (the property, Add an owner), "
    "or use a user's credentials."
)
_FORMS = (
    "The properties 'sc-domain:example.com' and 'https://www.example.com/' are "
    "different, and owning one does not make the account an owner of the other."
)


class Inspected(NamedTuple):
    """The answer to the question what Google knows of a URL."""

    outcome: Outcome
    #: The HTTP status; 0 without an answer.
    status: int
    #: Why it is not known; empty if it is.
    problem: str
    #: The ``inspectionResult``, of which any field may be missing.
    result: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class SearchConsole(GoogleEngine):
    """Submit sitemaps that changed, and read their status."""

    name: ClassVar[str] = "Google Search Console"
    takes_sitemaps: ClassVar[bool] = True
    shows_files: ClassVar[int] = 1_000
    api: ClassVar[str] = "Google Search Console API"
    scope: ClassVar[str] = "https://www.googleapis.com/auth/webmasters"

    #: The property, as Search Console lists it: ``https://www.example.com/`` or
    #: ``sc-domain:example.com``.
    site: str
    #: The URL of the API.
    endpoint: str = _ENDPOINT

    def __post_init__(self) -> None:
        """
        Check the options.

        Raises:
            OptionError: One of them is invalid.
            MissingExtra: google-auth is not installed.
        """
        super().__post_init__()
        if not self._has_text("site") or not _PROPERTY.fullmatch(self.site):
            problem = (
                f"is {self.site!r}; use the property as Search Console lists it: "
                "'https://www.example.com/' with the slash, or 'sc-domain:example.com'."
            )
            raise OptionError("site", problem)

    def submit(self, batch: Batch) -> Answer:
        """Submit a sitemap, or submit it again; a success has no body."""
        (location,) = batch.urls
        if not self.covers(location):
            problem = f"The sitemap is not part of the property {self.site}. {_FORMS}"
            return Answer(outcome=Outcome.REJECTED, message=problem)
        response = self._ask("PUT", self._path(location))
        promised = response.text.strip() in ("", "{}")
        explained = self._explain(response, "the sitemap", promised=promised)
        return self._answer_to(response, *explained)

    def check(self, origin: str, *, force: bool = False) -> list[CheckResult]:
        """Check that the account may submit sitemaps for the property."""
        # A property may be a folder of the site, as a BASE_URL may be.
        is_folder = self.site.startswith(f"{origin}/")
        if not is_folder and not self.covers(f"{origin}/"):
            text = f"{origin} is not part of the property {self.site}."
            return [CheckResult.bad(text, f"Correct 'site'. {_FORMS}")]
        response = self._ask("GET", "/sites")
        said = response.json_object
        # Without a property it is an empty object.
        promised = not said or "siteEntry" in said
        outcome, problem = self._explain(response, "the question", promised=promised)
        if outcome != Outcome.ACCEPTED:
            return [CheckResult.bad(problem)]
        return [self._permission(parts_of(said.get("siteEntry"), dict))]

    def status(self, locations: Sequence[str]) -> list[SitemapStatus]:
        """Return Google's reports on sitemaps; a failure ends the requests."""
        reports: list[SitemapStatus] = []
        for location in locations:
            try:
                response = self._ask("GET", self._path(location))
            except (NoToken, TransportError) as error:
                problem = str(error)
            else:
                said = response.json_object
                outcome, problem = self._explain(
                    response, "the question", promised="path" in said
                )
                if outcome == Outcome.ACCEPTED or response.status == 404:
                    reports.append(self._status(location, response.status, said))
                    continue
            rest, problem = locations[len(reports) :], self.redact(problem)
            return reports + [SitemapStatus(location=r, problem=problem) for r in rest]
        return reports

    def covers(self, url: str) -> bool:
        """Return whether a URL is part of the property."""
        if self.site.startswith("sc-domain:"):
            domain = self.site.removeprefix("sc-domain:")
            host = urllib.parse.urlsplit(url).hostname or ""
            return host == domain or host.endswith(f".{domain}")
        return url.startswith(self.site)

    def inspect(self, url: str) -> Inspected:
        """Ask what Google knows of a URL of the property."""
        root = self.endpoint.rstrip("/").removesuffix("/webmasters/v3") + "/v1"
        if self.endpoint == _ENDPOINT:
            root = _INSPECTION
        asked = {"inspectionUrl": url, "siteUrl": self.site, "languageCode": "en-US"}
        path = "/urlInspection/index:inspect"
        try:
            response = self._ask(
                "POST", path, asked, root=root, timeout=_SECONDS, limit=_BYTES
            )
        except (NoToken, TransportError) as error:
            return Inspected(Outcome.UNAVAILABLE, 0, self.redact(str(error)), {})
        result = response.json_object.get("inspectionResult")
        promised = isinstance(result, dict)
        outcome, problem = self._explain(response, "the question", promised=promised)
        if outcome == Outcome.ACCEPTED:
            return Inspected(outcome, response.status, "", result or {})
        return Inspected(outcome, response.status, self.redact(problem), {})

    def shown(self, since: dt.date, until: dt.date) -> list[str] | None:
        """
        Return pages with impressions from a day to another, most clicks first.

        None if there is no answer. See
        https://developers.google.com/webmaster-tools/v1/searchanalytics/query.
        """
        asked = {
            "startDate": str(since),
            "endDate": str(until),
            "dimensions": ["page"],
            "rowLimit": _MOST_SHOWN,
        }
        path = f"/sites/{urllib.parse.quote(self.site, safe='')}/searchAnalytics/query"
        try:
            response = self._ask(
                "POST", path, asked, timeout=_SECONDS, limit=_BYTES_SHOWN
            )
        except (NoToken, TransportError):
            return None
        said = response.json_object
        # Without any page there are no rows.
        promised = "rows" in said or "responseAggregationType" in said
        outcome, _ = self._explain(response, "the question", promised=promised)
        if outcome != Outcome.ACCEPTED:
            return None
        keys = (row.get("keys") for row in parts_of(said.get("rows"), dict))
        return [url for some in keys for url in parts_of(some, str)[:1]]

    # Requests

    def _path(self, location: str) -> str:
        site = urllib.parse.quote(self.site, safe="")
        return f"/sites/{site}/sitemaps/{urllib.parse.quote(location, safe='')}"

    # Messages

    def _explain(
        self, response: http.Response, what: str, *, promised: bool
    ) -> tuple[Outcome, str]:
        if response.status == 404:
            problem = f"Google does not know the property {self.site} (404). {_FORMS}"
            return Outcome.UNAVAILABLE, problem
        return super()._explain(response, what, promised=promised)

    def _denied(self, response: http.Response) -> str:
        denied = f"The account has no permission for {self.site} (403)."
        return f"{denied} {_ADD_OWNER} {_FORMS}"

    def _permission(self, entries: Sequence[Mapping[str, Any]]) -> CheckResult:
        """Report the account's permission for the property."""
        levels = {str(e.get("siteUrl")): str(e.get("permissionLevel")) for e in entries}
        level = levels.get(self.site)
        if level == "siteOwner":
            return CheckResult.good(f"The account is an owner of {self.site}.")
        if level is not None:
            text = f"The account is not an owner of {self.site}, but {level}."
            return CheckResult.bad(text, _ADD_OWNER)
        seen = ", ".join(sorted(levels)[:20]) or "no property"
        return CheckResult.bad(
            f"The account does not see the property {self.site}. It sees: {seen}.",
            f"Correct 'site', or add the account. {_ADD_OWNER} {_FORMS}",
        )

    def _status(
        self, location: str, status: int, said: Mapping[str, Any]
    ) -> SitemapStatus:
        if status == 404:
            problem = f"The sitemap was never submitted for {self.site}."
            return SitemapStatus(location=location, problem=problem)
        pending = said.get("isPending")
        return SitemapStatus(
            location=location,
            last_submitted=as_text(said.get("lastSubmitted")),
            last_downloaded=as_text(said.get("lastDownloaded")),
            is_pending=pending if isinstance(pending, bool) else None,
            errors=as_count(said.get("errors")),
            warnings=as_count(said.get("warnings")),
            submitted=dict(_contents(said.get("contents"))),
        )


def _contents(value: object) -> Iterator[tuple[str, int]]:
    """Yield the kinds of content, normalized: "web", "rssfeed"."""
    for part in parts_of(value, dict):
        submitted = as_count(part.get("submitted"))
        if submitted is not None:
            yield str(part.get("type", "")).replace("_", "").lower(), submitted
