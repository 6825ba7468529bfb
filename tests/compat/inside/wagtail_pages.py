"""Wagtail's pages in a sitemap: this app lists what contrib lists."""

from __future__ import annotations

import datetime as dt
from typing import Any
from xml.etree import ElementTree

import wagtail_views
from django.test import RequestFactory, TestCase, override_settings
from django.urls import include, path
from django.utils import timezone
from wagtail.contrib.sitemaps import Sitemap
from wagtail.contrib.sitemaps import views as contrib_views
from wagtail.models import Page, PageViewRestriction, Site
from wagtail.test import urls
from wagtail.test.testapp.models import EventIndex, SimplePage

TAG = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
MOMENT = dt.datetime(2017, 1, 1, 18, 0, tzinfo=dt.UTC)  # January 2 in TIME_ZONE, Tokyo

SITEMAPS = {"pages": Sitemap}
urlpatterns = [path("", include("django_sitemaps_plus.urls")), *urls.urlpatterns]


def day(text: str | None) -> dt.date | None:
    """Return the day in ``TIME_ZONE``: all that contrib says of a time."""
    if text is None:
        return None
    moment = dt.datetime.fromisoformat(text)
    return timezone.localdate(moment) if moment.tzinfo else moment.date()


def entries(response: Any) -> list[tuple[str, dt.date | None]]:
    if hasattr(response, "render"):
        response.render()
    return sorted(
        (entry.findtext(f"{TAG}loc"), day(entry.findtext(f"{TAG}lastmod")))
        for entry in ElementTree.fromstring(response.content)  # noqa: S314 (our own bytes)
    )


class PagesTests(TestCase):
    """Pages of two sites: dated and not, restricted, unpublished, with two URLs."""

    @classmethod
    def setUpTestData(cls) -> None:
        home = Page.objects.get(depth=2, slug="home")
        for slug, fields in {
            "dated": {"last_published_at": MOMENT},
            "größe": {"last_published_at": MOMENT},
            "draft": {"live": False},
            "secret": {},
            "undated": {},
        }.items():
            page = SimplePage(title=slug, slug=slug, content=slug, **fields)
            home.add_child(instance=page)
            if slug == "secret":
                PageViewRestriction.objects.create(page=page, password="secret")
        home.add_child(
            instance=EventIndex(
                title="Events",
                slug="events",
                live=True,
                latest_revision_created_at=MOMENT,
            )
        )
        other = SimplePage(title="Other", slug="other", content="other")
        Page.objects.get(depth=1).add_child(instance=other)
        Site.objects.create(hostname="other.example.com", port=80, root_page=other)

    def assert_same(self, name: str, host: str, least: int, **arguments: Any) -> None:
        def asked(views: Any) -> list[tuple[str, dt.date | None]]:
            request = RequestFactory().get("/", headers={"host": host})
            return entries(getattr(views, name)(request, **arguments))

        ours = asked(wagtail_views)
        assert ours == asked(contrib_views)
        assert len(ours) >= least

    def test_our_view_lists_what_contribs_does(self) -> None:
        self.assert_same("sitemap", "localhost", 6)

    @override_settings(SITEMAPS_PLUS={"BASE_URL": "http://localhost"})
    def test_each_site_has_its_own(self) -> None:
        self.assert_same("sitemap", "other.example.com", 1)

    def test_our_index_lists_what_contribs_does(self) -> None:
        with override_settings(ROOT_URLCONF="wagtail_urls"):
            self.assert_same(
                "index",
                "localhost",
                1,
                sitemaps={"pages": Sitemap},
                sitemap_url_name="sitemap",
            )

    @override_settings(
        ROOT_URLCONF="wagtail_pages",
        SITEMAPS_PLUS={
            "BASE_URL": "http://localhost",
            "SITEMAPS": "wagtail_pages.SITEMAPS",
        },
    )
    def test_a_dict_named_by_the_settings_is_served(self) -> None:
        request = RequestFactory().get("/", headers={"host": "localhost"})
        contrib = entries(contrib_views.sitemap(request))
        for address in ("/sitemap.xml", "/sitemap-pages.xml", "/sitemap-pages-1.xml"):
            response = self.client.get(address, headers={"host": "localhost"})
            assert entries(response) == contrib
