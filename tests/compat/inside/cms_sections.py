"""django CMS's pages as a section: listed as django CMS lists them, and notified."""

from __future__ import annotations

import json
import os
from datetime import timedelta
from typing import Any
from xml.etree import ElementTree

from cms.api import create_page, create_page_content
from cms.models import PageContent, PageUrl
from cms.sitemaps import CMSSitemap
from django.contrib.auth.models import User
from django.contrib.sites.models import Site
from django.core.management import call_command
from django.test import TestCase
from django.urls import reverse
from django.utils import timezone

from django_sitemaps_plus.contrib.djangocms import PageSitemap
from django_sitemaps_plus.models import Change
from django_sitemaps_plus.testing import engines

TAG = "{http://www.sitemaps.org/schemas/sitemap/0.9}"
LINK = "{http://www.w3.org/1999/xhtml}link"
HOST = "www.example.com"
ROOT = f"https://{HOST}"
VERSIONS = bool(os.environ.get("SUITE_VERSIONS"))

SITEMAPS = {"pages": PageSitemap, "stock": CMSSitemap}


class SectionTests(TestCase):
    """A page in three languages with a page below it in two, and what is not listed."""

    @classmethod
    def setUpTestData(cls) -> None:
        Site.objects.update_or_create(pk=1, defaults={"domain": HOST, "name": HOST})
        cls.user = User.objects.create_superuser("somebody", password="secret")
        cls.home = cls.add("home", "en", "de", "fr")
        if not cls.home.is_home:
            cls.home.set_as_homepage()
        cls.blog = cls.add("blog", "en", "de", "fr")
        cls.post = cls.add("post", "en", "de", parent=cls.blog)
        cls.news = cls.add("news", "en")
        cls.add("members", "en", login_required=True)
        cls.add("elsewhere", "en", redirect="/en/news/")
        # Whoever saves one again does so in another second.
        yesterday = timezone.now() - timedelta(days=1)
        PageContent._base_manager.update(changed_date=yesterday)

    @classmethod
    def add(cls, title: str, *languages: str, parent: Any = None, **more: Any) -> Any:
        first, *others = languages
        options = {"slug": title, "created_by": cls.user}
        page = create_page(
            title, "cms_page.html", first, parent=parent, **options, **more
        )
        for language in others:
            create_page_content(language, f"{title}-{language}", page, **options)
        cls.publish(page)
        return page

    @classmethod
    def publish(cls, page: Any) -> None:
        if VERSIONS:
            for content in PageContent.admin_manager.filter(page=page):
                version = content.versions.first()
                if version.state == "draft":
                    version.publish(cls.user)

    def setUp(self) -> None:
        # All of them: an engine is not notified without complaint before.
        call_command("build_sitemaps", verbosity=0)
        self.notified()

    # What is listed

    def entries(self, path: str) -> dict[str, Any]:
        response = self.client.get(path, headers={"host": HOST}, secure=True)
        assert response.status_code == 200, response.content
        root = ElementTree.fromstring(response.content)  # noqa: S314 (our own bytes)
        return {entry.findtext(f"{TAG}loc", ""): entry for entry in root}

    def test_it_lists_what_django_cms_lists(self) -> None:
        listed = set(self.entries("/contrib.xml"))
        assert f"{ROOT}/de/blog/post/" in listed
        assert len(listed) == 9
        for path in ("ours", "sitemap-pages-1", "sitemap-stock-1"):
            assert set(self.entries(f"/{path}.xml")) == listed, path

    def test_the_languages_of_a_page_name_each_other(self) -> None:
        entries = self.entries("/sitemap-pages-1.xml")
        links = {
            location.removeprefix(ROOT): {
                link.attrib["hreflang"]: link.attrib["href"].removeprefix(ROOT)
                for link in entry.iter(LINK)
            }
            for location, entry in entries.items()
        }
        assert links["/fr/blog/"] == {
            "en": "/en/blog/",
            "de": "/de/blog/",
            "fr": "/fr/blog/",
        }
        assert links["/en/news/"] == {}

    def test_the_lastmod_is_that_of_the_content(self) -> None:
        times = {
            path: [entry.findtext(f"{TAG}lastmod") for entry in found.values()]
            for path in ("/sitemap-pages-1.xml", "/contrib.xml")
            for found in [self.entries(path)]
        }
        assert None not in times["/sitemap-pages-1.xml"]

    # What reaches the engines

    def notified(self) -> set[str]:
        """Return what engines are sent, once the section's page is built."""
        call_command("build_sitemaps", "pages", verbosity=0)
        call_command("ping_sitemaps", verbosity=0)
        sent = engines()["memory"].sent
        found = {url for batch in sent if not batch.are_sitemaps for url in batch.urls}
        sent.clear()
        return {url.removeprefix(ROOT) for url in found}

    def recorded(self) -> set[str]:
        """Return the paths that are to be looked up, in seconds."""
        changes = Change.objects.filter(section="pages", related="").exclude(key="")
        keys = [json.loads(key)[0] for key in changes.values_list("key", flat=True)]
        urls = PageUrl.objects.filter(pk__in=keys)
        return {f"/{url.language}/{url.path}/" for url in urls}

    def test_publishing(self) -> None:
        with self.captureOnCommitCallbacks(execute=True):
            page = create_page(
                "new", "cms_page.html", "en", slug="new", created_by=self.user
            )
        assert self.notified() == (set() if VERSIONS else {"/en/new/"})
        with self.captureOnCommitCallbacks(execute=True):
            self.publish(page)
        assert self.recorded() == ({"/en/new/"} if VERSIONS else set())
        assert self.notified() == ({"/en/new/"} if VERSIONS else set())

    def test_changing(self) -> None:
        with self.captureOnCommitCallbacks(execute=True):
            if VERSIONS:
                version = PageContent.objects.get(page=self.news).versions.first()
                draft = version.copy(self.user)
                draft.content.title = "Another"
                draft.content.save()
                assert self.notified() == set()
                draft.publish(self.user)
            else:
                PageContent.objects.get(page=self.news).save()
        assert self.recorded() == {"/en/news/"}
        assert self.notified() == {"/en/news/"}

    def test_unpublishing(self) -> None:
        content = PageContent.objects.get(page=self.post, language="de")
        with self.captureOnCommitCallbacks(execute=True):
            if VERSIONS:
                content.versions.first().unpublish(self.user)
            else:
                content.delete()
        assert "/de/blog/post/" in self.notified()
        assert f"{ROOT}/de/blog/post/" not in self.entries("/sitemap-pages-1.xml")

    def test_moving_in_the_admin(self) -> None:
        self.client.force_login(self.user)
        move = reverse("admin:cms_page_move_page", args=[self.post.pk])
        with self.captureOnCommitCallbacks(execute=True):
            data = {"id": self.post.pk, "target": self.news.pk, "position": 0}
            response = self.client.post(move, data, headers={"host": HOST}, secure=True)
        assert response.status_code == 200, response.content
        paths = set(PageUrl.objects.filter(page=self.post).values_list("path"))
        assert ("news/post",) in paths
        assert self.recorded() == {"/en/news/post/", "/de/news/post/"}
        assert {"/en/blog/post/", "/en/news/post/"} <= (self.notified())

    def test_deleting(self) -> None:
        with self.captureOnCommitCallbacks(execute=True):
            self.blog.delete()
        gone = {f"/{code}/blog/" for code in ("en", "de", "fr")}
        gone |= {f"/{code}/blog/post/" for code in ("en", "de")}
        assert self.notified() == gone
