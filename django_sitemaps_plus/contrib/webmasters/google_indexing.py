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

import re
from dataclasses import dataclass
from typing import ClassVar

from django_sitemaps_plus.engines import http
from django_sitemaps_plus.engines.base import (
    Answer,
    Batch,
    CheckResult,
    OptionError,
    Outcome,
    Refused,
    TransportError,
)

from . import structured_data
from .google_auth import GoogleEngine

_ENDPOINT = "https://indexing.googleapis.com/v3"
#: The types that Google reads the API for.
_TYPES = frozenset({"JobPosting", "BroadcastEvent"})
#: Seconds after which a page that is listed, and was not found, is fetched once more.
LOOK_AGAIN = 300.0
#: The most bytes of a page that are read.
_LIMIT = 2_000_000

#: What is said where a page declares neither.
_ONLY = (
    "declares neither JobPosting nor BroadcastEvent, and Google's Indexing API is for "
    "such pages only"
)
_EXHAUSTED = "RESOURCE_EXHAUSTED"
#: Of which quota that is: "…PerMinutePerProject", "… requests per day".
_MINUTE, _DAY = (
    re.compile(f"per ?{unit}", re.IGNORECASE) for unit in ("minute", "day")
)


@dataclass(frozen=True, kw_only=True)
class GoogleIndexing(GoogleEngine):
    """
    Submit pages that declare JobPosting or BroadcastEvent, one at a time.

    ``sections`` is needed: those with such pages.
    """

    name: ClassVar[str] = "Google Indexing API"
    takes_urls: ClassVar[bool] = True
    api: ClassVar[str] = "Web Search Indexing API"
    scope: ClassVar[str] = "https://www.googleapis.com/auth/indexing"

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
        if not self.sections:
            problem = (
                "is empty: name the sections whose pages declare JobPosting or "
                "BroadcastEvent. Google's Indexing API is for such pages only."
            )
            raise OptionError("sections", problem)

    def submit(self, batch: Batch) -> Answer:
        """Fetch a page, and submit it if the API is for it, or if it is gone."""
        (url,) = batch.urls
        is_gone = url in batch.deferred or "removed" in batch.kinds
        notification = {"url": url, "type": self._kind(url, is_gone=is_gone)}
        response = self._ask("POST", "/urlNotifications:publish", notification)
        text, wait = response.text, response.retry_after
        if response.status == 429 and _EXHAUSTED in text:
            is_short = wait is not None or _MINUTE.search(text)
            if _DAY.search(text) or not is_short:
                return self._exhausted(response, "the day")
        metadata = response.json_object.get("urlNotificationMetadata")
        promised = isinstance(metadata, dict)
        explained = self._explain(response, "the notification", promised=promised)
        return self._answer_to(response, *explained)

    def check(self, origin: str, *, force: bool = False) -> list[CheckResult]:
        """Check that there is a token; Google says only of a page if it may be sent."""
        self._headers()
        names = ", ".join(self.sections)
        text = (
            f"Google issues a token. Of the pages of {names}, those that declare "
            "JobPosting or BroadcastEvent are submitted, and no others."
        )
        return [CheckResult.good(text)]

    def _denied(self, response: http.Response) -> str:
        said = response.json_object.get("error")
        reason = said.get("message", "") if isinstance(said, dict) else ""
        return (
            f"The account is not an owner of the site (403). {reason} "
            "Add it as an owner at https://www.google.com/webmasters/verification/home."
        )

    def _kind(self, url: str, *, is_gone: bool) -> str:
        """
        Return what to say of a page, by what the site answers.

        ``is_gone`` tells that it was removed, or not found some minutes ago.

        Raises:
            Refused: The page is not to be submitted; the answer says why.
        """
        try:
            page = http.send("GET", url, timeout=self.timeout, limit=_LIMIT, plain=True)
        except TransportError as error:
            problem = f"The page cannot be fetched. {error}"
            raise _refused(Outcome.UNAVAILABLE, problem) from error
        if page.status in (404, 410):
            if is_gone:
                return "URL_DELETED"
            problem = (
                f"The page answers with status {page.status}, but is still listed: "
                "it is fetched again before it is submitted as deleted."
            )
            raise _refused(Outcome.DEFERRED, problem, LOOK_AGAIN)
        if page.status != 200:
            problem = f"The page answers with status {page.status}: not submitted."
            is_down = page.status >= 500 or page.status == 429
            outcome = Outcome.UNAVAILABLE if is_down else Outcome.REJECTED
            raise _refused(outcome, problem)
        if _TYPES.isdisjoint(structured_data.types_in(page.text)):
            raise _refused(Outcome.REJECTED, f"The page {_ONLY}: not submitted.")
        return "URL_UPDATED"


def _refused(outcome: Outcome, problem: str, wait: float | None = None) -> Refused:
    """Return why a page is not submitted."""
    return Refused(Answer(outcome=outcome, message=problem, retry_after=wait), "")
