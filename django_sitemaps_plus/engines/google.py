"""
Google's Search Console API: submit sitemaps, and read their status.

https://developers.google.com/webmaster-tools/v1/sitemaps. Access tokens come from
google-auth, see ``google_auth``.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from . import http
from .answers import as_count, as_mappings, as_text, json_object
from .base import Answer, Batch, CheckResult, Outcome, SitemapStatus
from .errors import NoToken, OptionError, TransportError
from .google_auth import SCOPE, GoogleEngine

ENDPOINT = "https://www.googleapis.com/webmasters/v3"

_PREFIX = re.compile(r"https?://[^/?#@]+/([^?#]*/)?")
_DOMAIN = re.compile(r"sc-domain:[a-z0-9.-]+")
_TOO_MANY = ("quotaExceeded", "rateLimitExceeded", "userRateLimitExceeded")
_SERVICE_OFF = ("accessNotConfigured", "SERVICE_DISABLED")
_NO_SCOPE = ("insufficientPermissions", "ACCESS_TOKEN_SCOPE_INSUFFICIENT")

_ADD_OWNER = (
    "The account must be an owner of the property. Search Console's dialog "
    '"Users and permissions" refuses service accounts: add the account at '
    "https://www.google.com/webmasters/verification/home (the property, Add an owner), "
    "or use a user's credentials."
)
_FORMS = (
    "The properties 'sc-domain:example.com' and 'https://www.example.com/' are "
    "different, and an owner of one need not own the other."
)


@dataclass(frozen=True, kw_only=True)
class SearchConsole(GoogleEngine):
    """Submit sitemaps that changed, and read their status."""

    name: ClassVar[str] = "Google Search Console"
    takes_sitemaps: ClassVar[bool] = True

    #: The property, as Search Console lists it: ``https://www.example.com/`` or
    #: ``sc-domain:example.com``.
    site: str
    #: The URL of the API.
    endpoint: str = ENDPOINT

    def __post_init__(self) -> None:
        """
        Check the options.

        Raises:
            OptionError: One of them is invalid.
            MissingExtra: google-auth is not installed.
        """
        super().__post_init__()
        if not _is_property(self.site):
            problem = (
                f"is {self.site!r}; use the property as Search Console lists it: "
                "'https://www.example.com/' with the slash, or 'sc-domain:example.com'."
            )
            raise OptionError("site", problem)

    def submit(self, batch: Batch) -> Answer:
        """Submit a sitemap, or submit it again; any 2xx status is a success."""
        (location,) = batch.urls
        if not self._covers(location):
            return self._answer(
                Outcome.REJECTED,
                f"The sitemap is not part of the property {self.site}. {_FORMS}",
            )
        try:
            response = self._ask("PUT", self._path(location))
        except (NoToken, TransportError) as error:
            return self._unreachable(error)
        outcome, message = self._explain(response)
        return self._answer_to(response, outcome, message)

    def check(self, origin: str, *, force: bool = False) -> list[CheckResult]:
        """Check that the account may submit sitemaps for the property."""
        # A property may be a folder of the site, as a BASE_URL may be.
        is_folder = self.site.startswith(f"{origin}/")
        if not is_folder and not self._covers(f"{origin}/"):
            text = f"{origin} is not part of the property {self.site}."
            return [self._finding(text, f"Correct 'site'. {_FORMS}")]
        try:
            response = self._ask("GET", "/sites")
        except (NoToken, TransportError) as error:
            return [self._finding(str(error), "Check the option 'credentials'.")]
        if not response.is_success:
            return [self._finding(self._explain(response)[1])]
        sites = as_mappings((json_object(response) or {}).get("siteEntry"))
        return [self._permission(sites)]

    def status(self, locations: Sequence[str]) -> list[SitemapStatus]:
        """Return Google's reports on sitemaps; a failure ends the requests."""
        found: list[SitemapStatus] = []
        for location in locations:
            try:
                response = self._ask("GET", self._path(location))
            except (NoToken, TransportError) as error:
                problem = self.redact(str(error))
            else:
                if response.is_success or response.status == 404:
                    found.append(self._status(location, response))
                    continue
                problem = self.redact(self._explain(response)[1])
            rest = locations[len(found) :]
            return found + [SitemapStatus(location=r, problem=problem) for r in rest]
        return found

    # Requests

    def _path(self, location: str) -> str:
        site = urllib.parse.quote(self.site, safe="")
        return f"/sites/{site}/sitemaps/{urllib.parse.quote(location, safe='')}"

    # Messages

    def _covers(self, url: str) -> bool:
        """Return whether a URL is part of the property."""
        if self.site.startswith("sc-domain:"):
            domain = self.site.removeprefix("sc-domain:")
            host = urllib.parse.urlsplit(url).hostname or ""
            return host == domain or host.endswith(f".{domain}")
        return url.startswith(self.site) or f"{url}/" == self.site

    def _explain(self, response: http.Response) -> tuple[Outcome, str]:
        status, text = response.status, response.text
        if response.is_success:
            return Outcome.ACCEPTED, "Google accepted the sitemap submission."
        if status == 429 or (status == 403 and _has(text, _TOO_MANY)):
            return Outcome.THROTTLED, f"Google asks for fewer requests ({status})."
        if status == 400:
            return Outcome.REJECTED, "Google cannot read the request (400)."
        return Outcome.UNAVAILABLE, self._trouble(status, text)

    def _trouble(self, status: int, text: str) -> str:
        """Explain a failure, and what to do if somebody has to act."""
        if status == 401:
            return "Google rejects the access token of these credentials (401)."
        if status == 403 and _has(text, _SERVICE_OFF):
            return (
                "The Google Search Console API is not enabled (403): enable it in the "
                "account's Cloud project."
            )
        if status == 403 and _has(text, _NO_SCOPE):
            return f"The token lacks the scope {SCOPE} (403)."
        if status == 403:
            denied = f"The account has no permission for {self.site} (403)."
            return f"{denied} {_ADD_OWNER} {_FORMS}"
        if status == 404:
            return f"Google does not know the property {self.site} (404). {_FORMS}"
        if 300 <= status < 400:
            return f"Google's API answers with a redirect ({status}): check 'endpoint'."
        if status >= 500:
            return f"Google has an internal error ({status})."
        return f"Google refuses the request ({status})."

    def _permission(self, entries: Sequence[Mapping[str, Any]]) -> CheckResult:
        """Report the account's permission for the property."""
        levels = {str(e.get("siteUrl")): str(e.get("permissionLevel")) for e in entries}
        level = levels.get(self.site)
        if level == "siteOwner":
            text = f"The account is an owner of {self.site}."
            return CheckResult(is_good=True, text=text)
        if level is not None:
            return self._finding(
                f"The account is not an owner of {self.site}, but {level}.", _ADD_OWNER
            )
        seen = ", ".join(sorted(levels)[:20]) or "no property"
        return self._finding(
            f"The account does not see the property {self.site}. It sees: {seen}.",
            f"Correct 'site', or add the account. {_ADD_OWNER} {_FORMS}",
        )

    def _status(self, location: str, response: http.Response) -> SitemapStatus:
        if response.status == 404:
            problem = f"The sitemap was never submitted for {self.site}."
            return SitemapStatus(location=location, problem=problem)
        said = json_object(response)
        if said is None:
            problem = "Google's answer is not a JSON object."
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


def _is_property(value: object) -> bool:
    return isinstance(value, str) and bool(
        _PREFIX.fullmatch(value) or _DOMAIN.fullmatch(value)
    )


def _has(text: str, words: Iterable[str]) -> bool:
    return any(word in text for word in words)


def _contents(value: object) -> Iterator[tuple[str, int]]:
    """Yield the kinds of content, normalized: "web", "rssfeed"."""
    for part in as_mappings(value):
        submitted = as_count(part.get("submitted"))
        if submitted is not None:
            yield str(part.get("type", "")).replace("_", "").lower(), submitted
