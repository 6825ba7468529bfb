"""Lazy texts, as ``reverse_lazy()`` gives them, are texts wherever they are used."""

from __future__ import annotations

from dataclasses import replace
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import urlsplit

import pytest
from django.core.checks import run_checks
from django.db.models import F
from django.test import Client, RequestFactory
from django.urls import reverse_lazy
from django.utils import timezone
from django.utils.functional import lazystr
from django.utils.translation import gettext_lazy

from django_sitemaps_plus import (
    Image,
    News,
    NewsSitemap,
    Route,
    Sitemap,
    StaticSitemap,
    Video,
    views,
)
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.sitemaps.sections import source
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE
from tests.support.factories import NoteFactory, articles
from tests.support.helpers import Entry, body, locations, urlset
from tests.testapp.models import Article, Note

pytestmark = pytest.mark.django_db

HOST = "https://www.example.com"


#: Contrib's own example, but for four letters.
REVERSED: dict[str, Any] = {
    "items": lambda self: ["home", "about"],
    "location": lambda self, item: reverse_lazy(item),
}


def test_a_location_that_is_reversed_lazily_is_listed(page_of: Any) -> None:
    request = RequestFactory().get("/sitemap.xml", headers={"host": "testserver"})
    cls = type("Reversed", (Sitemap,), REVERSED)
    live = views.sitemap(request, {"pages": cls})
    assert [urlsplit(url).path for url in locations(live)] == ["/", "/about/"]
    assert locations(page_of(cls)) == [f"{HOST}/", f"{HOST}/about/"]


def test_it_is_reversed_in_the_language_of_its_entry(page_of: Any) -> None:
    def location(self: Any, item: Note) -> Any:
        return reverse_lazy("note", kwargs={"number": item.number})

    NoteFactory(number=7)
    own = {"model": Note, "i18n": True, "languages": ("en", "de")}
    found = locations(page_of(Sitemap, **own, location=location))
    assert found == [f"{HOST}/{code}/notes/7/" for code in ("en", "de")]


def test_one_that_cannot_be_reversed_costs_its_own_url_only(page_of: Any) -> None:
    def location(self: Any, item: Article) -> Any:
        return reverse_lazy(item.title)

    articles(29, title="home")
    articles(1, title="nowhere")
    assert len(locations(page_of(location=location))) == 29
    ((_, reason),) = Page.objects.get().problems
    assert reason.startswith("Reverse for 'nowhere' not found")


class Everything(Sitemap):
    """Lazy texts within what an entry has besides."""

    model = Article
    location = Route("thing", code=lazystr("lazily"))
    changefreq = lazystr("daily")
    priority = lazystr("0.5")
    images = (Image(reverse_lazy("about")), reverse_lazy("home"))  # type: ignore[arg-type]
    videos = (
        Video(  # type: ignore[arg-type]
            thumbnail_loc=reverse_lazy("about"),
            title=gettext_lazy("January"),
            description=F("slug"),
            content_loc="https://cdn.example.com/a.mp4",
            tags=(gettext_lazy("Monday"),),
        ),
    )
    item_title = gettext_lazy("March")


def described(self: Any, item: Article) -> list[Video]:
    return [replace(Everything.videos[0], description=item.slug)]


def given(self: Any, item: Article) -> Any:
    yield {
        "location": lazystr("/things/lazily/"),
        "changefreq": self.changefreq,
        "priority": self.priority,
        "images": [*Everything.images],
        "videos": described(self, item),
    }


#: The same of methods, and of entries that the class gives.
CALLED = {
    "location": lambda self, item: Everything.location(code="lazily"),
    "images": lambda self, item: [*Everything.images],
    "videos": described,
    "item_title": lambda self, item: Everything.item_title,
}


@pytest.mark.parametrize("own", [{}, CALLED, {"get_urls_for_item": given}])
def test_each_part_of_an_entry_may_be_lazy(page_of: Any, own: dict[str, Any]) -> None:
    (article,) = articles(1)
    response = page_of(Everything, **own)
    images = (f"{HOST}/about/", f"{HOST}/")
    assert urlset(response) == [
        Entry(f"{HOST}/things/lazily/", None, "daily", "0.5", images=images)
    ]
    text = body(response).decode()
    assert "<video:title>January</video:title>" in text
    assert "<video:tag>Monday</video:tag>" in text
    assert f"<video:thumbnail_loc>{HOST}/about/</video:thumbnail_loc>" in text
    assert f"<video:description>{article.slug}</video:description>" in text
    assert Page.objects.get().problems == []
    if "get_urls_for_item" not in own:
        reader = Reader(source("article"), PLACEHOLDER_SITE, with_titles=True)
        (batch,) = reader.by_key(None, None, 10)
        assert [str(column[0]) for column in batch.titles] == ["March"]


def test_paths_of_the_library_are_locations(page_of: Any) -> None:
    files = [PurePosixPath("/files/a.pdf")]
    own = {"items": lambda self: files, "location": lambda self, item: item}
    assert locations(page_of(Sitemap, **own)) == [f"{HOST}/files/a.pdf"]


def test_a_class_that_makes_its_own_dicts_may_leave_them_lazy(page_of: Any) -> None:
    link = {"lang_code": "de", "location": lazystr(f"{HOST}/de/")}
    infos = [
        {"location": lazystr(f"{HOST}/{name}/"), "alternates": [link]} for name in "ab"
    ]
    page = page_of(Sitemap, **REVERSED, get_urls=lambda self, *args, **kwargs: infos)
    alternates = {"de": f"{HOST}/de/"}
    assert urlset(page) == [
        Entry(f"{HOST}/{name}/", alternates=alternates) for name in "ab"
    ]


def test_names_of_static_pages_may_be_reversed_lazily(page_of: Any) -> None:
    names = [reverse_lazy("about"), ("article", {"slug": lazystr("first")})]
    found = locations(page_of(StaticSitemap, names=names))
    assert found == [f"{HOST}/about/", f"{HOST}/articles/first/"]
    names.append(reverse_lazy("nowhere"))
    (check,) = [check for check in run_checks() if "E015" in str(check.id)]
    assert check.msg.startswith("Section 'article' cannot list <__proxy__")
    assert check.msg.partition(">: ")[2].startswith("Reverse for 'nowhere' not found")


def test_checks_take_a_lazy_location_for_all_items(page_of: Any) -> None:
    for name, is_refused in (("about", False), ("nowhere", True)):
        page_of(Sitemap, model=Article, location=reverse_lazy(name))
        found = [check for check in run_checks() if str(check.id).endswith("E016")]
        assert bool(found) is is_refused


def test_robots_txt_names_lazily_reversed_paths(client: Client, settings: Any) -> None:
    group = {"disallow": [reverse_lazy("admin:index")], "allow": lazystr("/a/")}
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "ROBOTS": [group]}
    text = client.get("/robots.txt").content.decode()
    assert "Allow: /a/\n" in text
    assert "Disallow: /admin/\n" in text
    group = {"disallow": [reverse_lazy("nowhere")]}
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "ROBOTS": [group]}
    (check,) = [one for one in run_checks() if "nowhere" in one.msg]
    reason = "SITEMAPS_PLUS['ROBOTS'] cannot be written: Reverse for"
    assert check.msg.startswith(reason)


def test_the_publication_may_have_a_lazy_name(page_of: Any, settings: Any) -> None:
    name: Any = gettext_lazy("January")
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "PUBLICATION_NAME": name}
    Article.objects.create(slug="a", title="One", updated=timezone.now())
    own: dict[str, Any] = {
        "model": Article,
        "location": Route("article", slug=F("slug")),
        "publication_date": F("updated"),
    }
    lazy: Any = gettext_lazy("March")
    news = {"news": lambda self, item: News(name, "en", item.updated, lazy)}
    for more in ({}, news):
        page = body(page_of(NewsSitemap, **own, **more))
        assert b"<news:name>January</news:name>" in page


class Photo(Image):
    """What a project derives from ``Image``, with a constructor of its own."""

    def __init__(self, number: int) -> None:
        super().__init__(f"/photos/{number}.png")


def test_a_class_derived_from_image_is_asked_and_not_made_anew(page_of: Any) -> None:
    articles(1)
    (entry,) = urlset(page_of(images=lambda self, item: (Photo(7),)))
    assert entry.images == (f"{HOST}/photos/7.png",)
