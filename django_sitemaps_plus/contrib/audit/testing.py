"""
For a project's own tests, with unittest and with pytest.

::

    from django_sitemaps_plus.contrib.audit import testing

    def test_the_sitemap(client, article):  # in a TestCase: self.client
        testing.assert_sitemap_valid(client)
        testing.assert_listed(client, article.get_absolute_url())
"""

from __future__ import annotations

import datetime as dt
import gzip
import io
from collections.abc import Iterator, Sequence
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from django.test import Client

from django_sitemaps_plus.protocol.errors import LocationError
from django_sitemaps_plus.protocol.locations import Origin
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress

from .checking import Checking
from .entries import SITEMAP, Entry, EntryBatch, Unreadable, batches_of, parse
from .findings import Findings
from .listed import ListedDocument
from .rules import AuditedSection

__all__ = ["assert_listed", "assert_sitemap_valid"]

#: Problems, and URLs, that a failed assertion shows.
_SHOWN = 20


def assert_sitemap_valid(client: Client, path: str = "/sitemap.xml") -> None:
    """
    Assert that the sitemap at ``path``, with all that an index lists, has no fault.

    Every document has to answer 200 and to be a well-formed sitemap within the limits;
    URLs have to be the site's own, without session ids and tracking parameters, and
    listed once; lastmods must be dates that are not in the future, and alternates have
    to link back. It does not matter which view answers.

    Raises:
        AssertionError: With the first faults, each with its document and URL.
    """
    answers = list(_documents(client, path))
    now = dt.datetime.now(dt.UTC)
    findings = Findings()
    # One list of all that an index has: a URL on two of its pages is there twice.
    section = AuditedSection("", _site_of(answers), now)
    Checking(findings, {"": section}).check([document for document, _ in answers])
    faults = findings.sorted()
    if not faults:
        return
    lines = [
        f"  {one.page}: {' '.join(filter(None, (one.url, one.text)))} ({one.kind})"
        for one in faults[:_SHOWN]
    ]
    more = len(faults) - len(lines)
    lines += [f"  and {more:,} more"] if more else []
    raise AssertionError("\n".join([f"{path} has faults:", *lines]))


def assert_listed(client: Client, url: str, path: str = "/sitemap.xml") -> None:
    """
    Assert that the sitemap at ``path``, or one that it lists, has a URL.

    ``url`` is a whole URL, or a path of the site.

    Raises:
        AssertionError: It is not listed; or a document does not answer 200.
    """
    count, some = 0, list[str]()
    for document, origin in _documents(client, path):
        wanted = _written(url, origin)
        for location in (entry.location for entry in document.listed()):
            # The host is the settings' or the request's, whatever view answers.
            same = wanted if "://" in url else _moved(wanted, location)
            if location == same:
                return
            count += 1
            some += [location] if count <= _SHOWN else []
    lines = [f"  {location}" for location in some]
    lines += [f"  and {count - len(some):,} more"] if count > len(some) else []
    listed = "\n".join(lines) or "  nothing"
    raise AssertionError(f"{path} does not list {url}. It lists:\n{listed}")


def _documents(client: Client, path: str) -> Iterator[tuple[ListedDocument, Origin]]:
    """Yield a sitemap, or an index and its sitemaps, and the origin that it was at."""
    waiting, seen = [path], {path}
    while waiting:
        address = waiting.pop(0)
        response: Any = client.get(address)
        if response.status_code != 200:
            raise AssertionError(f"{address} answers {response.status_code}.")
        body = response.getvalue()
        if body.startswith(b"\x1f\x8b"):
            body = gzip.decompress(body)
        request = response.wsgi_request
        document = ListedDocument(
            "", address, partial(bytes, body), batches_of=_batches
        )
        yield document, Origin.parse(f"{request.scheme}://{request.get_host()}")
        for location in _sitemaps_of(body):
            parts = urlsplit(location)
            at = f"{parts.path}?{parts.query}" if parts.query else parts.path
            if at not in seen:
                seen.add(at)
                waiting.append(at)


def _batches(body: bytes) -> Iterator[EntryBatch]:
    return batches_of(_entries(body))


def _entries(body: bytes) -> Iterator[Entry]:
    return parse("it", io.BytesIO(body), namespace=SITEMAP)


def _sitemaps_of(body: bytes) -> Iterator[str]:
    """Yield the sitemaps that an index lists."""
    with suppress(Unreadable):
        for entry in _entries(body):
            if entry.is_sitemap and entry.location:
                yield entry.location


def _site_of(answers: Sequence[tuple[ListedDocument, Origin]]) -> SiteAddress:
    """Return the address that a sitemap is about: the settings' or the request's."""
    _, origin = answers[0]
    # A Site has a domain only: its scheme is the request's.
    site = Site.current().address(origin.scheme) or SiteAddress(origin=origin)
    sites = {str(site.origin): site}
    for _, origin in answers:
        sites.setdefault(str(origin), SiteAddress(origin=origin))
    for document, _ in answers:
        for entry in document.listed():
            parts = urlsplit(entry.location)
            return sites.get(f"{parts.scheme}://{parts.netloc}", site)
    return site


def _written(url: str, origin: Origin) -> str:
    """Return a URL as a sitemap writes it."""
    try:
        return origin.absolute(url)
    except LocationError as error:
        raise AssertionError(f"{url!r} cannot be listed: {error}.") from error


def _moved(url: str, location: str) -> str:
    """Return a URL with scheme and host of another one."""
    parts, other = urlsplit(url), urlsplit(location)
    return parts._replace(scheme=other.scheme, netloc=other.netloc).geturl()
