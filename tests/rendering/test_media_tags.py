"""A faulty image, video or article costs its tag; the URL stays."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
from django.db import OperationalError
from django.db.models import Case, CharField, F, IntegerField, Value, When
from django.db.models.functions import Concat, Repeat
from django.test import RequestFactory
from django.utils import timezone

from django_sitemaps_plus import NewsSitemap, Related, Route, Sitemap, Video, views
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.protocol.entries import Restriction
from django_sitemaps_plus.protocol.errors import EntryError
from tests.support.factories import ArticleFactory, articles
from tests.support.helpers import ArticleSitemap, body, locations, urlset
from tests.testapp.models import Article, Photo

from .test_media import FILM, NEWS, STORY, VIDEO

pytestmark = pytest.mark.django_db


LONG = {**VIDEO, "title": "a" * 140}
#: A video, an image or an article of the row that is faulty beside this one.
IMAGE = b"<image:image><image:loc>https://www.example.com/a.jpg</image:loc>"
PLAYER = b"<video:player_loc>https://www.example.com/player/</video:player_loc>"


class Rude:
    """What cannot be asked anything."""

    def __bool__(self) -> bool:
        raise RuntimeError("no")


#: What is declared for one row, why it is faulty, and what is listed all the same.
FAULTS: list[tuple[str, Any, str, bytes]] = [
    ("images", "data:image/png;base64,AAAA", "images: location 'data:image/png", b""),
    ("images", ["javascript:x", "/a.jpg"], "images: location 'javascript:x'", IMAGE),
    ("images", ["/\x00", "/a.jpg"], "images: location '/\\x00': a control ", IMAGE),
    ("images", [Rude(), "/a.jpg"], "images: RuntimeError: no", IMAGE),
    ("images", ["/a.jpg"] * 1_500, "images: 1500, over 1000", IMAGE),
    ("videos", LONG, "videos.title 'aaa", b""),
    ("videos", [LONG, VIDEO], "videos.title 'aaa", FILM),
    ("videos", {**VIDEO, "title": ""}, "videos.title '': empty", b""),
    ("videos", {**VIDEO, "titel": "x"}, "videos: TypeError: ", b""),
    ("videos", 7, "videos 7: not of Video", b""),
    ("videos", {**VIDEO, "duration": 0}, "videos.duration 0: not within 1 ", FILM),
    ("videos", {**VIDEO, "rating": "good"}, "videos.rating 'good': not a ", FILM),
    ("videos", {**VIDEO, "view_count": -1}, "videos.view_count -1: not ", FILM),
    ("videos", {**VIDEO, "live": "no"}, "videos.live 'no': neither ", FILM),
    ("videos", {**VIDEO, "uploader": 7}, "videos.uploader 7: not of Upl", FILM),
    ("videos", {**VIDEO, "tags": "a"}, "videos.tags 'a': not a tuple", FILM),
    ("videos", {**VIDEO, "tags": ("",)}, "videos.tags '': empty", FILM),
    ("videos", {**VIDEO, "publication_date": "2026"}, "videos.publication_date", FILM),
    ("videos", {**VIDEO, "player_loc": "x"}, "videos.player_loc: location", FILM),
    (
        "videos",
        {**VIDEO, "content_loc": "data:,", "player_loc": "/player/"},
        "videos.content_loc: location 'data:,'",
        PLAYER,
    ),
    ("videos", {**VIDEO, "content_loc": "data:,"}, "videos.content_loc: loc", b""),
    ("news", {**NEWS, "title": ""}, "news.title '': empty", b""),
    ("news", {**NEWS, "language": "english"}, "news.language 'english': ", b""),
    ("news", {**NEWS, "publication_date": None}, "news.publication_date: date", b""),
    ("news", [NEWS, NEWS], "news: 2, over 1", STORY),
    *(
        (name, LookupError("not here"), f"{name}: LookupError: not here", b"")
        for name in ("images", "videos", "news")
    ),
]
IDS = [f"{name}-{index}" for index, (name, *_) in enumerate(FAULTS)]


def declared(name: str, value: Any) -> type[Sitemap]:
    """Return a class whose method gives a value for the row "bad", or raises it."""

    def method(self: Any, item: Article) -> Any:
        if item.slug != "bad":
            return None
        if isinstance(value, Exception):
            raise value
        return value

    return type("Wrong", (ArticleSitemap,), {name: method})


@pytest.fixture(autouse=True)
def bad(db: None) -> Article:
    """An article between two others, for which what is faulty is declared."""
    slugs = ("one", "bad", "two")
    return [ArticleFactory(slug=slug, updated=None) for slug in slugs][1]


def tags_of(name: str, page: bytes) -> int:
    tag = {"images": b"<image:image>", "videos": b"<video:video>"}
    return page.count(tag.get(name, b"<news:news>"))


@pytest.mark.parametrize(("name", "value", "reason", "left"), FAULTS, ids=IDS)
@pytest.mark.costly
def test_the_faulty_tag_is_left_out_and_reported(
    page_of: Any,
    rf: RequestFactory,
    caplog: Any,
    bad: Article,
    name: str,
    value: Any,
    reason: str,
    left: bytes,
) -> None:
    """In contrib's view too."""
    response = page_of(declared(name, value))
    assert len(urlset(response)) == 3
    written = body(response)
    assert left in written
    assert bool(left) == bool(tags_of(name, written))
    page = Page.objects.get()
    ((label, problem),) = page.problems
    assert (page.entries, page.bad, label) == (3, 0, str(bad.pk))
    assert problem.startswith(f"listed without {reason}")
    caplog.clear()
    live = views.sitemap(rf.get("/"), {"odd": declared(name, value)})
    assert len(urlset(live)) == 3
    (record,) = caplog.records
    assert f": listed without {reason}" in record.getMessage()


def test_as_many_as_are_allowed_are_listed(page_of: Any) -> None:
    pictures = [f"/{n}.jpg" for n in range(1_500)]
    found = [entry.images for entry in urlset(page_of(declared("images", pictures)))]
    assert found[1] == tuple(f"https://www.example.com/{n}.jpg" for n in range(1_000))
    tags = tuple(f"t{number}" for number in range(40))
    page = page_of(declared("videos", {**VIDEO, "tags": tags}))
    assert body(page).count(b"<video:tag>") == 32
    ((_, reason),) = Page.objects.get().problems
    assert reason == "listed without videos.tags: 40, over 32"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("restriction", Restriction("only", ("GB",))),
        ("platform", "tv"),
        ("expiration_date", "soon"),
        ("family_friendly", "no"),
        ("requires_subscription", "yes"),
    ],
)
@pytest.mark.costly
def test_a_video_is_not_listed_without_what_limits_it(
    page_of: Any, field: str, value: Any
) -> None:
    """Without the tag it would be shown where, when or to whom it must not be."""
    response = page_of(declared("videos", {**VIDEO, field: value}))
    assert len(urlset(response)) == 3
    assert tags_of("videos", body(response)) == 0
    ((_, reason),) = Page.objects.get().problems
    assert reason.startswith(f"listed without videos.{field}")


# Expressions

LONG_TITLE = Case(
    When(slug="bad", then=Repeat(Value("a"), 140)),
    default=F("title"),
    output_field=CharField(),
)
DURATION = Case(
    When(slug="bad", then=Value(0)), default=Value(60), output_field=IntegerField()
)


@pytest.mark.parametrize(
    ("name", "value", "reason", "expected"),
    [
        ("videos", Video("/t.jpg", LONG_TITLE, "x", "/v.mp4"), "videos.title", 2),
        (
            "videos",
            Video("/t.jpg", "x", "x", "/v.mp4", duration=DURATION),
            "videos.duration 0",
            3,
        ),
        ("videos", {"title": F("title"), "content_loc": "/a"}, "videos: TypeE", 0),
        (
            "images",
            Concat(Case(When(slug="bad", then=Value("data:"))), "slug"),
            "images: location",
            0,
        ),
        ("images", Related("photos", F("film")), "images: location 'data:'", 1),
        (
            "videos",
            Related("photos", Video("/t.jpg", "x", "x", F("film"))),
            "videos.content_loc: location 'data:'",
            1,
        ),
        ("videos", Related("photos", {"title": F("title")}), "videos: TypeError", 0),
    ],
)
@pytest.mark.costly
def test_both_paths_leave_out_the_same_tags(
    both: Any, bad: Article, name: str, value: Any, reason: str, expected: int
) -> None:
    for film in ("data:", "/film.mp4"):
        Photo.objects.create(article=bad, film=film)
    page = body(both(**{name: value}))
    assert page.count(b"<url>") == 3
    assert page.count(b"</image:image>") + page.count(b"</video:video>") == expected
    for row in Page.objects.all():
        assert row.bad == 0
        assert row.problems[0][1].startswith(f"listed without {reason}")


def test_entries_that_a_class_gives_itself_keep_their_url(page_of: Any) -> None:
    given = [{"location": "/a/", "images": "data:,", "videos": LONG}]
    assert len(urlset(page_of(get_urls_for_item=lambda self, item: given))) == 3
    reasons = [reason.split()[2] for _, reason in Page.objects.get().problems]
    assert reasons == ["images:", "videos.title"]


# News


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        # No news for either path: an empty column is no title.
        ({}, "news.title None: not a text"),
        ({"priority": lambda self, item: 0.5}, "news.title None: not a text"),
        (
            {"news": lambda self, item: {**NEWS, "title": item.title or 1 / 0}},
            "news: ZeroDivisionError: division by zero",
        ),
    ],
    ids=["row", "object", "method"],
)
def test_a_news_sitemap_lists_no_url_without_its_article(
    page_of: Any, own: dict[str, Any], expected: str
) -> None:
    class Daily(NewsSitemap):
        model = Article
        location = Route("article", slug=F("slug"))
        publication_date = F("updated")
        publication_name = "The Example"

    now = timezone.now() - dt.timedelta(hours=1)
    articles(1, slug="good", title="Rain", updated=now)
    articles(1, slug="bad", title="", updated=now)
    found = locations(page_of(Daily, **own))
    assert found == ["https://www.example.com/articles/good/"]
    page = Page.objects.get()
    ((_, reason),) = page.problems
    assert (page.bad, reason) == (1, expected)


# What is not a fault of a value


def test_on_error_raise_raises_for_a_media_tag(page_of: Any, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "ON_ERROR": "raise"}
    for name, value in (
        ("images", "data:,"),
        ("images", ["/a.jpg"] * 1_001),
        ("videos", {**VIDEO, "duration": 0}),
        ("news", [NEWS, NEWS]),
    ):
        with pytest.raises(EntryError):
            page_of(declared(name, value))


def test_a_database_that_fails_is_no_faulty_tag(page_of: Any) -> None:
    class Image:
        @property
        def url(self) -> str:
            raise OperationalError("gone")

    for value in (OperationalError("gone"), Image()):
        assert page_of(declared("images", value)).status_code == 503


# News


# What is not a fault of a value
