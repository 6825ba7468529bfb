"""Lazy texts, as ``reverse_lazy()`` gives them, are texts wherever they are used."""

from __future__ import annotations

import datetime as dt
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
from django_sitemaps_plus.sitemaps.site import Site
from tests.support.factories import NoteFactory, articles
from tests.support.helpers import body, locations, urlset
from tests.testapp.models import Article, Note

pytestmark = pytest.mark.django_db

HOST = "https://www.example.com"


class Reversed(Sitemap):
    """Contrib's own example, but for four letters."""

    def items(self) -> Any:
        return ["home", "about"]

    def location(self, item: str) -> Any:
        return reverse_lazy(item)


def test_a_location_that_is_reversed_lazily_is_listed(
    client: Client, register: Any
) -> None:
    register("pages", Reversed)
    request = RequestFactory().get("/sitemap.xml", headers={"host": "testserver"})
    live = views.sitemap(request, {"pages": Reversed})
    assert [urlsplit(url).path for url in locations(live)] == ["/", "/about/"]
    assert locations(client.get("/sitemap-pages-1.xml")) == [
        f"{HOST}/",
        f"{HOST}/about/",
    ]


def test_it_is_reversed_in_the_language_of_its_entry(
    client: Client, register: Any
) -> None:
    class Notes(Sitemap):
        model = Note
        i18n = True
        languages = ("en", "de")

        def location(self, item: Note) -> Any:
            return reverse_lazy("note", kwargs={"number": item.number})

    NoteFactory(number=7)
    register("note", Notes)
    assert locations(client.get("/sitemap-note-1.xml")) == [
        f"{HOST}/en/notes/7/",
        f"{HOST}/de/notes/7/",
    ]


def test_one_that_cannot_be_reversed_costs_its_own_url_only(
    client: Client, register: Any
) -> None:
    articles(30)

    class Rows(Sitemap):
        model = Article

        def location(self, item: Article) -> Any:
            is_last = item.pk == Article.objects.order_by("pk").last().pk  # type: ignore[union-attr]
            return reverse_lazy("nowhere" if is_last else "home")

    register("article", Rows)
    assert len(locations(client.get("/sitemap-article-1.xml"))) == 29
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


class Called(Everything):
    """The same of methods."""

    def location(self, item: Article) -> Any:  # type: ignore[override]
        return Everything.location(code="lazily")

    def images(self, item: Article) -> Any:  # type: ignore[override]
        return list(Everything.images)

    def videos(self, item: Article) -> Any:  # type: ignore[override]
        (video,) = Everything.videos
        values = {name: getattr(video, name) for name in Video.__slots__}
        return [Video(**{**values, "description": item.slug})]

    def item_title(self, item: Article) -> Any:  # type: ignore[override]
        return Everything.item_title


class Given(Everything):
    """The same of entries that the class gives."""

    def get_urls_for_item(self, item: Article) -> Any:
        called = Called()
        yield {
            "location": lazystr("/things/lazily/"),
            "changefreq": self.changefreq,
            "priority": self.priority,
            "images": called.images(item),
            "videos": called.videos(item),
        }


@pytest.mark.parametrize("cls", [Everything, Called, Given])
def test_each_part_of_an_entry_may_be_lazy(
    client: Client, register: Any, cls: type[Sitemap]
) -> None:
    (article,) = articles(1)
    register("article", cls)
    response = client.get("/sitemap-article-1.xml")
    (entry,) = urlset(response)
    assert entry.loc == f"{HOST}/things/lazily/"
    assert (entry.changefreq, entry.priority) == ("daily", "0.5")
    assert entry.images == (f"{HOST}/about/", f"{HOST}/")
    text = body(response).decode()
    assert "<video:title>January</video:title>" in text
    assert "<video:tag>Monday</video:tag>" in text
    assert f"<video:thumbnail_loc>{HOST}/about/</video:thumbnail_loc>" in text
    assert f"<video:description>{article.slug}</video:description>" in text
    assert Page.objects.get().problems == []
    address = Site.current().address()
    assert address is not None
    reader = Reader(source("article"), address, with_titles=True)
    if cls is not Given:
        (batch,) = reader.by_key(None, None, 10)
        assert [str(column[0]) for column in batch.titles] == ["March"]


def test_paths_of_the_library_are_locations(client: Client, register: Any) -> None:
    class Files(Sitemap):
        def items(self) -> Any:
            return [PurePosixPath("/files/a.pdf")]

        def location(self, item: PurePosixPath) -> Any:
            return item

    register("files", Files)
    assert locations(client.get("/sitemap-files-1.xml")) == [f"{HOST}/files/a.pdf"]


def test_a_class_that_makes_its_own_dicts_may_leave_them_lazy(
    client: Client, register: Any
) -> None:
    class Own(Reversed):
        def get_urls(self, *args: Any, **kwargs: Any) -> Any:
            link = {"lang_code": "de", "location": lazystr(f"{HOST}/de/")}
            for path in ("/a/", "/b/"):
                yield {"location": lazystr(f"{HOST}{path}"), "alternates": [link]}

    register("own", Own)
    entries = urlset(client.get("/sitemap-own-1.xml"))
    assert [entry.loc for entry in entries] == [f"{HOST}/a/", f"{HOST}/b/"]
    assert {*(entry.alternates["de"] for entry in entries)} == {f"{HOST}/de/"}


def test_names_of_static_pages_may_be_reversed_lazily(
    client: Client, register: Any
) -> None:
    class Pages(StaticSitemap):
        names = (
            reverse_lazy("about"),  # type: ignore[assignment]
            ("article", {"slug": lazystr("first")}),
            reverse_lazy("nowhere"),
        )

    register("pages", Pages)
    (check,) = [check for check in run_checks() if "E015" in str(check.id)]
    assert check.msg.startswith("Section 'pages' cannot list <__proxy__")
    assert check.msg.partition(">: ")[2].startswith("Reverse for 'nowhere' not found")
    register("pages", type("Good", (Pages,), {"names": Pages.names[:2]}))
    assert locations(client.get("/sitemap-pages-1.xml")) == [
        f"{HOST}/about/",
        f"{HOST}/articles/first/",
    ]


@pytest.mark.parametrize(("name", "is_refused"), [("about", False), ("nowhere", True)])
def test_checks_take_a_lazy_location_for_all_items(
    register: Any, name: str, is_refused: bool
) -> None:
    register(
        "article",
        type("One", (Sitemap,), {"model": Article, "location": reverse_lazy(name)}),
    )
    found = [check for check in run_checks() if str(check.id).endswith("E016")]
    assert bool(found) is is_refused


def test_robots_txt_names_lazily_reversed_paths(client: Client, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {
        **settings.SITEMAPS_PLUS,
        "ROBOTS": [
            {"disallow": [reverse_lazy("admin:index")], "allow": lazystr("/a/")}
        ],
    }
    text = client.get("/robots.txt").content.decode()
    assert "Allow: /a/\n" in text
    assert "Disallow: /admin/\n" in text
    settings.SITEMAPS_PLUS = {
        **settings.SITEMAPS_PLUS,
        "ROBOTS": [{"disallow": [reverse_lazy("nowhere")]}],
    }
    (check,) = [one for one in run_checks() if "nowhere" in one.msg]
    assert check.msg.startswith(
        "SITEMAPS_PLUS['ROBOTS'] cannot be written: Reverse for"
    )


def test_the_publication_may_have_a_lazy_name(
    client: Client, register: Any, settings: Any
) -> None:
    class Daily(NewsSitemap):
        location = Route("article", slug=F("slug"))
        publication_date = F("updated")

        def items(self) -> Any:
            return Article.objects.all()

    class Objects(Daily):
        @property
        def news(self) -> Any:
            return lambda item: News(
                name=gettext_lazy("January"),  # type: ignore[arg-type]
                language="en",
                publication_date=item.updated,
                title=gettext_lazy("March"),  # type: ignore[arg-type]
            )

    settings.SITEMAPS_PLUS = {
        **settings.SITEMAPS_PLUS,
        "PUBLICATION_NAME": gettext_lazy("January"),
    }
    now = timezone.now() - dt.timedelta(hours=1)
    Article.objects.create(slug="a", title="One", updated=now)
    register("news", Daily)
    register("objects", Objects)
    for name in ("news", "objects"):
        text = body(client.get(f"/sitemap-{name}-1.xml")).decode()
        assert "<news:name>January</news:name>" in text


class Photo(Image):
    """What a project derives from ``Image``, with a constructor of its own."""

    def __init__(self, number: int) -> None:
        super().__init__(f"/photos/{number}.png")


class Pictured(Sitemap):
    location = Route("article", slug=F("slug"))

    def items(self) -> Any:
        return Article.objects.all()

    def images(self, item: Article) -> Any:
        return (Photo(7),)


def test_a_class_derived_from_image_is_asked_and_not_made_anew(register: Any) -> None:
    articles(1)
    register("article", Pictured)
    [entry] = urlset(Client().get("/sitemap-article-1.xml"))
    assert entry.images == (f"{HOST}/photos/7.png",)
