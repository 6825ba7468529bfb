"""
Google's Indexing API: submit pages with a job posting or a livestream, and no others.

https://developers.google.com/search/apis/indexing-api/v3/using-api. Google reads it for
pages that declare ``JobPosting``, or ``BroadcastEvent`` in a ``VideoObject``; each page
is fetched first, and what declares neither is not submitted. A listed page that is not
found, as it may be during a deploy, is fetched once more before it counts as deleted.
By default Google takes 200 URLs a day for each Cloud project, for setting up: more has
to be applied for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from . import http, structured_data
from .answers import json_object
from .base import Answer, Batch, CheckResult, Outcome
from .errors import NoToken, OptionError, TransportError
from .google_auth import INDEXING_SCOPE, GoogleEngine, Tokens

ENDPOINT = "https://indexing.googleapis.com/v3"
#: The types that Google reads the API for.
TYPES = frozenset({"JobPosting", "BroadcastEvent"})
#: Seconds after which a page that is listed, and was not found, is fetched once more.
LOOK_AGAIN = 300.0
#: The most bytes of a page that are read.
LIMIT = 2_000_000

#: What is said where a page declares neither.
_ONLY = (
    "declares neither JobPosting nor BroadcastEvent, and Google's Indexing API is for "
    "such pages only"
)
_EXHAUSTED = "RESOURCE_EXHAUSTED"
_OFF = ("accessNotConfigured", "SERVICE_DISABLED")


@dataclass(frozen=True, kw_only=True)
class GoogleIndexing(GoogleEngine):
    """
    Submit pages that declare JobPosting or BroadcastEvent, one at a time.

    ``sections`` is needed: those with such pages.
    """

    name: ClassVar[str] = "Google Indexing API"
    takes_urls: ClassVar[bool] = True

    #: The URL of the API.
    endpoint: str = ENDPOINT

    _tokens: Tokens = field(
        default_factory=lambda: Tokens(INDEXING_SCOPE),
        init=False,
        repr=False,
        compare=False,
    )

    def __post_init__(self) -> None:
        """
        Check the options.

        Raises:
            OptionError: One of them is invalid.
            MissingExtra: google-auth is not installed.
        """
        super().__post_init__()
        if not self.sections:
            problem = (
                "is empty: name the sections whose pages declare JobPosting or "
                "BroadcastEvent. Google's Indexing API is for such pages only."
            )
            raise OptionError("sections", problem)

    def submit(self, batch: Batch) -> Answer:
        """Fetch a page, and submit it if the API is for it, or if it is gone."""
        (url,) = batch.urls
        try:
            is_gone = url in batch.deferred or "removed" in batch.kinds
            kind = self._kind(url, is_gone=is_gone)
            if isinstance(kind, Answer):
                return kind
            notification = {"url": url, "type": kind}
            response = self._ask("POST", "/urlNotifications:publish", notification)
        except (NoToken, TransportError) as error:
            return self._unreachable(error)
        if response.status == 429 and _EXHAUSTED in response.text:
            text = "Google takes no more URLs: the quota of the day is used up."
            return self._exhausted(text, status=429, body=response.text)
        outcome, message = _explained(response)
        return self._answer_to(response, outcome, message)

    def check(self, origin: str, *, force: bool = False) -> list[CheckResult]:
        """Check that there is a token; Google says only of a page if it may be sent."""
        try:
            self._headers()
        except NoToken as error:
            return [self._finding(str(error), "Check the option 'credentials'.")]
        names = ", ".join(self.sections)
        text = (
            f"Google issues a token. Of the pages of {names}, those that declare "
            "JobPosting or BroadcastEvent are submitted, and no others."
        )
        return [CheckResult(is_good=True, text=text)]

    def _kind(self, url: str, *, is_gone: bool) -> str | Answer:
        """
        Return what to say of a page, by what the site answers; or why nothing.

        ``is_gone`` tells that it was removed, or not found some minutes ago.
        """
        try:
            page = http.send("GET", url, timeout=self.timeout, limit=LIMIT, plain=True)
        except TransportError as error:
            text = f"The page cannot be fetched. {error}"
            return self._answer(Outcome.UNAVAILABLE, text, is_unsent=True)
        if page.status in (404, 410):
            if is_gone:
                return "URL_DELETED"
            text = (
                f"The page answers with status {page.status}, though no sitemap lost "
                "it: it is fetched again before it is submitted as deleted."
            )
            return self._answer(Outcome.DEFERRED, text, retry_after=LOOK_AGAIN)
        if page.status != 200:
            text = f"The page answers with status {page.status}: not submitted."
            return self._answer(
                Outcome.REJECTED if page.status < 500 else Outcome.UNAVAILABLE,
                text,
                is_unsent=True,
            )
        if TYPES.isdisjoint(structured_data.types_in(page.text)):
            text = f"The page {_ONLY}: not submitted."
            return self._answer(Outcome.REJECTED, text, is_unsent=True)
        return "URL_UPDATED"


def _explained(response: http.Response) -> tuple[Outcome, str]:
    status, text = response.status, response.text
    if response.is_success:
        return Outcome.ACCEPTED, "Google accepted the notification."
    if status == 429:
        return Outcome.THROTTLED, "Google asks for fewer requests (429)."
    if status == 400:
        return Outcome.REJECTED, "Google cannot read the request (400)."
    if status == 401:
        problem = "Google rejects the access token of these credentials (401)."
    elif status == 403 and any(word in text for word in _OFF):
        problem = (
            "The Web Search Indexing API is not enabled (403): enable it in the "
            "account's Cloud project."
        )
    elif status == 403:
        said = (json_object(response) or {}).get("error")
        reason = said.get("message", "") if isinstance(said, dict) else ""
        problem = (
            f"The account is not an owner of the site (403). {reason} Add it as an "
            "owner at https://www.google.com/webmasters/verification/home."
        )
    elif 300 <= status < 400:
        problem = f"Google's API answers with a redirect ({status}): check 'endpoint'."
    elif status >= 500:
        problem = f"Google has an internal error ({status})."
    else:
        problem = f"Google refuses the request ({status})."
    return Outcome.UNAVAILABLE, problem
