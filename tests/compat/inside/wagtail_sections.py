"""Wagtail's pages as a section: listed as Wagtail lists them, and notified."""

from __future__ import annotations

import datetime as dt
import json
from typing import Any
from unittest.mock import patch
from xml.etree import ElementTree

from django.core.management import call_command
from django.db import connection
from django.test import RequestFactory, TestCase, override_settings
from django.test.utils import CaptureQueriesContext
from django.urls import include, path
from django.utils import timezone
from wagtail.contrib.sitemaps import Sitemap as WagtailSitemap
from wagtail.contrib.sitemaps import views as wagtail_views
from wagtail.models import Locale, Page, PageViewRestriction, Site
from wagtail.test import urls, urls_multilang
from wagtail.test.testapp.models import EventIndex, SimplePage

from django_sitemaps_plus.changes import receivers
from django_sitemaps_plus.contrib import wagtail as ours
from django_sitemaps_plus.contrib.wagtail import PageSitemap
from django_sitemaps_plus.models import Change
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.testing import engines

TAG = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
LINK = "{http://www.w3.org/1999/xhtml}link"
HOST = "www.example.com"
ROOT = f"https://{HOST}"
MOMENT = dt.datetime(2017, 1, 1, 18, 0, tzinfo=dt.UTC)  # January 2 in TIME_ZONE, Tokyo

SITEMAPS = {"pages": PageSitemap, "stock": WagtailSitemap}
urlpatterns = [path("", include("django_sitemaps_plus.urls")), *urls.urlpatterns]


class multilingual:  # noqa: N801 (a module, as far as Django knows)
    """The same, with Wagtail's pages below the code of their language."""

    urlpatterns = (
        path("", include("django_sitemaps_plus.urls")),
        *urls_multilang.urlpatterns,
    )


def entries(response: Any) -> dict[str, Any]:
    """Return the entries of a urlset by their locations."""
    if hasattr(response, "render"):
        response.render()
    assert response.status_code == 200, response.content
    root = ElementTree.fromstring(response.content)  # noqa: S314 (our own bytes)
    return {entry.findtext(f"{TAG}loc", ""): entry for entry in root}


def days(response: Any) -> dict[str, dt.date | None]:
    """Return the day of each entry in ``TIME_ZONE``, all that contrib says."""
    found: dict[str, dt.date | None] = {}
    for location, entry in entries(response).items():
        text = entry.findtext(f"{TAG}lastmod")
        moment = dt.datetime.fromisoformat(text) if text else None
        is_time = moment is not None and moment.tzinfo is not None
        found[location] = (
            timezone.localdate(moment) if is_time else moment and moment.date()
        )
    return found


@override_settings(
    ROOT_URLCONF="wagtail_sections",
    ALLOWED_HOSTS=[HOST, "o.example"],
    SITEMAPS_PLUS={
        "BASE_URL": ROOT,
        "SITEMAPS": "wagtail_sections.SITEMAPS",
        "ENGINES": {
            "memory": {
                "BACKEND": "django_sitemaps_plus.engines.memory.Memory",
                "OPTIONS": {"interval": 0},
            }
        },
    },
)
class SectionTests(TestCase):
    """A site with two folders of pages, and all that is not listed."""

    @classmethod
    def setUpTestData(cls) -> None:
        cls.home = Page.objects.get(depth=2, slug="home")
        Site.objects.update(hostname=HOST, port=443)
        Site.clear_site_root_paths_cache()
        cls.blog = cls.add(cls.home, "blog")
        cls.post = cls.add(cls.blog, "größe")
        cls.news = cls.add(cls.home, "news", last_published_at=MOMENT)
        cls.draft = cls.add(cls.blog, "draft", live=False)
        cls.secret = cls.add(cls.home, "secret")
        cls.below = cls.add(cls.secret, "below")
        PageViewRestriction.objects.create(page=cls.secret, password="secret")
        cls.home.add_child(instance=EventIndex(title="Events", slug="events"))

    @classmethod
    def add(cls, parent: Any, slug: str, **fields: Any) -> Any:
        page = SimplePage(title=slug, slug=slug, content=slug, **fields)
        return parent.specific.add_child(instance=page)

    def setUp(self) -> None:
        call_command("build_sitemaps", verbosity=0)
        self.notified()

    # What is listed

    def section(self, name: str = "pages") -> dict[str, Any]:
        response = self.client.get(f"/sitemap-{name}-1.xml", headers={"host": HOST})
        return entries(response)

    def wagtails(self) -> dict[str, Any]:
        request = RequestFactory().get("/", headers={"host": HOST}, secure=True)
        return entries(wagtail_views.sitemap(request))

    def test_it_lists_what_wagtails_view_does(self) -> None:
        assert set(self.section()) == set(self.wagtails())
        # One page of two entries, and the names of all pages.
        assert {f"{ROOT}/blog/gr%C3%B6%C3%9Fe/", f"{ROOT}/events/past/"} <= set(
            self.section()
        )
        assert not [found for found in self.section() if "secret" in found]

    def test_wagtails_own_class_is_listed_by_position(self) -> None:
        assert set(self.section("stock")) == set(self.wagtails())

    def test_our_views_serve_what_wagtails_do(self) -> None:
        request = RequestFactory().get("/", headers={"host": HOST}, secure=True)
        expected = days(wagtail_views.sitemap(request))
        assert expected[f"{ROOT}/news/"] == dt.date(2017, 1, 2)
        assert days(ours.sitemap(request)) == expected
        for name, arguments in {
            "sitemap": {"sitemaps": {"a": WagtailSitemap, "b": PageSitemap}},
            "index": {"sitemaps": {"a": WagtailSitemap}, "sitemap_url_name": "sitemap"},
        }.items():
            with override_settings(ROOT_URLCONF="wagtail.test.urls"):
                found = getattr(ours, name)(request, **arguments)
            pages = {f"{ROOT}/sitemap-a.xml"} if name == "index" else self.wagtails()
            assert set(entries(found)) == set(pages)

    def test_the_site_is_the_one_of_the_address(self) -> None:
        other = self.add(Page.objects.get(depth=1), "other")
        self.add(other, "leaf")
        site = Site.objects.create(hostname="o.example", port=80, root_page=other)
        assert PageSitemap().site != site
        request = RequestFactory().get("/", headers={"host": "o.example"})
        assert set(entries(ours.sitemap(request))) == set(
            entries(wagtail_views.sitemap(request))
        )
        assert set(self.section()) == set(self.wagtails())
        for address, wanted in {
            "http://o.example": site,
            "https://o.example": site,
            "https://unknown.example": Site.objects.get(is_default_site=True),
        }.items():
            with override_settings(SITEMAPS_PLUS={"BASE_URL": address}):
                sitemap = PageSitemap()
                assert sitemap.site == wanted
                paths = [
                    entry["location"]
                    for page in sitemap.items()
                    for entry in sitemap.get_urls_for_item(page)
                ]
            assert (paths == ["/", "/leaf/"]) == (wanted == site)

    def test_the_host_of_wagtails_site_may_be_another(self) -> None:
        """A new Wagtail says "localhost", whatever the site's address is."""
        listed = set(self.section())
        site = Site.objects.get()
        site.hostname, site.port = "localhost", 80
        with self.captureOnCommitCallbacks(execute=True):
            site.save()
        call_command("build_sitemaps", verbosity=0)
        assert set(self.section()) == listed

    def test_no_save_of_a_page_concerns_all_others(self) -> None:
        listeners = receivers._listeners[SimplePage]
        assert [recorder.name for recorder in listeners.own] == ["pages"]
        assert listeners.related == []

    def test_so_many_queries_whatever_the_number_of_pages(self) -> None:
        def count() -> int:
            with CaptureQueriesContext(connection) as queries:
                sitemap = PageSitemap()
                pages = list(sitemap.items())
                sitemap.prepare_items(pages)
                for page in pages:
                    list(sitemap.get_urls_for_item(page))
            return len(queries)

        few = count()
        for number in range(20):
            self.add(self.news, f"n-{number}")
        assert count() == few

    # What reaches the engines

    def notified(self) -> set[str]:
        """Return what engines are sent, once its pages are built."""
        call_command("build_sitemaps", verbosity=0)
        call_command("ping_sitemaps", verbosity=0)
        sent = engines()["memory"].sent
        found = {url for batch in sent if not batch.are_sitemaps for url in batch.urls}
        sent.clear()
        return {url.removeprefix(ROOT) for url in found}

    def recorded(self) -> set[int]:
        """Return the pages that are to be looked up, in seconds."""
        keys = Change.objects.filter(section="pages").values_list("key", flat=True)
        return {int(json.loads(key)[0]) for key in keys if key}

    def test_publishing(self) -> None:
        page = self.draft.specific
        with self.captureOnCommitCallbacks(execute=True):
            page.title = "Another title"
            revision = page.save_revision()
        assert self.notified() == set()
        with self.captureOnCommitCallbacks(execute=True):
            revision.publish()
        assert self.recorded() == {page.pk}
        assert self.notified() == {"/blog/draft/"}

    def test_the_draft_of_a_live_page_is_nobodys_business(self) -> None:
        page = self.post.specific
        with self.captureOnCommitCallbacks(execute=True):
            page.save_revision().publish()
        assert self.notified() == {"/blog/gr%C3%B6%C3%9Fe/"}
        page = Page.objects.get(pk=page.pk).specific
        page.title = "Not yet"
        with self.captureOnCommitCallbacks(execute=True):
            page.save_revision()
        assert not Change.objects.exists()
        assert self.notified() == set()

    def test_unpublishing(self) -> None:
        with self.captureOnCommitCallbacks(execute=True):
            self.post.unpublish()
        assert self.notified() == {"/blog/gr%C3%B6%C3%9Fe/"}
        assert f"{ROOT}/blog/gr%C3%B6%C3%9Fe/" not in self.section()

    def test_moving(self) -> None:
        with self.captureOnCommitCallbacks(execute=True):
            self.blog.specific.move(self.news, pos="last-child")
        assert self.recorded() == {self.blog.pk, self.post.pk, self.draft.pk}
        old = {"/blog/", "/blog/gr%C3%B6%C3%9Fe/"}
        assert self.notified() == old | {f"/news{path}" for path in old}

    def test_another_slug(self) -> None:
        page = self.blog.specific
        page.slug = "journal"
        with self.captureOnCommitCallbacks(execute=True):
            page.save_revision().publish()
        assert self.recorded() == {self.blog.pk, self.post.pk, self.draft.pk}
        rest = {"/", "/gr%C3%B6%C3%9Fe/"}
        assert self.notified() == {
            f"/{slug}{path}" for slug in ("blog", "journal") for path in rest
        }

    def test_deleting(self) -> None:
        with self.captureOnCommitCallbacks(execute=True):
            self.blog.delete()
        assert self.notified() == {"/blog/", "/blog/gr%C3%B6%C3%9Fe/"}

    def test_restricting(self) -> None:
        with self.captureOnCommitCallbacks(execute=True):
            restriction = PageViewRestriction.objects.create(
                page=self.blog, password="secret"
            )
        gone = {"/blog/", "/blog/gr%C3%B6%C3%9Fe/"}
        assert self.notified() == gone
        with self.captureOnCommitCallbacks(execute=True):
            restriction.delete()
        assert self.notified() == gone


@override_settings(
    ROOT_URLCONF=multilingual,
    ALLOWED_HOSTS=[HOST],
    LANGUAGE_CODE="en",
    LANGUAGES=[("en", "English"), ("fr", "French")],
    WAGTAIL_CONTENT_LANGUAGES=[("en", "English"), ("fr", "French")],
    WAGTAIL_I18N_ENABLED=True,
    SITEMAPS_PLUS={"BASE_URL": ROOT, "SITEMAPS": "wagtail_sections.SITEMAPS"},
)
class TranslatedTests(TestCase):
    """A second tree of pages, in another language."""

    @classmethod
    def setUpTestData(cls) -> None:
        home = Page.objects.get(depth=2, slug="home")
        Site.objects.update(hostname=HOST, port=443)
        Site.clear_site_root_paths_cache()
        cls.about = SectionTests.add(home, "about")
        SectionTests.add(home, "only")
        french = Locale.objects.create(language_code="fr")
        for page in (home, cls.about):
            cls.copy = page.specific.copy_for_translation(french, copy_parents=True)
            cls.publish(cls.copy, slug="à-propos" if page == cls.about else "accueil")

    @classmethod
    def publish(cls, page: Any, **fields: Any) -> None:
        page = page.specific
        for name, value in fields.items():
            setattr(page, name, value)
        page.save_revision().publish()

    def links(self) -> dict[str, dict[str, str]]:
        """Return the alternates of each page, by its path."""
        response = self.client.get("/sitemap-pages-1.xml", headers={"host": HOST})
        return {
            location.removeprefix(ROOT): {
                link.attrib["hreflang"]: link.attrib["href"].removeprefix(ROOT)
                for link in entry.iter(LINK)
            }
            for location, entry in entries(response).items()
        }

    def test_translations_are_listed_and_name_each_other(self) -> None:
        homes = {"en": "/en/", "fr": "/fr/"}
        abouts = {"en": "/en/about/", "fr": "/fr/%C3%A0-propos/"}
        listed = {path: pages for pages in (homes, abouts) for path in pages.values()}
        assert self.links() == {**listed, "/en/only/": {}}

    def test_a_translation_that_is_unpublished_is_not_named(self) -> None:
        call_command("build_sitemaps", verbosity=0)
        with self.captureOnCommitCallbacks(execute=True):
            Page.objects.get(pk=self.copy.pk).specific.unpublish()
        assert self.links()["/en/about/"] == {}

    def test_alternates_can_be_switched_off(self) -> None:
        plain = type("Plain", (PageSitemap,), {"alternates": False})
        self.addCleanup(registry.changed)
        with patch.dict(SITEMAPS, pages=plain):
            registry.changed()
            links = self.links()
        assert len(links) == 5
        assert not any(links.values())
