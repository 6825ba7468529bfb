"""
Google's Indexing API: submit pages with a job posting or a livestream, and no others.

https://developers.google.com/search/apis/indexing-api/v3/using-api. Google reads it for
pages that declare ``JobPosting``, or ``BroadcastEvent`` in a ``VideoObject``; each page
is fetched first, and what declares neither is not submitted. By default Google takes
200 URLs a day for each Cloud project, for setting up: more has to be applied for.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from . import google_auth, http, structured_data
from .addresses import check_url
from .answers import json_object
from .base import Answer, Batch, CheckResult, Engine, Outcome, secret
from .errors import MissingExtra, OptionError, TransportError
from .google_auth import INDEXING_SCOPE, NoToken

ENDPOINT = "https://indexing.googleapis.com/v3"
#: The types that Google reads the API for.
TYPES = frozenset({"JobPosting", "BroadcastEvent"})
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
class GoogleIndexing(Engine):
    """
    Submit pages that declare JobPosting or BroadcastEvent, one at a time.

    ``sections`` is needed: those with such pages.
    """

    name: ClassVar[str] = "Google Indexing API"
    takes_urls: ClassVar[bool] = True

    #: The path of a JSON file, or its contents, for a service account or an authorized
    #: user. None: Google's application default credentials.
    credentials: google_auth.Credentials = secret(default=None)
    #: The URL of the API.
    endpoint: str = ENDPOINT
    #: The URL that issues tokens. None: the one in the credentials.
    token_endpoint: str | None = None

    _tokens: google_auth.Tokens = field(
        default_factory=lambda: google_auth.Tokens(INDEXING_SCOPE),
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
        if not google_auth.is_installed():
            raise MissingExtra("BACKEND", google_auth.INSTALL)
        if not self.sections:
            problem = (
                "is empty: name the sections whose pages declare JobPosting or "
                "BroadcastEvent. Google's Indexing API is for such pages only."
            )
            raise OptionError("sections", problem)
        if not google_auth.is_given(self.credentials):
            problem = "is neither the path of a JSON file nor a dict of its contents."
            raise OptionError("credentials", problem)
        check_url("endpoint", self.endpoint)
        if self.token_endpoint is not None:
            check_url("token_endpoint", self.token_endpoint)

    def submit(self, batch: Batch) -> Answer:
        """Fetch a page, and submit it if the API is for it, or if it is gone."""
        (url,) = batch.urls
        try:
            kind = self._kind(url)
            if isinstance(kind, Answer):
                return kind
            response = self._publish({"url": url, "type": kind})
        except (NoToken, TransportError) as error:
            return self._answer(
                Outcome.UNAVAILABLE, str(error), is_unsent=error.is_unsent
            )
        if response.status == 429 and _EXHAUSTED in response.text:
            text = "Google takes no more URLs: the quota of the day is used up."
            return self._exhausted(text, status=429, body=response.text)
        outcome, message = _explained(response)
        return self._answer_to(response, outcome, message)

    def check(self, origin: str, *, force: bool = False) -> list[CheckResult]:
        """Check that there is a token; Google says only of a page if it may be sent."""
        try:
            self._tokens.headers(
                self.credentials, self.token_endpoint, timeout=self.timeout
            )
        except NoToken as error:
            return [self._finding(str(error), "Check the option 'credentials'.")]
        names = ", ".join(self.sections)
        text = (
            f"Google issues a token. Of the pages of {names}, those that declare "
            "JobPosting or BroadcastEvent are submitted, and no others."
        )
        return [CheckResult(is_good=True, text=text)]

    def check_machine(self) -> list[CheckResult]:
        """Check that the credentials can be read, if they are given."""
        if self.credentials is None:
            return []  # the machine's own: finding them asks Google
        endpoint, timeout = self.token_endpoint, self.timeout
        try:
            self._tokens.load(self.credentials, endpoint, timeout=timeout)
        except NoToken as error:
            fix = "Set 'credentials' to the path of the JSON file that Google issued."
            return [self._finding(str(error), fix)]
        return []

    def _kind(self, url: str) -> str | Answer:
        """Return what to say of a page, by what the site answers; or why nothing."""
        try:
            page = http.send("GET", url, timeout=self.timeout, limit=LIMIT, plain=True)
        except TransportError as error:
            text = f"The page cannot be fetched. {error}"
            return self._answer(Outcome.UNAVAILABLE, text, is_unsent=True)
        if page.status in (404, 410):
            return "URL_DELETED"
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

    def _publish(self, notification: Mapping[str, str]) -> http.Response:
        """
        Send a notification; if the token is refused, with a new one once.

        Raises:
            NoToken: There is no token.
            TransportError: There is no answer.
        """
        body = json.dumps(notification).encode()
        for renew in (False, True):
            headers = self._tokens.headers(
                self.credentials,
                self.token_endpoint,
                timeout=self.timeout,
                renew=renew,
            )
            response = http.send(
                "POST",
                f"{self.endpoint.rstrip('/')}/urlNotifications:publish",
                headers={**headers, "Content-Type": "application/json"},
                body=body,
                timeout=self.timeout,
            )
            if response.status != 401:
                break
        return response

    def _secrets(self) -> Iterable[str]:
        return self._tokens.secrets(self.credentials)


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
            f"The account is no owner of the site (403). {reason} Add it as an owner "
            "at https://www.google.com/webmasters/verification/home."
        )
    elif 300 <= status < 400:
        problem = f"Google's API answers with a redirect ({status}): check 'endpoint'."
    elif status >= 500:
        problem = f"Google has an internal error ({status})."
    else:
        problem = f"Google refuses the request ({status})."
    return Outcome.UNAVAILABLE, problem
