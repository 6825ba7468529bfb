"""What ``django_sitemaps_plus.contrib.insight`` shows of what Google has."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from django_sitemaps_plus.contrib.webmasters import shares
from django_sitemaps_plus.contrib.webmasters.models import Inspection
from tests.contrib.insight.test_pages import staff
from tests.contrib.webmasters.inspected import BASE, google, options, store, urls_of
from tests.contrib.webmasters.test_shares import said
from tests.support.fakes.inspection import FakeInspection
from tests.support.helpers import ArticleSitemap

__all__ = ["google"]

pytestmark = pytest.mark.django_db


def test_the_admin_shows_it_to_those_who_may_see_it(
    google: FakeInspection, admin_client: Client
) -> None:
    store("about", urls_of("about", 9_000))
    said(40)
    link = "https://search.google.com/search-console/inspect?resource_id=x&id=y"
    reason = "Crawled - currently not indexed <b>"
    said(12, 40, verdict="NEUTRAL", former_verdict="PASS", reason=reason, link=link)
    said(1_500, 60, crawled_at=1.0, lastmod=2.0)
    html = admin_client.get("/admin/sitemaps_plus/").content.decode()
    assert "99 % (98 to 100)" in html
    assert 'state=uncrawled">1,500</a>' in html
    crawled = (
        "?of=about&amp;state=not&amp;reason=Crawled+-+currently+not+indexed+%3Cb%3E"
    )
    assert (
        f'{crawled}">12&nbsp;<span lang="en">Crawled - currently not indexed &lt;b&gt;'
        in html
    )
    assert 'href="https://search.google.com/search-console/inspect?resource' in html
    address = "/admin/sitemaps_plus_webmasters/inspection/"
    assert f'href="{address}?of=about&amp;state=lost">12</a>' in html
    listed = admin_client.get(f"{address}?of=about&state=lost").content.decode()
    assert listed.count('class="field-address"') == 12
    said(
        1, 5_000, verdict="NEUTRAL", reason="Duplicate", canonical="https://a.example/"
    )
    for query, count in (
        (crawled, 12),
        ("?reason=Duplicate", 1),
        ("?canonical=https%3A%2F%2Fa.example%2F", 1),
    ):
        page = f"{address}{query.replace('&amp;', '&')}"
        listed = admin_client.get(page).content.decode()
        assert listed.count('class="field-address"') == count, query
    export = admin_client.get(f"{address}export/?state=lost").content.decode()
    assert export.count("\r\n") == 13
    html = staff().get("/admin/sitemaps_plus/").content.decode()
    assert "sitemaps-indexed" not in html


def test_the_admin_shows_why_nothing_is_inspected(
    google: FakeInspection, settings: Any, admin_client: Client
) -> None:
    settings.SITEMAPS_PLUS = {
        **settings.SITEMAPS_PLUS,
        "ENGINES": options(google, site="https://shop.example.com/"),
    }
    html = admin_client.get("/admin/sitemaps_plus/").content.decode()
    assert "https://www.example.com is not part of the property https://shop" in html
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "INSPECTIONS": 0}
    html = admin_client.get("/admin/sitemaps_plus/").content.decode()
    assert "sitemaps-indexed" not in html


def test_the_story_of_a_url_has_the_newest_answer_of_google(
    google: FakeInspection, admin_client: Client
) -> None:
    url = f"{BASE}/about/1/"
    link = "https://search.google.com/search-console/inspect?resource_id=x&id=y"
    said(1, 1, verdict="NEUTRAL", reason="Duplicate", canonical=f"{BASE}/other/")
    Inspection.objects.update(link=link, crawled_at=1_700_000_000, obstacle="NOINDEX")
    story = "/admin/sitemaps_plus/urlchange/story/"
    html = admin_client.get(story, {"url": url}).content.decode()
    assert "<dd>not indexed" in html
    assert "Duplicate (NOINDEX)" in html
    assert f'href="{BASE}/other/"' in html
    assert "2023" in html
    assert f'href="{link.replace("&", "&amp;")}"' in html
    html = admin_client.get(story, {"url": f"{BASE}/about/2/"}).content.decode()
    assert "Not inspected. Of a large section" in html
    assert "id=https%3A%2F%2Fwww.example.com%2Fabout%2F2%2F" in html
    html = staff("view_urlchange").get(story, {"url": url}).content.decode()
    assert "What happened to it" in html
    assert "Duplicate" not in html


def test_the_section_that_is_indexed_worst_comes_first(
    google: FakeInspection, register: Any
) -> None:
    store("about", urls_of("about", 100))
    for name, indexed in (("a", 3), ("z", 1), ("m", 2)):
        register(name, ArticleSitemap)
        store(name, urls_of(name, 3))
        said(indexed, of=name)
        said(3 - indexed, indexed, of=name, verdict="NEUTRAL")
    assert [one.section for one in shares.shares()] == ["z", "m", "a", "about"]
