"""A site whose URLs are inspected: stored pages, and engines that ask the fake."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from django_sitemaps_plus.contrib.webmasters import coverage
from django_sitemaps_plus.contrib.webmasters.models import Inspection
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.pagination.queries import row_of
from django_sitemaps_plus.storing import storage
from django_sitemaps_plus.storing.segments import segment_of
from tests.support.fakes.inspection import FakeInspection
from tests.support.helpers import ArticleSitemap

BASE = "https://www.example.com"
CONSOLE = "django_sitemaps_plus.contrib.webmasters.google.SearchConsole"
LASTMOD = "2026-10-02T00:00:00+00:00"


def options(google: FakeInspection, **given: Any) -> dict[str, Any]:
    """Return ``ENGINES`` with a Search Console that is the fake."""
    own = {
        "site": f"{BASE}/",
        "credentials": google.user_credentials,
        "endpoint": google.endpoint,
        "timeout": 5.0,
    }
    return {"google": {"BACKEND": CONSOLE, "OPTIONS": {**own, **given}}}


@pytest.fixture
def google(settings: Any, register: Any) -> Iterator[FakeInspection]:
    """Give a Google that knows a site with a section, and is asked about it."""
    register("about", ArticleSitemap)
    with FakeInspection() as server:
        settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "ENGINES": options(server)}
        yield server


def urls_of(name: str, count: int, start: int = 0) -> list[str]:
    return [f"{BASE}/{name}/{number}/" for number in range(start, start + count)]


def store(name: str, urls: list[str], *, limit: int = 10_000) -> None:
    """Store the pages of a section that lists some URLs, in place of what it listed."""
    section = row_of(name)
    Page.objects.filter(section=section).delete()
    for number, start in enumerate(range(0, len(urls), limit), 1):
        some = urls[start : start + limit]
        text = "".join(
            f"<url><loc>{url}</loc><lastmod>{LASTMOD}</lastmod></url>\n" for url in some
        )
        page = Page.objects.create(
            section=section,
            number=number,
            position=number,
            entries=len(some),
            checksum=f"{number}",
        )
        segment = segment_of(text.encode())
        stored = storage.StoredBytes(f"{BASE}/", segment, len(some))
        storage.write_all([(page, page.checksum, stored)])


def inspect(most: int = 50, is_over: Callable[[], bool] = lambda: False) -> int | None:
    return coverage.inspect(is_over, most=most)


def verdicts() -> dict[str, str]:
    """Return the verdict of each URL that was inspected, by its path."""
    rows = Inspection.objects.values_list("url", "verdict")
    return {url.removeprefix(BASE): verdict for url, verdict in rows}
