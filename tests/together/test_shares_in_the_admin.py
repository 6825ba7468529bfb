"""What ``django_sitemaps_plus.contrib.insight`` shows of what Google has."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from tests.contrib.webmasters.inspected import options, store, urls_of
from tests.contrib.webmasters.test_shares import google, said
from tests.support.fakes.inspection import FakeInspection

__all__ = ["google"]

pytestmark = pytest.mark.django_db


def test_the_admin_shows_it_to_those_who_may_see_it(
    google: FakeInspection, admin_client: Client, django_user_model: Any
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
    assert (
        '12&nbsp;<span lang="en">Crawled - currently not indexed &lt;b&gt;</span>'
        in html
    )
    assert 'href="https://search.google.com/search-console/inspect?resource' in html
    address = "/admin/sitemaps_plus_webmasters/inspection/"
    assert f'href="{address}?of=about&amp;state=lost">12</a>' in html
    listed = admin_client.get(f"{address}?of=about&state=lost").content.decode()
    assert listed.count('class="field-address"') == 12
    export = admin_client.get(f"{address}export/?state=lost").content.decode()
    assert export.count("\r\n") == 13
    guest = django_user_model.objects.create_user("guest", is_staff=True)
    client = Client()
    client.force_login(guest)
    assert (
        "sitemaps-indexed" not in client.get("/admin/sitemaps_plus/").content.decode()
    )


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
