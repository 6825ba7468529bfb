"""Rows and values that are wrong: each is left out, named, and harms nothing else."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from decimal import Decimal
from typing import Any, ClassVar

import pytest
from django.core.exceptions import SuspiciousFileOperation
from django.core.files.storage import InMemoryStorage
from django.db.models import F
from django.test import Client

from django_sitemaps_plus import Sitemap
from django_sitemaps_plus.models import Page
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, body, listed, locations, urlset
from tests.testapp.models import Article, Note

pytestmark = pytest.mark.django_db

PAGE = "/sitemap-article-1.xml"
GOOD = ["https://www.example.com/good/1/", "https://www.example.com/good/2/"]


def raises(error: Exception) -> Callable[[], Any]:
    """Return what raises an error when it is called."""

    def call() -> Any:
        raise error

    return call


def only_good(client: Client, register: Any, bad: Callable[[], Any]) -> str:
    """See that one bad location between two good ones is left out; return why."""

    class Located(Sitemap):
        model = Article

        def location(self, item: Article) -> Any:
            return bad() if item.title == "bad" else item.title

    register("article", Located)
    for title in ("/good/1/", "bad", "/good/2/"):
        articles(1, title=title)
    assert locations(client.get(PAGE)) == GOOD
    assert client.get("/sitemap.xml").content == client.get(PAGE).content
    page = Page.objects.get()
    assert (page.entries, page.items, page.bad, page.error) == (2, 3, 1, "")
    ((label, reason),) = page.problems
    assert Article.objects.get(pk=label).title == "bad"
    return str(reason)


def short(value: object) -> str:
    """Name a case by its first characters."""
    return ascii(value)[:40]


# Locations

LOCATIONS: list[tuple[Any, str]] = [
    (None, "location None: not a text"),
    (7, "location 7: not a text"),
    (b"/bytes/", "location b'/bytes/': not a text"),
    ("", "location '': empty"),
    ("relative/path", "location 'relative/path': neither a path nor an http(s) URL"),
    (
        "https://other.example/",
        "location 'https://other.example/': not a URL of https://www.example.com",
    ),
    (
        "http://www.example.com/",
        "location 'http://www.example.com/': not a URL of https://www.example.com",
    ),
    (
        "https://www.example.com:8443/",
        "location 'https://www.example.com:8443/': not a URL of "
        "https://www.example.com",
    ),
    (
        "https://www.example.com.evil.example/",
        "location 'https://www.example.com.evil.example/': not a URL of "
        "https://www.example.com",
    ),
    (
        "https://user:secret@www.example.com/",
        "location 'https://user:secret@www.example.com/': has credentials",
    ),
    ("//evil.example/", "location '//evil.example/': begins with two slashes"),
    (
        "javascript:alert(1)",
        "location 'javascript:alert(1)': neither a path nor an http(s) URL",
    ),
    (
        "data:text/html,x",
        "location 'data:text/html,x': neither a path nor an http(s) URL",
    ),
    ("/a#top", "location '/a#top': has a fragment"),
    ("/\x00", "location '/\\x00': a control character or lone surrogate"),
    ("/\x1a/", "location '/\\x1a/': a control character or lone surrogate"),
    ("/a\nb", "location '/a\\nb': a control character or lone surrogate"),
    ("/\ud800", "location '/\\ud800': a control character or lone surrogate"),
    (
        "/" + "a" * 9_999,
        f"location '/{'a' * 36}...{'a' * 38}': 10023 characters, over 2048",
    ),
]


@pytest.mark.parametrize(("location", "expected"), LOCATIONS, ids=short)
def test_a_location_that_is_none(
    client: Client, register: Any, location: Any, expected: str
) -> None:
    assert only_good(client, register, lambda: location) == expected


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (ValueError("no slug"), "ValueError: no slug"),
        (ZeroDivisionError(), "ZeroDivisionError: "),
        (Article.DoesNotExist("gone\nfor good"), "DoesNotExist: gone for good"),
        (RecursionError("too deep"), "RecursionError: too deep"),
        (RuntimeError("x" * 5_000), f"RuntimeError: {'x' * 286}"),
    ],
)
def test_a_location_that_raises(
    client: Client, register: Any, error: Exception, expected: str
) -> None:
    assert only_good(client, register, raises(error)) == expected


def test_a_model_without_get_absolute_url(client: Client, register: Any) -> None:
    register("note", type("Notes", (Sitemap,), {"model": Note}))
    for number in range(11):
        Note.objects.create(number=number)
    response = client.get("/sitemap-note-1.xml")
    assert response.status_code == 503
    assert (
        "'Note' object has no attribute 'get_absolute_url'" in Page.objects.get().error
    )


STORED = [
    (location, expected)
    for location, expected in LOCATIONS
    if isinstance(location, str)
    and len(location) <= 200
    and not {"\x00", "\ud800"} & set(location)
]


@pytest.mark.parametrize(("location", "expected"), STORED, ids=short)
def test_the_row_path_refuses_the_same(
    client: Client, register: Any, location: str, expected: str
) -> None:
    register(
        "article",
        type("Titled", (Sitemap,), {"model": Article, "location": F("title")}),
    )
    for title in ("/good/1/", location, "/good/2/"):
        articles(1, title=title)
    assert locations(client.get(PAGE)) == GOOD
    ((_, reason),) = Page.objects.get().problems
    assert reason == expected


@pytest.mark.parametrize("slug", ["", "two words", "ümlaut", "a/b", "../up"])
def test_a_value_that_the_pattern_does_not_take(
    client: Client, register: Any, slug: str
) -> None:
    register("article", ArticleSitemap)
    for value in ("one", slug, "two"):
        articles(1, slug=value)
    assert len(urlset(client.get(PAGE))) == 2
    ((_, reason),) = Page.objects.get().problems
    assert reason == f"No URL pattern named 'article' matches slug={slug!r}."


def test_what_python_cannot_print_is_named_all_the_same(
    client: Client, register: Any
) -> None:
    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise ValueError("not even this")

    assert only_good(client, register, raises(Unspeakable())).startswith("Unspeakable")


# Other attributes

ATTRIBUTES: list[tuple[str, Any, str]] = [
    ("lastmod", "yesterday", "date 'yesterday': not a W3C Datetime (YYYY-MM-DD ...)"),
    ("lastmod", "2026-02-30", "date '2026-02-30': "),
    ("lastmod", "2026-01-02T03:04:05", "date '2026-01-02T03:04:05': has a time but no"),
    ("lastmod", "2026", "lastmod '2026': the schemas want YYYY-MM-DD at least"),
    ("lastmod", 1_767_225_600, "date 1767225600: neither a date nor a text"),
    ("changefreq", "sometimes", "changefreq 'sometimes': not one of always, daily"),
    ("changefreq", "Daily", "changefreq 'Daily': not one of always, daily"),
    ("changefreq", 7, "changefreq 7: not one of always, daily"),
    ("priority", 7, "priority 7: not within 0 and 1"),
    ("priority", -0.1, "priority -0.1: not within 0 and 1"),
    ("priority", float("nan"), "priority nan: not within 0 and 1"),
    ("priority", float("inf"), "priority inf: not within 0 and 1"),
    ("priority", Decimal("NaN"), "priority Decimal('NaN'): not within 0 and 1"),
    ("priority", "0,5", "priority '0,5': not a number"),
    ("priority", True, "priority True: not a number"),
    ("priority", "high", "priority 'high': not a number"),
    ("images", "javascript:x", "images: location 'javascript:x': neither a path nor"),
    ("images", "/\x00", "images: location '/\\x00': a control character or lone"),
]


@pytest.mark.parametrize(("name", "value", "expected"), ATTRIBUTES)
def test_an_attribute_that_is_wrong_for_one_row(
    client: Client, register: Any, name: str, value: Any, expected: str
) -> None:
    def method(self: Any, item: Article) -> Any:
        return value if item.slug == "bad" else None

    register("article", type("Wrong", (ArticleSitemap,), {name: method}))
    for slug in ("one", "bad", "two"):
        articles(1, slug=slug)
    assert len(urlset(client.get(PAGE))) == 2
    ((_, reason),) = Page.objects.get().problems
    assert reason.startswith(expected)


@pytest.mark.parametrize(
    "name", ["lastmod", "changefreq", "priority", "images", "videos", "news"]
)
def test_an_attribute_that_raises_for_one_row(
    client: Client, register: Any, name: str
) -> None:
    def method(self: Any, item: Article) -> Any:
        if item.slug == "bad":
            raise LookupError("not here")

    register("article", type("Wrong", (ArticleSitemap,), {name: method}))
    for slug in ("one", "bad", "two"):
        articles(1, slug=slug)
    assert len(urlset(client.get(PAGE))) == 2
    ((_, reason),) = Page.objects.get().problems
    assert reason == "LookupError: not here"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (dt.datetime.fromisoformat("0001-01-01T00:00:00"), "0001-01-01T00:00:00+00:53"),
        (dt.datetime(1, 1, 1, tzinfo=dt.UTC), "0001-01-01T00:00:00+00:00"),
        (dt.date(1, 1, 1), "0001-01-01"),
        (
            dt.datetime(9999, 12, 31, 23, 59, 59, tzinfo=dt.UTC),
            "9999-12-31T23:59:59+00:00",
        ),
        ("", None),
        (None, None),
    ],
)
@pytest.mark.parametrize("limit", [1, 50_000])
def test_the_ends_of_the_calendar(
    client: Client, register: Any, value: Any, expected: str | None, limit: int
) -> None:
    class Ancient(ArticleSitemap):
        def lastmod(self, item: Article) -> Any:
            return value

    Ancient.limit = limit
    register("article", Ancient)
    articles(2)
    for number in range(1, 3 if limit == 1 else 2):
        for entry in urlset(client.get(f"/sitemap-article-{number}.xml")):
            assert entry.lastmod == expected
    assert client.get("/sitemap.xml").status_code == 200


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (Decimal("0.30"), "0.30"),
        (Decimal("1E-1"), "0.1"),
        (1, "1"),
        (0, "0"),
        (-0.0, "0.0"),
        (1e-7, "0.0000001"),
        ("0.5", "0.5"),
        ("", None),
    ],
)
def test_a_priority_is_written_as_it_was_given(
    client: Client, register: Any, value: Any, expected: str | None
) -> None:
    class Weighed(ArticleSitemap):
        def priority(self, item: Article) -> Any:
            return value

    register("article", Weighed)
    articles(1)
    (entry,) = urlset(client.get(PAGE))
    assert entry.priority == expected


def test_a_file_whose_storage_has_no_address_for_it(
    client: Client, register: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the row path too, where no method of the class is called."""

    class Picky(InMemoryStorage):
        def url(self, name: str) -> str:
            if name == "bad.jpg":
                raise SuspiciousFileOperation("not this one")
            return f"/media/{name}"

    monkeypatch.setattr(Article._meta.get_field("photo"), "storage", Picky())
    register("article", type("Pictured", (ArticleSitemap,), {"images": F("photo")}))
    for photo in ("a.jpg", "bad.jpg", ""):
        articles(1, photo=photo)
    first, second = urlset(client.get(PAGE))
    assert (first.images, second.images) == (
        ("https://www.example.com/media/a.jpg",),
        (),
    )
    ((_, reason),) = Page.objects.get().problems
    assert reason == "SuspiciousFileOperation: not this one"


# Tables that change under one's hands


def test_a_table_that_is_emptied_while_a_page_is_made(
    client: Client, register: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django_sitemaps_plus.rendering.reader.CHUNK", 5)

    class Emptied(ArticleSitemap):
        def lastmod(self, item: Article) -> None:
            Article.objects.all().delete()

    register("article", Emptied)
    articles(20)
    assert len(urlset(client.get(PAGE))) == 5, "what had been read by then"
    Page.objects.update(verified_at=0)
    assert urlset(client.get(PAGE)) == []


# Whatever it is, the file is well-formed


def test_all_bad_rows_at_once_among_good_ones(client: Client, register: Any) -> None:
    class Numbered(Sitemap):
        model = Article

        def location(self, item: Article) -> Any:
            number = int(item.slug)
            return LOCATIONS[number][0] if number < len(LOCATIONS) else f"/{number}/"

    register("article", Numbered)
    Article.objects.bulk_create(
        Article(slug=str(number)) for number in range(len(LOCATIONS) + 2_000)
    )
    response = client.get(PAGE)
    assert len(urlset(response)) == 2_000
    assert body(response).isascii()
    assert Page.objects.get().bad == len(LOCATIONS)


# By position, where there are no former bytes


class Lines(Sitemap):
    """Locations as they are given, in a list."""

    lines: ClassVar[list[str]] = []

    def items(self) -> list[str]:
        return self.lines

    def location(self, item: str) -> str:
        return item


@pytest.mark.parametrize(
    ("good", "bad"), [(0, 1), (0, 3), (1, 11), (500, 11), (4_000, 41)]
)
@pytest.mark.parametrize(
    "address", ["/sitemap.xml", "/sitemap-lines.xml", "/sitemap-lines-1.xml"]
)
def test_too_many_bad_rows_by_position_are_no_page(
    client: Client,
    register: Any,
    caplog: pytest.LogCaptureFixture,
    address: str,
    good: int,
    bad: int,
) -> None:
    lines = [*(["bad"] * bad), *(f"/{number}/" for number in range(good))]
    register("lines", type("Wrong", (Lines,), {"lines": lines}))
    response = client.get(address)
    assert response.status_code == 503
    assert response.headers["Retry-After"] == "60"
    problem = (
        f"{bad} of the {good + bad} rows of page lines-1 are bad; the first is 'bad': "
        "location 'bad': neither a path nor an http(s) URL."
    )
    # The reason is in the log: it may hold what is nobody's business.
    assert response.content.decode() == (
        "The sitemap cannot be built at the moment. Please try again later.\n"
    )
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("ERROR", problem),
        ("ERROR", f"Service Unavailable: {address}"),
    ]


@pytest.mark.parametrize(("good", "bad"), [(0, 0), (1, 10), (4_000, 40)])
def test_a_few_bad_rows_by_position_are_left_out(
    client: Client, register: Any, good: int, bad: int
) -> None:
    lines = [*(["bad"] * bad), *(f"/{number}/" for number in range(good))]
    register("lines", type("Nearly", (Lines,), {"lines": lines}))
    for address in ("/sitemap.xml", "/sitemap-lines.xml", "/sitemap-lines-1.xml"):
        assert len(urlset(client.get(address))) == good


def test_a_broken_page_by_position_does_not_take_the_others_down(
    client: Client, register: Any
) -> None:
    register("lines", type("Wrong", (Lines,), {"lines": ["bad"]}))
    register("article", ArticleSitemap)
    articles(2)
    start = "https://www.example.com/sitemap"
    addresses = [f"{start}-lines-1.xml", f"{start}-article-1.xml"]
    assert listed(client.get("/sitemap.xml")) == addresses
    statuses = [client.get(address).status_code for address in addresses]
    assert statuses == [503, 200]
