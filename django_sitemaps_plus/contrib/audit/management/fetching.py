"""``check_sitemaps``: how listed URLs are fetched, in process or over HTTP."""

from __future__ import annotations

import logging
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from urllib.parse import SplitResult, urlsplit

from django.conf import settings as django_settings
from django.http.request import split_domain_port, validate_host
from django.http.response import HttpResponseBase
from django.test import Client

from django_sitemaps_plus.contrib.audit import asking
from django_sitemaps_plus.contrib.audit.asking import Fetch
from django_sitemaps_plus.contrib.audit.crawler import answer_of
from django_sitemaps_plus.contrib.audit.rules import GOOGLE_READS, FetchedAnswer
from django_sitemaps_plus.sitemaps.site import SiteAddress

#: Seconds that one page may take.
_TIMEOUT = 30.0
#: The hosts that Django allows while DEBUG is on.
_LOCAL = [".localhost", "127.0.0.1", "[::1]"]
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

    def fetch(url: str) -> FetchedAnswer:
        parts = urlsplit(url)
        started = time.perf_counter()
        with asking.coming_back():
            response = client.get(
                # Without the prefix, which a server takes off as well.
                f"/{parts.path.removeprefix(site.prefix).lstrip('/')}"
                + (f"?{parts.query}" if parts.query else ""),
                headers={"host": parts.netloc, "accept": "text/html,*/*"},
                secure=parts.scheme == "https",
                SCRIPT_NAME=site.prefix.rstrip("/"),
            )
            # Read to its end, as a server does. The client closes the response itself,
            # and leaves the connections open.
            body, flaw = _read(response)
        seconds = time.perf_counter() - started
        client.cookies.clear()
        headers = {name.lower(): value for name, value in response.headers.items()}
        status, start = response.status_code, body[:GOOGLE_READS]
        why = _refused(parts, status)
        return FetchedAnswer(status, headers, start, len(body), seconds, why, flaw=flaw)

    for log in _LOGS:
        log.addFilter(_nothing)
    try:
        yield fetch
    finally:
        for log in _LOGS:
            log.removeFilter(_nothing)


def _nothing(record: logging.LogRecord) -> bool:
    return False


def _read(response: HttpResponseBase) -> tuple[bytes, str]:
    """Return the body of a response, and what its view raised while it was read."""
    body = bytearray()
    try:
        with warnings.catch_warnings():
            # Of an asynchronous stream, which is read in the same way under WSGI.
            warnings.simplefilter("ignore")
            for chunk in response:
                body += chunk
    except Exception as error:  # a view raises whatever it likes
        return bytes(body), f"{type(error).__name__} after {len(body):,} bytes: {error}"
    return bytes(body), ""


def _refused(parts: SplitResult, status: int) -> str:
    """Return why no view was asked; empty if one was."""
    hosts = [*django_settings.ALLOWED_HOSTS, *_LOCAL * django_settings.DEBUG]
    host, _ = split_domain_port(parts.netloc)
    if status != 400 or validate_host(host, hosts):
        return ""
    return f"ALLOWED_HOSTS does not have {host!r}; behind a front end, use --live"


def over_http(url: str) -> FetchedAnswer:
    """Ask the site as a visitor does; a failure is part of the answer."""
    headers = {"Accept": "text/html,*/*"}
    answer = answer_of(url, headers=headers, timeout=_TIMEOUT, limit=GOOGLE_READS)
    if answer.status == 429:
        answer = replace(answer, failure="answers 429: too many requests, see --rate")
    size = len(answer.body)
    if size == GOOGLE_READS and answer.flaw:
        # What is cut off by the limit has more.
        return replace(answer, size=size + 1, flaw="")
    return replace(answer, size=size)
