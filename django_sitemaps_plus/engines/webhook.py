"""
Signed JSON of URLs that were added, changed or removed, to an address of your own.

For what has to know of changes as search engines do: a cache to purge, an internal
search, a queue. ``docs/engines.md`` shows how a receiver checks the signature.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import time
from dataclasses import dataclass
from typing import ClassVar

from . import http
from .addresses import Target, check_url
from .base import CREATE_ONE, Answer, Batch, Engine, OptionError, secret_option
from .http import explained

#: The header of the signature: ``t=<seconds since the epoch>,v1=<hexadecimal digits>``.
_HEADER = "X-Sitemaps-Plus-Signature"
#: The header of the delivery's id, the same for each attempt. Its name is that of
#: https://www.standardwebhooks.com.
_ID = "Webhook-Id"
#: The shortest secret: half of what ``secrets.token_hex(16)`` gives.
_SHORTEST = 16

_KINDS = ("added", "changed", "removed", "requested")


@dataclass(frozen=True, kw_only=True)
class Webhook(Engine):
    """Send what happened to URLs as JSON; a 2xx status is a success."""

    name: ClassVar[str] = "Webhook"
    takes_urls: ClassVar[bool] = True
    max_urls: ClassVar[int] = 1_000
    tells_kinds: ClassVar[bool] = True
    takes_documents: ClassVar[bool] = True

    #: The URL to send requests to.
    url: str
    #: What requests are signed with; the receiver knows it too.
    secret: str = secret_option()

    def __post_init__(self) -> None:
        """
        Check the options.

        Raises:
            OptionError: One of them is invalid.
        """
        super().__post_init__()
        check_url("url", self.url, plain=True)
        secret: object = self.secret
        if not isinstance(secret, str) or len(secret) < _SHORTEST:
            problem = f"must be text of {_SHORTEST} characters or more. {CREATE_ONE}"
            raise OptionError("secret", problem)

    @property
    def service(self) -> str:
        """Its address."""
        return self.url

    def submit(self, batch: Batch) -> Answer:
        """Send a batch, signed with its id and the time of the request."""
        body = json.dumps(_document(batch)).encode()
        signed = signature(self.secret, batch.id, int(time.time()), body)
        headers = {"Content-Type": "application/json", _ID: batch.id, _HEADER: signed}
        response = http.send(
            "POST",
            self.url,
            headers=headers,
            body=body,
            timeout=self.timeout,
            plain=True,
        )
        name = Target.parse(self.url, plain=True).authority
        outcome, message = explained(
            response, name, "the changes", option="url", proof="secret"
        )
        if response.status in (401, 403) and not response.is_html:
            fix = "check 'secret', and the clocks."
            message = f"{name} refuses the signature ({response.status}): {fix}"
        # Too large a whole may have halves that are not.
        is_divisible = response.status == 413
        return self._answer_to(response, outcome, message, is_divisible=is_divisible)


def signature(secret: str, delivery: str, seconds: int, body: bytes) -> str:
    """Return the value of the header for a delivery that is sent at a time."""
    signed = f"{delivery}.{seconds}.".encode() + body
    digest = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={digest}"


def _document(batch: Batch) -> dict[str, object]:
    kinds = batch.kinds or ["requested"] * len(batch.urls)
    urls = list(zip(kinds, batch.urls, strict=True))
    by_kind = {kind: [url for of_url, url in urls if of_url == kind] for kind in _KINDS}
    told: dict[str, object] = {"site": batch.origin, **by_kind}
    if documents := [url for kind, url in urls if kind == "document"]:
        told |= {"documents": documents, "tags": list(batch.tags)}
    return told
