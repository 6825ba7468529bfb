"""What ``django_sitemaps_plus.contrib.insight`` shows of what Google has."""

from __future__ import annotations

from typing import Any

import pytest

from django_sitemaps_plus.contrib.webmasters import shares
from django_sitemaps_plus.contrib.webmasters.models import Inspection
from tests.contrib.insight.test_pages import staff, text
from tests.contrib.insight.test_story import page_of
from tests.contrib.webmasters.inspected import BASE, google, options, store, urls_of
from tests.contrib.webmasters.test_shares import said
from tests.support.fakes.inspection import FakeInspection
from tests.support.helpers import ArticleSitemap

__all__ = ["google"]

pytestmark = pytest.mark.django_db

LINK = "https://search.google.com/search-console/inspect?resource_id=x&id=y"


def test_the_admin_shows_it_to_those_who_may_see_it(google: FakeInspection) -> None:
    store("about", urls_of("about", 9_000))
    said(40)
    reason = "Crawled - currently not indexed <b>"
    said(12, 40, verdict="NEUTRAL", former_verdict="PASS", reason=reason, link=LINK)
    said(1_500, 60, crawled_at=1.0, lastmod=2.0)
    html = text("")
    address = "/admin/sitemaps_plus_webmasters/inspection/"
    crawled = "of=about&state=not&reason=Crawled+-+currently+not+indexed+%3Cb%3E"
    more = crawled.replace("&", "&amp;")
    for shown in (
        "99 % (98 to 100)",
        'state=uncrawled">1,500</a>',
        f'?{more}">12&nbsp;<span lang="en">Crawled - currently not indexed &lt;b&gt;',
        'href="https://search.google.com/search-console/inspect?resource',
        f'href="{address}?of=about&amp;state=lost">12</a>',
    ):
        assert shown in html
    other = {"reason": "Duplicate", "canonical": "https://a.example/"}
    said(1, 5_000, verdict="NEUTRAL", **other)
    for query, count in (
        ("of=about&state=lost", 12),
        (crawled, 12),
        ("reason=Duplicate", 1),
        ("canonical=https%3A%2F%2Fa.example%2F", 1),
    ):
        listed = text(f"inspection/?{query}")
        assert listed.count('class="field-address"') == count, query
    assert text("inspection/export/?state=lost").count("\r\n") == 13
    assert "sitemaps-indexed" not in staff().get("/admin/sitemaps_plus/").text


def test_the_admin_shows_why_nothing_is_inspected(google: Any, settings: Any) -> None:
    given = {"ENGINES": options(google, site="https://shop.example.com/")}
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, **given}
    assert "https://www.example.com is not part of the property https://shop" in text(
        ""
    )
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "INSPECTIONS": 0}
    assert "sitemaps-indexed" not in text("")


def test_a_story_has_the_newest_answer_of_google(google: FakeInspection) -> None:
    url = f"{BASE}/about/1/"
    said(1, 1, verdict="NEUTRAL", reason="Duplicate", canonical=f"{BASE}/other/")
    Inspection.objects.update(link=LINK, crawled_at=1_700_000_000, obstacle="NOINDEX")
    html = page_of(url)
    for shown in (
        "<dd>not indexed",
        "Duplicate (NOINDEX)",
        f'href="{BASE}/other/"',
        "2023",
        f'href="{LINK.replace("&", "&amp;")}"',
    ):
        assert shown in html
    html = page_of(f"{BASE}/about/2/")
    assert "Not inspected. Of a large section" in html
    assert "id=https%3A%2F%2Fwww.example.com%2Fabout%2F2%2F" in html
    html = page_of(url, staff("view_urlchange"))
    assert "What happened to it" in html
    assert "Duplicate" not in html


def test_the_section_that_is_indexed_worst_comes_first(
    google: Any, register: Any
) -> None:
    store("about", urls_of("about", 100))
    for name, indexed in (("a", 3), ("z", 1), ("m", 2)):
        register(name, ArticleSitemap)
        store(name, urls_of(name, 3))
        said(indexed, of=name)
        said(3 - indexed, indexed, of=name, verdict="NEUTRAL")
    assert [one.section for one in shares.shares()] == ["z", "m", "a", "about"]
