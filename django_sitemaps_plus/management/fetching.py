"""``check_sitemaps``: how listed URLs are fetched, in process or over HTTP."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from django.test import Client

from django_sitemaps_plus.audit.rules.answers import MOST_BYTES, Answer
from django_sitemaps_plus.audit.run import Fetch
from django_sitemaps_plus.engines.errors import TransportError
from django_sitemaps_plus.engines.http import send
from django_sitemaps_plus.sitemaps.site import SiteAddress

#: Seconds that one page may take.
_TIMEOUT = 30.0
#: Django's log of answers from 400 on, which mails the admins about each from 500 on,
#: and its log of hosts that are not in ALLOWED_HOSTS.
_LOGS = [
    logging.getLogger(name)
    for name in ("django.request", "django.security.DisallowedHost")
]


@contextmanager
def in_process(site: SiteAddress) -> Iterator[Fetch]:
    """
    Give what asks the project itself: through its middleware, without a server.

    Each request is a new visitor's. Its errors are findings, and are not logged.
    """
    client = Client(raise_request_exception=False)

    def fetch(url: str) -> Answer:
        parts = urlsplit(url)
        started = time.perf_counter()
        response = client.get(
            # Without the prefix, which a server takes off as well.
            f"/{parts.path.removeprefix(site.prefix).lstrip('/')}"
            + (f"?{parts.query}" if parts.query else ""),
            headers={"host": parts.netloc, "accept": "text/html,*/*"},
            secure=parts.scheme == "https",
            SCRIPT_NAME=site.prefix.rstrip("/"),
        )
        body = _read(response)
        seconds = time.perf_counter() - started
        client.cookies.clear()
        headers = {name.lower(): value for name, value in response.headers.items()}
        return Answer(response.status_code, headers, body, seconds)

    for log in _LOGS:
        log.addFilter(_nothing)
    try:
        yield fetch
    finally:
        for log in _LOGS:
            log.removeFilter(_nothing)


def _nothing(record: logging.LogRecord) -> bool:
    return False


def _read(response: Any) -> bytes:
    """Return the beginning of a body, which is read to its end, as a server does."""
    # The client closes the response itself, and leaves the connections open.
    body: bytes = response.getvalue()
    return body[:MOST_BYTES]


def over_http(url: str) -> Answer:
    """Ask the site as a visitor does; a failure is part of the answer."""
    started = time.perf_counter()
    try:
        response = send(
            "GET",
            url,
            headers={"Accept": "text/html,*/*"},
            timeout=_TIMEOUT,
            limit=MOST_BYTES,
            plain=True,
        )
    except TransportError as error:
        return Answer(0, failure=str(error))
    seconds = time.perf_counter() - started
    return Answer(response.status, response.headers, response.body, seconds)
