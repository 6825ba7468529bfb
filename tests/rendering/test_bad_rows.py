"""Rows and values that are wrong: each is left out, named, and harms nothing else."""

from __future__ import annotations

import datetime as dt
import re
import tracemalloc
from typing import Any, ClassVar

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.core.exceptions import SuspiciousFileOperation
from django.core.files.storage import InMemoryStorage
from django.db.models import Case, F, TextField, Value, When
from django.db.models.functions import Concat, Repeat
from django.test import Client

from django_sitemaps_plus import Route, Sitemap
from django_sitemaps_plus.building.by_position import newest_lastmod
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.protocol.locations import Origin
from django_sitemaps_plus.rendering.columns import (
    LastmodColumn,
    RowBatch,
    Tally,
    TextLocations,
)
from django_sitemaps_plus.rendering.serializer import Serializer
from django_sitemaps_plus.sitemaps.sections import source_of
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, body, locations, run_command, urlset
from tests.support.two_paths import both
from tests.testapp.models import Article

EAST = dt.timezone(dt.timedelta(hours=14))

pytestmark = pytest.mark.django_db

PAGE = "/sitemap-article-1.xml"
GOOD = ["https://www.example.com/good/1/", "https://www.example.com/good/2/"]


def given(value: Any) -> Any:
    """Return a value, or raise it."""
    if isinstance(value, Exception):
        raise value
    return value


def short(value: object) -> str:
    """Name a case by its first characters."""
    return ascii(value)[:40]


# Locations

LOCATIONS: list[tuple[Any, str]] = [
    (None, "location None: not a text"),
    (7, "location 7: not a text"),
    (b"/bytes/", "location b'/bytes/': not a text"),
    ("relative/path", "location 'relative/path': neither a path nor an http(s) URL"),
    (
        "https://www.example.com.evil.example/",
        "location 'https://www.example.com.evil.example/': not a URL of "
        "https://www.example.com",
    ),
    (
        "//evil.example/",
        "location 'https://evil.example/': not a URL of https://www.example.com",
    ),
    ("/\x1a/", "location '/\\x1a/': a control character or lone surrogate"),
    ("/a\nb", "location '/a\\nb': a control character or lone surrogate"),
    (
        "/t/../",
        "location '/t/../': has a segment '.' or '..': crawlers would request another "
        "URL",
    ),
    (
        "/?sessionid=1",
        "location '/?sessionid=1': has a session id: the URL would be another one for "
        "each visitor",
    ),
    ("/\ud800", "location '/\\ud800': a control character or lone surrogate"),
    (
        "/" + "a" * 9_999,
        f"location '/{'a' * 36}...{'a' * 38}': 10023 characters, over 2048",
    ),
]


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise ValueError("not even this")


ERRORS: list[tuple[Exception, str]] = [
    (ZeroDivisionError(), "ZeroDivisionError: "),
    (Article.DoesNotExist("gone\nfor good"), "DoesNotExist: gone for good"),
    (RecursionError("too deep"), "RecursionError: too deep"),
    (RuntimeError("x" * 5_000), f"RuntimeError: {'x' * 286}"),
    (Unspeakable(), "Unspeakable: "),
]


@pytest.mark.parametrize(("location", "expected"), [*LOCATIONS, *ERRORS], ids=short)
@pytest.mark.costly
def test_a_location_that_is_none_or_raises(
    client: Client, register: Any, location: Any, expected: str
) -> None:
    class Located(Sitemap):
        model = Article

        def location(self, item: Article) -> Any:
            return item.title if item.title != "bad" else given(location)

    register("article", Located)
    for title in ("/good/1/", "bad", "/good/2/"):
        articles(1, title=title)
    assert locations(client.get(PAGE)) == GOOD
    assert client.get("/sitemap.xml").content == client.get(PAGE).content
    page = Page.objects.get()
    assert (page.entries, page.items, page.bad, page.error) == (2, 3, 1, "")
    ((label, reason),) = page.problems
    assert Article.objects.get(pk=label).title == "bad"
    assert reason == expected


@pytest.mark.parametrize("slug", ["", "ümlaut", "a/b"])
def test_a_value_that_the_pattern_does_not_take(
    client: Client, register: Any, slug: str
) -> None:
    register("article", ArticleSitemap)
    for value in ("one", slug, "two"):
        articles(1, slug=value)
    assert len(urlset(client.get(PAGE))) == 2
    ((_, reason),) = Page.objects.get().problems
    assert reason == f"No URL pattern named 'article' matches slug={slug!r}."


@pytest.mark.parametrize("location", ["/about/", "https://www.example.com/shop?x"])
@pytest.mark.parametrize("base", [ArticleSitemap, Sitemap])
@pytest.mark.costly
def test_a_location_outside_the_folder_of_the_sitemap(
    client: Client, register: Any, settings: Any, location: str, base: type
) -> None:
    """On the row path, and on the object path."""
    settings.SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com/shop"}
    attributes: dict[str, Any] = {"model": Article, "location": F("title")}
    if base is Sitemap:
        attributes["lastmod"] = lambda self, item: None
    register("article", type("Located", (base,), attributes))
    for title in ("/shop/1/", location, "/shop/2/"):
        articles(1, title=title)
    assert locations(client.get(PAGE)) == [
        "https://www.example.com/shop/1/",
        "https://www.example.com/shop/2/",
    ]
    ((_, reason),) = Page.objects.get().problems
    assert reason.endswith(": not in /shop/, the folder of the sitemap")


@pytest.mark.parametrize("kind", ["row path", "object path", "by position", "contrib"])
@pytest.mark.costly
def test_a_section_outside_the_folder_is_an_error_of_the_settings(
    client: Client, register: Any, settings: Any, kind: str
) -> None:
    """Not so many rows to be corrected."""
    settings.SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com/shop"}
    attributes: dict[str, Any] = {"model": Article, "location": F("title")}
    if kind == "object path":
        attributes["location"] = lambda self, item: item.title
    elif kind == "by position":
        attributes["items"] = lambda self: [f"/news/{n}/" for n in range(20)]
        attributes["location"] = lambda self, item: item
    elif kind == "contrib":
        attributes = {
            "items": lambda self: Article.objects.order_by("pk"),
            "location": lambda self, item: item.title,
        }
    base = ContribSitemap if kind == "contrib" else Sitemap
    register("article", type("Located", (base,), attributes))
    Article.objects.bulk_create(Article(title=f"/news/{n}/") for n in range(20))
    response = client.get(PAGE)
    assert response.status_code == 503
    said = (
        "Page article-1 lists nothing: none of its 20 URLs is below the path of "
        "SITEMAPS_PLUS['BASE_URL'], for example location '/news/0/': not in /shop/, "
        "the folder of the sitemap. Remove the path from BASE_URL, or let location() "
        "return URLs below it."
    )
    for page in Page.objects.all():
        assert page.error.startswith(said)
        assert (page.bad, page.problems) == (0, [])
    out, err, code = run_command("build_sitemaps")
    assert code == 1
    assert said in err
    assert "left out" not in out + err


def test_urls_on_both_sides_of_the_folder_are_bad_rows(
    client: Client, register: Any, settings: Any
) -> None:
    settings.SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com/shop"}
    attributes = {"model": Article, "location": F("title")}
    register("article", type("Located", (Sitemap,), attributes))
    Article.objects.bulk_create(Article(title=f"/news/{n}/") for n in range(20))
    articles(1, title="/shop/1/")
    assert client.get(PAGE).status_code == 503
    page = Page.objects.get()
    assert page.error.startswith("20 of 21 rows of page article-1 cannot be listed")
    assert (page.bad, len(page.problems)) == (20, 20)


def test_a_route_of_the_folder(client: Client, register: Any, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com/shop"}
    register("article", ArticleSitemap)
    articles(2)
    assert len(locations(client.get(PAGE))) == 2


class Rude:
    """What cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize("value", [10**5_000, Rude()], ids=["huge", "rude"])
@pytest.mark.parametrize("name", ["location", "lastmod", "changefreq", "priority"])
@pytest.mark.costly
def test_what_cannot_be_shown_takes_no_page_down(
    client: Client, register: Any, name: str, value: Any
) -> None:
    """One row's value is a bad row at most, whatever is asked of it."""

    def method(self: Any, item: Article) -> Any:
        own = "/good/" if name == "location" else None
        return value if item.slug == "bad" else own

    register("article", type("Wrong", (ArticleSitemap,), {name: method}))
    for slug in ("one", "bad", "two"):
        articles(1, slug=slug)
    assert len(urlset(client.get(PAGE))) >= 2
    register("article", type("Constant", (ArticleSitemap,), {name: value}))
    assert client.get(PAGE).status_code in (200, 503)


def test_an_item_that_cannot_be_shown(client: Client, register: Any) -> None:
    class Rudes(Sitemap):
        def items(self) -> list[Rude]:
            return [Rude(), Rude()]

        def location(self, item: Rude) -> str:
            return "/rude/"

    register("rude", Rudes)
    assert len(urlset(client.get("/sitemap-rude-1.xml"))) == 2


#: Of all rows but one; no column of the tests is as long.
MEGABYTES = Case(
    When(title="ok", then=Value("ok")),
    default=Repeat(Value("ü"), 1_000_000),
    output_field=TextField(),
)


@pytest.mark.parametrize(
    "location",
    [
        Route("word", slug=MEGABYTES),
        Concat(Value("/"), MEGABYTES, output_field=TextField()),
    ],
    ids=["route", "expression"],
)
def test_megabytes_are_refused_by_their_length(
    client: Client, register: Any, location: Any
) -> None:
    """Before they are encoded, which takes twenty times as much memory."""
    register("article", type("Long", (ArticleSitemap,), {"location": location}))
    articles(10)
    articles(1, title="ok")
    tracemalloc.start()
    try:
        assert len(urlset(client.get(PAGE))) == 1
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 60_000_000
    ((_, reason), *_) = Page.objects.get().problems
    assert re.fullmatch(
        r"location '/?ü+\.\.\.ü+': 10000\d+ characters, over 2048", reason
    )


# Lastmod


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (dt.datetime(1, 1, 1, tzinfo=dt.UTC), ["0001-01-01T00:00:00+00:00"]),
        (dt.date(1, 1, 1), ["0001-01-01"]),
        (dt.datetime.max.replace(tzinfo=dt.UTC), [None]),
        ("", [None]),
    ],
)
@pytest.mark.costly
def test_the_ends_of_the_calendar(
    client: Client, register: Any, value: Any, expected: list[str | None]
) -> None:
    class Ancient(ArticleSitemap):
        limit = 1

        def lastmod(self, item: Article) -> Any:
            return value

    register("article", Ancient)
    articles(2)
    for number in (1, 2):
        entries = urlset(client.get(f"/sitemap-article-{number}.xml"))
        assert [entry.lastmod for entry in entries] == expected
    assert client.get("/sitemap.xml").status_code == 200


def test_a_lastmod_before_the_calendar_is_left_out(
    client: Client, register: Any
) -> None:
    """The offset of 53 minutes and 28 seconds is rounded to the minute."""
    value = dt.datetime.fromisoformat("0001-01-01T00:00:00")
    method = {"lastmod": lambda self, item: value if item.slug == "bad" else None}
    register("article", type("Ancient", (ArticleSitemap,), method))
    for slug in ("one", "bad"):
        articles(1, slug=slug)
    assert [entry.lastmod for entry in urlset(client.get(PAGE))] == [None, None]


@pytest.mark.parametrize(
    ("lastmod", "form"),
    [
        (F("updated"), "%Y-%m-%dT%H:%M:%S+00:00"),
        (F("day"), "%Y-%m-%d"),
        (lambda self, item: item.updated, "%Y-%m-%dT%H:%M:%S+00:00"),
        (lambda self, item: item.updated.isoformat(), "%Y-%m-%dT%H:%M:%S+00:00"),
        # Its own clock shows half a day more.
        (lambda self, item: item.updated.astimezone(EAST).isoformat(), None),
    ],
    ids=["stamp", "day", "method", "text", "zone"],
)
@pytest.mark.costly
def test_a_lastmod_in_the_future_is_omitted(
    client: Client, register: Any, lastmod: Any, form: str | None
) -> None:
    """More than a day: until then it may be a clock, or a zone."""
    register("article", type("Dated", (ArticleSitemap,), {"lastmod": lastmod}))
    now = dt.datetime.now(dt.UTC).replace(microsecond=0)
    # Of a day its midnight counts.
    beyond = 2.1 if form == "%Y-%m-%d" else 1.1
    moments = [now + dt.timedelta(days=days) for days in (-1, 0.9, beyond)]
    for updated in moments:
        articles(1, updated=updated, day=updated.date())
    *known, late = urlset(client.get(PAGE))
    for entry, moment in zip(known, moments, strict=False):
        written = moment.strftime(form) if form else moment.astimezone(EAST).isoformat()
        assert entry.lastmod == written
    assert late.lastmod is None
    page = Page.objects.get()
    assert (page.entries, page.bad) == (3, 0)
    assert page.newest is not None
    assert page.newest < (now + dt.timedelta(days=1.5)).timestamp()


def test_a_lastmod_in_the_future_is_reported() -> None:
    given = dt.datetime(2026, 1, 3, tzinfo=dt.UTC)
    batch = RowBatch(
        [7], {None: TextLocations(["/a/"])}, LastmodColumn([given]), [None], [None]
    )
    tally = Tally()
    origin = Origin("https", "www.example.com")
    serializer = Serializer(origin, dt.UTC, latest="2026-01-02T00:00:00")
    assert "lastmod" not in serializer.items(batch, tally).whole
    (row,) = tally.omitted.values()
    assert (row.label, row.reason) == (
        "7",
        "listed without lastmod 2026-01-03T00:00:00+00:00: more than a day in the "
        "future",
    )


def test_a_newest_lastmod_in_the_future_is_not_known() -> None:
    now = dt.datetime.now(dt.UTC)
    for days, is_known in ((-1, True), (0.9, True), (1.1, False), (9_999, False)):
        lastmod = now + dt.timedelta(days=days)
        section = source_of("lines", type("Dated", (Lines,), {"lastmod": lastmod})())
        assert (newest_lastmod(section) is not None) is is_known


def test_a_file_whose_storage_has_no_address_for_it(
    client: Client, register: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On the row path too; a location is needed, an image is not."""

    class Picky(InMemoryStorage):
        def url(self, name: str) -> str:
            if name == "bad.jpg":
                raise SuspiciousFileOperation("not this one")
            return f"/media/{name}"

    monkeypatch.setattr(Article._meta.get_field("photo"), "storage", Picky())
    for photo in ("a.jpg", "bad.jpg"):
        articles(1, photo=photo)
    both(client, register, type("Pictured", (ArticleSitemap,), {"images": F("photo")}))
    first, second = urlset(client.get("/sitemap-rows-1.xml"))
    assert first.images == ("https://www.example.com/media/a.jpg",)
    assert second.images == ()
    reason = "SuspiciousFileOperation: not this one"
    for page in Page.objects.all():
        ((_, problem),) = page.problems
        assert problem == f"listed without images: {reason}"
    both(client, register, type("Stored", (ArticleSitemap,), {"location": F("photo")}))
    for page in Page.objects.all():
        assert (page.entries, page.bad, page.problems[0][1]) == (1, 1, reason)


#: What terminals obey, PostgreSQL refuses, or no database can encode.
NASTY = "\x00 \ud800 \x1b[31m \u202e \n"
PLAIN = r"\x00 \ud800 \x1b[31m \u202e"


class Nasty:
    """Says of itself what no database can store."""

    pk = NASTY

    def __repr__(self) -> str:
        return NASTY


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("location", RuntimeError(NASTY), f"RuntimeError: {PLAIN}"),
        ("location", Nasty(), f"location {PLAIN}: not a text"),
        ("changefreq", RuntimeError(NASTY), f"changefreq: RuntimeError: {PLAIN}"),
        ("priority", Nasty(), f"priority {PLAIN}: not a number"),
        ("images", RuntimeError(NASTY), f"images: RuntimeError: {PLAIN}"),
    ],
)
@pytest.mark.parametrize("is_keyed", [True, False])
@pytest.mark.costly
def test_what_cannot_be_printed_is_stored_logged_and_shown_as_text(
    client: Client,
    register: Any,
    caplog: pytest.LogCaptureFixture,
    name: str,
    value: Any,
    expected: str,
    is_keyed: bool,
) -> None:
    made = articles(3)

    def items(self: Any) -> list[Any]:
        return [Nasty(), *made[1:]]

    def method(self: Any, item: Any) -> Any:
        if item in (made[0], *items(self)[:1]) or isinstance(item, Nasty):
            return given(value)
        return item.get_absolute_url() if name == "location" else None

    def location(self: Any, item: Any) -> str:
        return "/nasty/" if isinstance(item, Nasty) else item.get_absolute_url()

    attributes = {"location": location, name: method, "model": Article}
    if not is_keyed:
        attributes["items"] = items
    register("article", type("Odd", (Sitemap,), attributes))
    assert client.get(PAGE).status_code == 200
    for page in Page.objects.all():
        ((label, reason),) = page.problems
        assert reason.removeprefix("listed without ").startswith(expected)
        assert label == str(made[0].pk)
    (record,) = caplog.records
    assert record.getMessage().isprintable()
    out, err, _ = run_command("build_sitemaps", "--reconcile")
    assert all(line.isprintable() for line in f"{out}{err}".splitlines())
    assert expected in " ".join(out.split())
    assert (str(made[0].pk) if is_keyed else PLAIN) in " ".join(out.split())


def test_a_page_of_such_rows_says_what_is_wrong_with_it(
    client: Client, register: Any
) -> None:
    def failing(self: Any, item: Any) -> Any:
        raise RuntimeError(NASTY)

    register("article", ArticleSitemap)
    articles(12)
    assert len(urlset(client.get(PAGE))) == 12
    register("article", type("Odd", (ArticleSitemap,), {"location": failing}))
    assert client.get(PAGE).status_code == 200
    page = Page.objects.get()
    assert f"RuntimeError: {PLAIN}" in page.error
    assert page.error.isprintable()
    assert page.failures == 1


# Tables that change meanwhile


def test_a_table_that_is_emptied_while_a_page_is_built(
    client: Client, register: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django_sitemaps_plus.rendering.reader.OBJECTS_AT_ONCE", 5)

    class Emptied(ArticleSitemap):
        def lastmod(self, item: Article) -> None:
            Article.objects.all().delete()

    register("article", Emptied)
    articles(20)
    assert len(urlset(client.get(PAGE))) == 5, "what had been read by then"
    Page.objects.update(verified_at=0)
    assert urlset(client.get(PAGE)) == []


# Whatever it is, the file is well-formed


def test_the_row_path_refuses_the_same_among_good_ones(
    client: Client, register: Any
) -> None:
    titled = type("Titled", (Sitemap,), {"model": Article, "location": F("title")})
    register("article", titled)
    Article.objects.bulk_create(
        Article(slug=str(number), title=f"/{number}/") for number in range(2_000)
    )
    # What the column of a database can hold.
    bad = LOCATIONS[3:10]
    Article.objects.bulk_create(Article(slug="bad", title=title) for title, _ in bad)
    response = client.get(PAGE)
    assert len(urlset(response)) == 2_000
    assert body(response).isascii()
    assert [reason for _, reason in Page.objects.get().problems] == [
        reason for _, reason in bad
    ]


# By position, where there are no former bytes


class Lines(Sitemap):
    """Locations as they are given, in a list."""

    lines: ClassVar[list[str]] = []

    def items(self) -> list[str]:
        return self.lines

    def location(self, item: str) -> str:
        return item


@pytest.mark.parametrize(
    ("good", "bad", "status"), [(0, 1, 503), (1, 10, 200), (1, 11, 503)]
)
def test_too_many_bad_rows_by_position_are_no_page(
    client: Client,
    register: Any,
    caplog: pytest.LogCaptureFixture,
    good: int,
    bad: int,
    status: int,
) -> None:
    lines = [*(["bad"] * bad), *(f"/{number}/" for number in range(good))]
    register("lines", type("Wrong", (Lines,), {"lines": lines}))
    for address in ("/sitemap.xml", "/sitemap-lines.xml", "/sitemap-lines-1.xml"):
        response = client.get(address)
        assert response.status_code == status
        if status == 200:
            assert len(urlset(response)) == good
            continue
        assert response.headers["Retry-After"] == "60"
        # The reason is in the log only: it may hold what is nobody's business.
        assert response.content == (
            b"The sitemap cannot be built at the moment. Please try again later.\n"
        )
        assert caplog.records[0].getMessage() == (
            f"{bad} of {good + bad} rows of page lines-1 cannot be listed. The first, "
            "'bad': location 'bad': neither a path nor an http(s) URL."
        )
