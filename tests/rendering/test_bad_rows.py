"""Rows and values that are wrong: each is left out, named, and harms nothing else."""

from __future__ import annotations

import datetime as dt
import re
import tracemalloc
from typing import Any

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
from django_sitemaps_plus.sitemaps.sections import source_of
from tests.support.factories import articles
from tests.support.helpers import body, locations, run_command, urlset
from tests.testapp.models import Article

EAST = dt.timezone(dt.timedelta(hours=14))

pytestmark = pytest.mark.django_db

HOST = "https://www.example.com"


# Locations

OTHER_PAGE = "has a segment '.' or '..': crawlers would request another URL"
OTHER_SITE = "not a URL of https://www.example.com"
CONTROL = "a control character or lone surrogate"
SESSION = "has a session id: the URL would be another one for each visitor"
EVIL = "https://www.example.com.evil.example/"
LOCATIONS: list[tuple[Any, str]] = [
    (None, "location None: not a text"),
    (7, "location 7: not a text"),
    (b"/bytes/", "location b'/bytes/': not a text"),
    ("relative/path", "location 'relative/path': neither a path nor an http(s) URL"),
    (EVIL, f"location '{EVIL}': {OTHER_SITE}"),
    ("//evil.example/", f"location 'https://evil.example/': {OTHER_SITE}"),
    ("/\x1a/", f"location '/\\x1a/': {CONTROL}"),
    ("/a\nb", f"location '/a\\nb': {CONTROL}"),
    ("/t/../", f"location '/t/../': {OTHER_PAGE}"),
    ("/?sessionid=1", f"location '/?sessionid=1': {SESSION}"),
    ("/\ud800", f"location '/\\ud800': {CONTROL}"),
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


def given(value: Any) -> Any:
    """Return a value, or raise it."""
    if isinstance(value, Exception):
        raise value
    return value


@pytest.mark.parametrize(
    ("location", "expected"), [*LOCATIONS, *ERRORS], ids=lambda value: ascii(value)[:40]
)
@pytest.mark.costly
def test_a_location_that_is_none_or_raises(
    client: Client, page_of: Any, location: Any, expected: str
) -> None:
    def method(self: Any, item: Article) -> Any:
        return item.title if item.title != "bad" else given(location)

    for title in ("/good/1/", "bad", "/good/2/"):
        articles(1, title=title)
    response = page_of(Sitemap, model=Article, location=method)
    assert locations(response) == [f"{HOST}/good/1/", f"{HOST}/good/2/"]
    assert client.get("/sitemap.xml").content == response.content
    page = Page.objects.get()
    assert (page.entries, page.items, page.bad, page.error) == (2, 3, 1, "")
    ((label, reason),) = page.problems
    assert Article.objects.get(pk=label).title == "bad"
    assert reason == expected


def test_a_value_that_the_pattern_does_not_take(page_of: Any) -> None:
    bad = ["", "ümlaut", "a/b"]
    for value in ("one", *bad, "two"):
        articles(1, slug=value)
    assert len(urlset(page_of())) == 2
    assert [reason for _, reason in Page.objects.get().problems] == [
        f"No URL pattern named 'article' matches slug={slug!r}." for slug in bad
    ]


@pytest.fixture
def shop(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"BASE_URL": f"{HOST}/shop"}


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize("more", [{}, {"lastmod": lambda self, item: None}])
def test_a_location_outside_the_folder_of_the_sitemap(page_of: Any, more: Any) -> None:
    """On the row path, and on the object path."""
    for title in ("/shop/1/", "/about/", f"{HOST}/shop?x", "/shop/2/"):
        articles(1, title=title)
    page = page_of(Sitemap, model=Article, location=F("title"), **more)
    assert locations(page) == [f"{HOST}/shop/1/", f"{HOST}/shop/2/"]
    assert len(Page.objects.get().problems) == 2
    for _, reason in Page.objects.get().problems:
        assert reason.endswith(": not in /shop/, the folder of the sitemap")


def titles(self: Any) -> Any:
    return Article.objects.order_by("pk")


def title_of(self: Any, item: Article) -> str:
    return item.title


@pytest.mark.usefixtures("shop")
@pytest.mark.parametrize(
    ("base", "attributes"),
    [
        (Sitemap, {"model": Article, "location": F("title")}),
        (Sitemap, {"model": Article, "location": title_of}),
        (Sitemap, {"items": lambda self: [*titles(self)], "location": title_of}),
        (ContribSitemap, {"items": titles, "location": title_of}),
    ],
    ids=["row path", "object path", "by position", "contrib"],
)
@pytest.mark.costly
def test_a_section_outside_the_folder_is_an_error_of_the_settings(
    page_of: Any, base: type, attributes: dict[str, Any]
) -> None:
    """Not so many rows to be corrected."""
    Article.objects.bulk_create(Article(title=f"/news/{n}/") for n in range(20))
    assert page_of(base, **attributes).status_code == 503
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


@pytest.mark.usefixtures("shop")
def test_urls_on_both_sides_of_the_folder_are_bad_rows(page_of: Any) -> None:
    Article.objects.bulk_create(Article(title=f"/news/{n}/") for n in range(20))
    articles(1, title="/shop/1/")
    assert page_of(location=F("title")).status_code == 503
    page = Page.objects.get()
    assert page.error.startswith("20 of 21 rows of page article-1 cannot be listed")
    assert (page.bad, len(page.problems)) == (20, 20)


class Rude:
    """What cannot even be shown."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize("value", [10**5_000, Rude()], ids=["huge", "rude"])
@pytest.mark.parametrize("name", ["location", "lastmod", "changefreq", "priority"])
@pytest.mark.costly
def test_what_cannot_be_shown_takes_no_page_down(
    page_of: Any, name: str, value: Any
) -> None:
    """One row's value is a bad row at most, whatever is asked of it."""

    def method(self: Any, item: Article) -> Any:
        own = "/good/" if name == "location" else None
        return value if item.slug == "bad" else own

    for slug in ("one", "bad", "two"):
        articles(1, slug=slug)
    assert len(urlset(page_of(**{name: method}))) >= 2
    assert page_of(**{name: value}).status_code in (200, 503)
    rude = {"items": lambda self: [Rude()] * 2, "location": lambda self, item: "/rude/"}
    assert len(urlset(page_of(Sitemap, **rude))) == 2


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
def test_megabytes_are_refused_by_their_length(page_of: Any, location: Any) -> None:
    """Before they are encoded, which takes twenty times as much memory."""
    articles(10)
    articles(1, title="ok")
    tracemalloc.start()
    try:
        assert len(urlset(page_of(location=location))) == 1
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 60_000_000
    ((_, reason), *_) = Page.objects.get().problems
    pattern = r"location '/?ü+\.\.\.ü+': 10000\d+ characters, over 2048"
    assert re.fullmatch(pattern, reason)


# Lastmod


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (dt.datetime(1, 1, 1, tzinfo=dt.UTC), "0001-01-01T00:00:00+00:00"),
        (dt.date(1, 1, 1), "0001-01-01"),
        (dt.datetime.max.replace(tzinfo=dt.UTC), None),
        # In Berlin the offset of 53 minutes and 28 seconds is rounded to the minute.
        (dt.datetime.fromisoformat("0001-01-01T00:00:00"), None),
        ("", None),
    ],
)
@pytest.mark.costly
def test_the_ends_of_the_calendar(
    client: Client, page_of: Any, value: Any, expected: str | None
) -> None:
    articles(2)
    first = urlset(page_of(limit=1, lastmod=lambda self, item: value))
    second = urlset(client.get("/sitemap-article-2.xml"))
    assert [entry.lastmod for entry in first + second] == [expected] * 2
    assert client.get("/sitemap.xml").status_code == 200


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
    page_of: Any, lastmod: Any, form: str | None
) -> None:
    """More than a day: until then it may be a clock, or a zone."""
    now = dt.datetime.now(dt.UTC).replace(microsecond=0)
    # Of a day its midnight counts.
    beyond = 2.1 if form == "%Y-%m-%d" else 1.1
    moments = [now + dt.timedelta(days=days) for days in (-1, 0.9, beyond)]
    for updated in moments:
        articles(1, updated=updated, day=updated.date())
    written = [
        moment.strftime(form) if form else moment.astimezone(EAST).isoformat()
        for moment in moments
    ]
    found = [entry.lastmod for entry in urlset(page_of(lastmod=lastmod))]
    assert found == [*written[:2], None]
    page = Page.objects.get()
    assert (page.entries, page.bad) == (3, 0)
    ((label, reason),) = page.problems
    assert label == str(Article.objects.latest("updated").pk)
    expected = f"listed without lastmod {written[2]}: more than a day in the future"
    assert reason == expected
    assert page.newest is not None
    assert page.newest < (now + dt.timedelta(days=1.5)).timestamp()


def test_a_newest_lastmod_in_the_future_is_not_known() -> None:
    now = dt.datetime.now(dt.UTC)
    for days, is_known in ((-1, True), (0.9, True), (1.1, False), (9_999, False)):
        own = {"items": lambda self: [], "lastmod": now + dt.timedelta(days=days)}
        section = source_of("lines", type("Dated", (Sitemap,), own)())
        assert (newest_lastmod(section) is not None) is is_known


def test_a_file_whose_storage_has_no_address_for_it(
    both: Any, monkeypatch: pytest.MonkeyPatch
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
    found = [entry.images for entry in urlset(both(images=F("photo")))]
    assert found == [(f"{HOST}/media/a.jpg",), ()]
    reason = "SuspiciousFileOperation: not this one"
    for page in Page.objects.all():
        ((_, problem),) = page.problems
        assert problem == f"listed without images: {reason}"
    both(location=F("photo"))
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
    page_of: Any,
    caplog: pytest.LogCaptureFixture,
    name: str,
    value: Any,
    expected: str,
    is_keyed: bool,
) -> None:
    made = articles(3)

    def method(self: Any, item: Any) -> Any:
        if item == made[0] or isinstance(item, Nasty):
            return given(value)
        return item.get_absolute_url() if name == "location" else None

    def location(self: Any, item: Any) -> str:
        return "/nasty/" if isinstance(item, Nasty) else item.get_absolute_url()

    attributes = {"location": location, name: method, "model": Article}
    if not is_keyed:
        attributes["items"] = lambda self: [Nasty(), *made[1:]]
    assert page_of(Sitemap, **attributes).status_code == 200
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


def test_a_page_of_such_rows_says_what_is_wrong_with_it(page_of: Any) -> None:
    articles(12)
    assert len(urlset(page_of())) == 12
    failing = page_of(location=lambda self, item: given(RuntimeError(NASTY)))
    assert failing.status_code == 200
    page = Page.objects.get()
    assert f"RuntimeError: {PLAIN}" in page.error
    assert page.error.isprintable()
    assert page.failures == 1


# Tables that change meanwhile


def test_a_table_that_is_emptied_while_a_page_is_built(
    client: Client, page_of: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("django_sitemaps_plus.rendering.reader.OBJECTS_AT_ONCE", 5)

    def lastmod(self: Any, item: Article) -> None:
        Article.objects.all().delete()

    articles(20)
    assert len(urlset(page_of(lastmod=lastmod))) == 5, "what had been read by then"
    Page.objects.update(verified_at=0)
    assert urlset(client.get("/sitemap-article-1.xml")) == []


# Whatever it is, the file is well-formed


def test_the_row_path_refuses_the_same_among_good_ones(page_of: Any) -> None:
    # What the column of a database can hold.
    bad = LOCATIONS[3:10]
    titles = [*(f"/{number}/" for number in range(1_100)), *(text for text, _ in bad)]
    Article.objects.bulk_create(Article(slug="x", title=title) for title in titles)
    response = page_of(Sitemap, model=Article, location=F("title"))
    assert len(urlset(response)) == 1_100
    assert body(response).isascii()
    reasons = [reason for _, reason in Page.objects.get().problems]
    assert reasons == [reason for _, reason in bad]


# By position, where there are no former bytes


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
    own = {"items": lambda self: lines, "location": lambda self, item: item}
    register("lines", type("Wrong", (Sitemap,), own))
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
