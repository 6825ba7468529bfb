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
from .answers import of_status
from .base import Answer, Batch, Engine, secret
from .errors import OptionError, TransportError

#: The header of the signature: ``t=<seconds since the epoch>,v1=<hexadecimal digits>``.
HEADER = "X-Sitemaps-Plus-Signature"
#: The shortest secret: half of what ``secrets.token_hex(16)`` gives.
SHORTEST = 16

_KINDS = ("added", "changed", "removed", "requested")


@dataclass(frozen=True, kw_only=True)
class Webhook(Engine):
    """Send what happened to URLs as JSON; any 2xx status is a success."""

    name: ClassVar[str] = "Webhook"
    takes_urls: ClassVar[bool] = True
    max_urls: ClassVar[int] = 1_000

    #: The URL to send requests to.
    url: str
    #: What requests are signed with; the receiver knows it too.
    secret: str = secret()

    def __post_init__(self) -> None:
        """
        Check the options.

        Raises:
            OptionError: One of them is invalid.
        """
        super().__post_init__()
        check_url("url", self.url, plain=True)
        if not _is_secret(self.secret):
            raise OptionError(
                "secret",
                f"must be text of {SHORTEST} characters or more. Create one: "
                'python -c "import secrets; print(secrets.token_hex(16))"',
            )

    def submit(self, batch: Batch) -> Answer:
        """Send a batch, signed with the time of the request."""
        body = json.dumps(_document(batch)).encode()
        headers = {
            "Content-Type": "application/json",
            HEADER: signature(self.secret, body, int(time.time())),
        }
        try:
            response = http.send(
                "POST",
                self.url,
                headers=headers,
                body=body,
                timeout=self.timeout,
                plain=True,
            )
        except TransportError as error:
            return self._unreachable(error)
        status = response.status
        outcome, problem = of_status(
            status, "the changes", missing="takes no changes", option="url"
        )
        if status in (401, 403):
            fix = "check 'secret', and the clocks."
            problem = f"refuses the signature ({status}): {fix}"
        return self._answer_to(
            response,
            outcome,
            f"{Target.parse(self.url, plain=True).authority} {problem}",
            # Too large a whole may have halves that are not.
            is_divisible=status == 413,
        )


def signature(secret: str, body: bytes, seconds: int) -> str:
    """Return the value of the header for a body that is sent at a time."""
    signed = f"{seconds}.".encode() + body
    digest = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    return f"t={seconds},v1={digest}"


def _is_secret(value: object) -> bool:
    return isinstance(value, str) and len(value) >= SHORTEST


def _document(batch: Batch) -> dict[str, object]:
    kinds = batch.kinds or ["requested"] * len(batch.urls)
    urls = list(zip(kinds, batch.urls, strict=True))
    by_kind = {kind: [url for known, url in urls if known == kind] for kind in _KINDS}
    return {"site": batch.origin, **by_kind}
