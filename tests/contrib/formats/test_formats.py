"""What is served beside XML sitemaps, read back by parsers of others."""

from __future__ import annotations

import datetime as dt
import gzip
import re
import time
from typing import Any

import feedparser
import pytest
from django.db import connection
from django.db.models import F, Value
from django.db.models.functions import Upper
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils.translation import get_language
from lxml import etree
from usp.objects.sitemap import IndexXMLSitemap, PagesTextSitemap
from usp.tree import SitemapFetcher
from usp.web_client.abstract_client import LocalWebClient, LocalWebClientSuccessResponse

from django_sitemaps_plus import Route, Sitemap, touch
from django_sitemaps_plus.building.refresh import assign_all, refresh_all
from django_sitemaps_plus.changes import url_changes
from django_sitemaps_plus.changes.recorder import write_remembered
from django_sitemaps_plus.changes.url_changes import Event
from django_sitemaps_plus.delivery import gate
from django_sitemaps_plus.models import Change, PageFile, UrlChange
from django_sitemaps_plus.serving.index import usable
from django_sitemaps_plus.sitemaps.site import Site, working_for
from tests.conftest import Register
from tests.protocol.reading import parse
from tests.protocol.test_schemas import check_format
from tests.support.factories import articles, dated_anew
from tests.support.helpers import (
    ArticleSitemap,
    PagesSitemap,
    later,
    listed,
    locations,
    remove_sites,
    run_command,
    urlset,
)
from tests.support.ledger_world import place
from tests.testapp.models import Article, Note

pytestmark = pytest.mark.django_db(databases=["default", "other"])

BASE = "https://www.example.com"
ATOM = "{http://www.w3.org/2005/Atom}"
TOMBSTONE = "{http://purl.org/atompub/tombstones/1.0}deleted-entry"
ALL = {"text": {}, "feeds": {}, "recent": {}}
HUB = "https://hub.example.org/"
DAY = 86_400
#: A time in the past: what happened after it, by the database's clock, is recent.
NOW = time.time() - 3600
Kind = UrlChange.Kind


class Titled(ArticleSitemap):
    """Articles with titles for feeds."""

    item_title = Upper("title")


@pytest.fixture(autouse=True)
def formats(settings: Any, register: Register) -> None:
    """Serve every format of a section of articles, unless a test has another one."""
    register("article", ArticleSitemap)
    serve(settings, **ALL)


def use(settings: Any, **values: Any) -> None:
    """Set some of our settings."""
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, **values}


def serve(settings: Any, **formats: Any) -> None:
    """Serve some formats, and nothing else beside XML."""
    use(settings, FORMATS=formats)


def happened(section: str, *events: tuple[str, str, float]) -> None:
    """Pass on what happened to URLs of a section: kind, path, seconds since ``NOW``."""
    for kind, path, at in events:
        url_changes.write_events(section, [Event(Kind(kind), path)], NOW + at)
    UrlChange.objects.of_all_sites().update(queued_at=NOW)


def get(address: str, **headers: str) -> Any:
    """Return the answer to a request."""
    return Client(headers=headers or None).get(address)


def lines(answer: Any) -> list[str]:
    """Return the lines of a text file, each of them ended."""
    assert answer.status_code == 200, answer.content
    assert answer.headers["Content-Type"] == "text/plain; charset=utf-8"
    text: str = answer.content.decode()
    assert text == "" or text.endswith("\n")
    return text.splitlines()


def feed(address: str) -> Any:
    """Return what feedparser makes of a feed without a fault."""
    answer = get(address)
    assert answer.status_code == 200, answer.content
    headers = {"content-type": answer.headers["Content-Type"]}
    found = feedparser.parse(answer.content, response_headers=headers)
    assert not found.bozo, found.get("bozo_exception")
    return found


def links(found: Any) -> list[str]:
    return [entry.link for entry in found.entries]


def tombstones(address: str) -> list[str]:
    root = etree.fromstring(get(address).content)
    return [element.get("ref") for element in root.iterfind(TOMBSTONE)]


class _Response(LocalWebClientSuccessResponse):
    headers: Any

    def header(self, case_insensitive_name: str) -> str | None:
        value: str | None = self.headers.get(case_insensitive_name)
        return value


class _Site(LocalWebClient):
    """Has ultimate-sitemap-parser ask the site under test."""

    def get(self, url: str) -> _Response:
        answer = get(url.removeprefix(BASE))
        assert answer.status_code == 200, url
        response = _Response(url, answer.content.decode())
        response.headers = answer.headers
        return response


def parsed(address: str) -> Any:
    """Return what ultimate-sitemap-parser makes of an address, and of what it lists."""
    return SitemapFetcher(f"{BASE}{address}", 0, web_client=_Site()).sitemap()


def urls_in(sitemap: Any) -> list[str]:
    return [page.url for page in sitemap.all_pages()]


# Not asked for


def test_nothing_is_served_unless_asked_for(register: Register, settings: Any) -> None:
    articles(1)
    addresses = (
        *("/sitemap.txt", "/sitemap-article.txt", "/sitemap-article-1.txt.gz"),
        *("/sitemap.rss", "/sitemap.atom", "/sitemap-article.atom"),
        *("/sitemap-recent.xml", "/sitemap-recent.xml.gz"),
    )
    for formats, status in ((ALL, 200), ({}, 404)):
        serve(settings, **formats)
        assert {get(address).status_code for address in addresses} == {status}
    register("recent", ArticleSitemap)
    assert len(locations(get("/sitemap-recent.xml"))) == 1, "the project's"


# Text


def test_a_text_page_has_the_urls_of_the_page_one_a_line(
    register: Register, django_assert_num_queries: Any
) -> None:
    assert lines(get("/sitemap-article-1.txt")) == [], "there are no entries"
    own = {"location": Route("word", slug=F("slug"))}
    register("article", type("Words", (ArticleSitemap,), own))
    articles(3)
    articles(1, slug="a&b'c;d=é&apos;")
    found = locations(get("/sitemap-article-1.xml"))
    assert f"{BASE}/w%C3%B6rter/a&b'c;d=%C3%A9&apos;/" in found
    stored = PageFile.objects.count()
    with django_assert_num_queries(1):
        assert lines(get("/sitemap-article-1.txt")) == found
    assert PageFile.objects.count() == stored
    for address in ("/sitemap-article-1.txt", "/sitemap-article.txt", "/sitemap.txt"):
        assert lines(get(address)) == found
        assert isinstance(parsed(address), PagesTextSitemap)
        assert urls_in(parsed(address)) == found
    unpacked = gzip.decompress(get("/sitemap-article-1.txt.gz").content)
    assert unpacked.decode().splitlines() == found
    register("pages", PagesSitemap)
    assert lines(get("/sitemap-pages.txt")) == [f"{BASE}/", f"{BASE}/about/"]


def test_several_text_pages_are_listed_in_an_index(register: Register) -> None:
    register("article", type("Small", (ArticleSitemap,), {"limit": 2}))
    articles(5)
    for start in ("/sitemap", "/sitemap-article"):
        answer = get(f"{start}.txt")
        assert answer.headers["Content-Type"] == "application/xml"
        pages = listed(get(f"{start}.xml"))
        assert len(pages) >= 3
        texts = [page.replace(".xml", ".txt") for page in pages]
        assert listed(answer) == texts
        assert isinstance(parsed(f"{start}.txt"), IndexXMLSitemap)
        urls = [url for page in pages for url in locations(get(page[len(BASE) :]))]
        assert len(urls) == 5
        assert urls_in(parsed(f"{start}.txt")) == urls


def test_a_text_page_shows_what_was_saved_and_has_a_tag_of_its_version() -> None:
    [article] = articles(1)
    first = get("/sitemap-article-1.txt")
    later(100, "changed_at")
    for _ in range(3):
        again = get("/sitemap-article-1.txt", if_none_match=first.headers["ETag"])
        assert again.status_code == 304
    article.slug = "another"
    article.save()
    second = get("/sitemap-article-1.txt", if_none_match=first.headers["ETag"])
    assert lines(second) == [f"{BASE}/articles/another/"]
    assert lines(get("/sitemap-article-1.txt")) == [f"{BASE}/articles/another/"]


def test_an_index_changes_no_text_and_names_sitemaps_of_others(
    register: Register, settings: Any
) -> None:
    register("pages", PagesSitemap)
    articles(2)
    before = lines(get("/sitemap.txt"))
    use(settings, INDEX=True)
    assert parse(get("/sitemap.xml").content).tag.endswith("}sitemapindex")
    assert lines(get("/sitemap.txt")) == before
    assert len(before) > 2
    other = f"{BASE}/blog/sitemap-article-1.xml"
    use(settings, EXTRA_SITEMAPS=[{"url": other, "index": True}])
    found = parse(get("/sitemap.txt").content)
    named = [element.text for element in found.iter("{*}loc")]
    own = [f"{BASE}/sitemap-{name}-1.txt" for name in ("article", "pages")]
    assert named == [*own, other]


def test_a_text_page_has_the_host_of_the_request(settings: Any) -> None:
    remove_sites(settings)
    settings.SITEMAPS_PLUS = {"FORMATS": ALL}
    articles(1)
    for host in ("www.example.com", "example.org") * 2:
        [line] = lines(get("/sitemap-article-1.txt", host=host))
        assert line.startswith(f"http://{host}/articles/")


# Feeds


def save(article: Article, title: str) -> None:
    """Save an article under a title, and rebuild its page."""
    article.title = title
    article.save()
    rebuild()


def rebuild() -> None:
    """Rebuild pages, and pass on what happened, as the background does."""
    write_remembered("default")
    assign_all(usable())
    refresh_all(usable(), place())
    gate.pass_on()


@pytest.mark.parametrize("ending", ["atom", "rss"])
@pytest.mark.parametrize("start", ["/sitemap", "/sitemap-article"])
@pytest.mark.costly
def test_a_feed_lists_what_was_saved_with_its_title_and_lastmod(
    register: Register, settings: Any, ending: str, start: str
) -> None:
    serve(settings, feeds={"hubs": [HUB]})
    register("article", Titled)
    [article, other] = articles(2)
    save(other, " ")
    save(article, "Salt\t& pepper")
    address = f"{start}.{ending}"
    found = feed(address)
    urls = [f"{BASE}{item.get_absolute_url()}" for item in (article, other)]
    shown = [(entry.link, entry.id, entry.title) for entry in found.entries]
    titles = ("SALT & PEPPER", urls[1])
    assert shown == [(url, url, title) for url, title in zip(urls, titles, strict=True)]
    hrefs = {link.rel: link.href for link in found.feed.links}
    assert (hrefs["self"], hrefs["hub"]) == (f"{BASE}{address}", HUB)
    assert article.updated is not None
    moment = found.entries[0]["updated" if ending == "atom" else "published"]
    form = "%Y-%m-%dT%H:%M:%SZ" if ending == "atom" else "%a, %d %b %Y %H:%M:%S GMT"
    assert moment == article.updated.strftime(form)
    assert sorted(urls_in(parsed(address))) == sorted(urls)
    other.title = "One more"
    other.save()
    newest = feed(address).entries[0]
    assert newest.title == "ONE MORE", "at once, though nobody has rebuilt its page"


@pytest.mark.parametrize(
    ("declared", "title"),
    [
        (lambda self, item: f"About {item.slug}", "About one"),
        (Value("\x08"), None),
        (F("day"), "2026-02-03"),
        ("The same for all", "The same for all"),
        (lambda self, item: 1 / 0, None),
        (lambda self, item: None, None),
        (lambda self, item: "a" * 300, "a" * 200),
    ],
)
@pytest.mark.costly
def test_a_title_may_be_a_method_an_expression_or_a_text(
    register: Register, declared: Any, title: str | None
) -> None:
    register("article", type("Own", (ArticleSitemap,), {"item_title": declared}))
    [article] = articles(1, slug="one", day=dt.date(2026, 2, 3))
    save(article, "")
    [entry] = feed("/sitemap.atom").entries
    assert entry.title == (title or f"{BASE}/articles/one/")


def test_each_language_has_its_own_title(register: Register) -> None:
    def item_title(self: Any, item: Note) -> str:
        return f"{item.number} ({get_language()})"

    own = {"model": Note, "location": Route("note", number=F("number")), "i18n": True}
    own |= {"item_title": item_title, "languages": ["en", "de"]}
    register("note", type("Notes", (Sitemap,), own))
    Note.objects.create(number=7)
    rebuild()
    found = {entry.link: entry.title for entry in feed("/sitemap.atom").entries}
    assert found == {f"{BASE}/{code}/notes/7/": f"7 ({code})" for code in ("en", "de")}


def test_titles_are_read_with_the_rows_where_a_feed_is_served(
    register: Register, settings: Any
) -> None:
    register("article", Titled)
    [article] = articles(1)
    get("/sitemap-article-1.xml")
    read = []
    for formats in ({}, {"feeds": {}}, {}):
        serve(settings, **formats)
        dated_anew(article).save()
        with CaptureQueriesContext(connection) as ran:
            rebuild()
        titled = [one["sql"] for one in ran if "UPPER(" in one["sql"]]
        read.append((len(ran), len(titled)))
    (_, _), (with_titles, some), (without, none) = read
    assert (some, none) == (1, 0)
    assert with_titles == without


def test_a_change_that_a_comparison_found_has_its_title(register: Register) -> None:
    register("article", Titled)
    made = articles(3)
    get("/sitemap-article-1.xml")
    for article, title in zip(made, ("Salt", "Pepper"), strict=False):
        new = {"title": title, "slug": title.lower()}
        Article.objects.filter(pk=article.pk).update(**new)
    run_command("build_sitemaps", "--reconcile", "--deep")
    found = {entry.link: entry.title for entry in feed("/sitemap.atom").entries}
    salt, pepper = f"{BASE}/articles/salt/", f"{BASE}/articles/pepper/"
    assert found == {salt: "SALT", pepper: "PEPPER"}


def test_a_removed_page_becomes_a_tombstone() -> None:
    [article, other] = articles(2)
    get("/sitemap-article-1.xml")
    save(dated_anew(article), "")
    save(dated_anew(other), "")
    gone = f"{BASE}{article.get_absolute_url()}"
    article.delete()
    rebuild()
    for start in ("/sitemap", "/sitemap-article"):
        assert tombstones(f"{start}.atom") == [gone]
        kept = [f"{BASE}{other.get_absolute_url()}"]
        assert links(feed(f"{start}.atom")) == kept
        assert links(feed(f"{start}.rss")) == kept


def test_a_feed_says_of_each_url_what_happened_last(register: Register) -> None:
    register("one", ArticleSitemap)
    register("two", ArticleSitemap)
    happened("one", ("added", "/a/", 1), ("removed", "/b/", 2), ("changed", "/c/", 3))
    happened("one", ("removed", "/a/", 4), ("added", "/b/", 5))
    happened("two", ("changed", "/a/", 6), ("changed", "/d/", 5.5))
    happened("none", ("changed", "/e/", 7))
    assert links(feed("/sitemap.atom")) == [f"{BASE}/{x}/" for x in "adbc"]
    assert tombstones("/sitemap.atom") == []
    assert links(feed("/sitemap-one.atom")) == [f"{BASE}/b/", f"{BASE}/c/"]
    assert tombstones("/sitemap-one.atom") == [f"{BASE}/a/"]


def test_a_published_draft_is_in_the_feed_with_its_title(register: Register) -> None:
    class Live(Titled):
        def items(self) -> Any:
            """Return what is not a draft."""
            return super().items().filter(live=True)

    register("article", Live)
    [article] = articles(1)
    Article.objects.update(live=False)
    get("/sitemap-article-1.xml")
    save(article, "Salt")
    assert UrlChange.objects.get().kind == Kind.ADDED
    [entry] = feed("/sitemap.atom").entries
    assert entry.title == "SALT"


def test_what_is_on_hold_or_undecided_is_neither_removed_nor_listed() -> None:
    happened("article", ("added", "/a/", 1), ("removed", "/a/", 2))
    for on_hold in (False, True):
        gone = UrlChange.objects.filter(kind="removed")
        gone.update(queued_at=None, on_hold=on_hold)
        assert (tombstones("/sitemap.atom"), links(feed("/sitemap.rss"))) == ([], [])
        assert locations(get("/sitemap-recent.xml")) == []


def test_formats_have_the_newest_entries_of_their_days(settings: Any) -> None:
    def shown() -> tuple[list[str], list[str]]:
        return links(feed("/sitemap.rss")), locations(get("/sitemap-recent.xml"))

    few = {"entries": 2, "days": 3}
    serve(settings, feeds=few, recent=few)
    happened("article", ("changed", "/old/", -3 * DAY), ("changed", "/a/", -2 * DAY))
    assert shown() == ([f"{BASE}/a/"], [f"{BASE}/a/"])
    happened("article", ("changed", "/b/", 1), ("changed", "/c/", 2))
    newest = [f"{BASE}/c/", f"{BASE}/b/"]
    assert shown() == (newest, newest)
    happened("article", ("removed", "/d/", 3))
    assert shown() == (newest, newest)
    assert tombstones("/sitemap.atom") == [f"{BASE}/d/"]
    assert links(feed("/sitemap.atom")) == [f"{BASE}/c/"]


def test_a_feed_has_a_tag_and_the_same_bytes_for_the_same_changes() -> None:
    addresses = ("/sitemap.atom", "/sitemap.rss")
    empty = {address: get(address).headers["ETag"] for address in addresses}
    assert [links(feed(address)) for address in addresses] == [[], []]
    happened("article", ("changed", "/a/", 1))
    for address in addresses:
        first = get(address)
        assert first.headers["ETag"] != empty[address]
        again = get(address, if_none_match=first.headers["ETag"])
        assert again.status_code == 304
        assert get(address).content == first.content


# What changed lately


def test_recent_changes_are_a_sitemap_the_newest_first() -> None:
    [first, second, gone] = articles(3)
    get("/sitemap-article-1.xml")
    second.updated = None
    for article in (gone, second, dated_anew(first)):
        save(article, "")
    gone.delete()
    rebuild()
    answer = get("/sitemap-recent.xml")
    assert first.updated is not None
    lastmod = f"{first.updated:%Y-%m-%dT%H:%M:%S}+00:00"
    urls = [f"{BASE}{article.get_absolute_url()}" for article in (first, second)]
    shown = {entry.loc: entry.lastmod for entry in urlset(answer)}
    assert [*shown.items()] == [(urls[0], lastmod), (urls[1], None)]
    check_format(parse(answer.content))
    assert b"<?xml-stylesheet " in answer.content
    assert urls_in(parsed("/sitemap-recent.xml")) == urls
    assert gzip.decompress(get("/sitemap-recent.xml.gz").content) == answer.content
    again = get("/sitemap-recent.xml", if_none_match=answer.headers["ETag"])
    assert again.status_code == 304


@pytest.mark.parametrize(
    ("formats", "stored"),
    [({}, 6), ({"recent": {"days": 2}}, 6), ({"feeds": {"days": 30}}, 29)],
)
def test_changes_are_stored_for_as_long_as_a_format_looks_back(
    settings: Any, formats: Any, stored: int
) -> None:
    serve(settings, **formats)
    ages = (31, 29, 8, 6)
    happened("article", *(("changed", f"/{age}/", -age * DAY) for age in ages))
    url_changes.prune_url_changes()
    oldest = UrlChange.objects.order_by("at").values_list("location", flat=True).first()
    assert oldest == f"/{stored}/"


def test_what_changed_is_read_by_one_query_and_what_waits_by_another(
    django_assert_num_queries: Any,
) -> None:
    happened("article", ("changed", "/a/", 1))
    for address in ("/sitemap.atom", "/sitemap-article.rss", "/sitemap-recent.xml"):
        get(address)
        with django_assert_num_queries(2):
            get(address)


@pytest.mark.parametrize(("count", "shown"), [(500, 1), (501, 0)])
def test_a_feed_shows_what_was_just_saved_unless_that_is_much(
    count: int, shown: int
) -> None:
    touch(articles(count)[0])
    write_remembered("default")
    first = Change.objects.get()
    Change.objects.bulk_create(
        Change(section="article", key=f"{10**6 + more}", at=first.at)
        for more in range(count - 1)
    )
    assert len(links(feed("/sitemap.atom"))) == shown


@pytest.mark.parametrize(("pages", "shown"), [(10, 10), (11, 0)])
@pytest.mark.costly
def test_a_feed_rebuilds_few_pages(register: Register, pages: int, shown: int) -> None:
    register("article", type("Single", (ArticleSitemap,), {"limit": 1}))
    rows = articles(pages)
    run_command("build_sitemaps")
    for row in rows:
        dated_anew(row).save()
    assert len(links(feed("/sitemap.atom"))) == shown
    run_command("build_sitemaps")
    assert len(links(feed("/sitemap.atom"))) == pages


# Several sites, robots.txt, settings


def test_each_site_has_its_own_changes_and_feeds(settings: Any) -> None:
    use(settings, SITES={"blog": {"BASE_URL": "https://blog.example.com"}})
    happened("article", ("changed", "/own/", 1))
    with working_for(Site("blog", "blog")):
        happened("article", ("changed", "/other/", 2))
    assert links(feed("/sitemap.atom")) == [f"{BASE}/own/"]
    assert locations(get("/sitemap-recent.xml")) == [f"{BASE}/own/"]


def test_robots_txt_lists_the_formats_that_are_to_be_listed(settings: Any) -> None:
    def found() -> list[str]:
        text = get("/robots.txt").content.decode()
        return re.findall(r"^Sitemap: (.*)$", text, re.MULTILINE)

    own = f"{BASE}/sitemap.xml"
    assert found() == [own]
    serve(settings, **{name: {"robots": True} for name in ALL})
    endings = (".txt", ".atom", "-recent.xml")
    assert found() == [own, *(f"{BASE}/sitemap{ending}" for ending in endings)]
    use(settings, ROBOTS=[{"user_agent": "*", "disallow": ["/"]}])
    assert found() == []


@pytest.mark.parametrize(
    ("formats", "problem"),
    [
        (["text"], """['FORMATS'] must be a dict, for example {"text": {}}."""),
        ({"txt": {}}, "['FORMATS']['txt'] is unknown. Did you mean 'text'?"),
        ({"text": True}, "['FORMATS']['text'] must be a dict, for example {}."),
        ({"text": {"days": 1}}, "['FORMATS']['text']['days'] is unknown."),
        ({"feeds": {"hub": HUB}}, "['feeds']['hub'] is unknown. Did you mean 'hubs'?"),
        ({"feeds": {"hubs": HUB}}, "['feeds']['hubs'] is 'https://hub.example.org/'"),
        ({"feeds": {"hubs": ["/hub"]}}, "['feeds']['hubs'] is ['/hub']; use a list"),
        ({"recent": {"days": 0}}, "['recent']['days'] is 0; use up to 366 days."),
        ({"recent": {"days": True}}, "['recent']['days'] is True"),
        ({"recent": {"entries": 50_001}}, "['entries'] is 50001; use 1 to 50,000."),
        ({"text": {"robots": 1}}, "['text']['robots'] is 1; use True or False."),
    ],
)
@pytest.mark.costly
def test_impossible_formats_are_refused_with_what_to_write(
    settings: Any, formats: Any, problem: str
) -> None:
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "FORMATS": formats}
    _, err, code = run_command("check")
    assert code == 1
    assert problem in err
    assert "sitemaps_plus.E001" in err


def test_a_title_that_cannot_be_resolved_is_a_mistake(register: Register) -> None:
    register("article", type("Own", (ArticleSitemap,), {"item_title": F("titel")}))
    _, err, code = run_command("check")
    assert (code, "sitemaps_plus.E008" in err) == (1, True)


def test_an_impossible_head_of_llms_txt_is_refused(settings: Any) -> None:
    for head, problem in (
        (True, "must be a dict, for example"),
        ({"description": "x"}, "needs a 'title', for example"),
    ):
        settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "LLMS": head}
        _, err, code = run_command("check")
        assert (code, f"SITEMAPS_PLUS['LLMS'] {problem}" in err) == (1, True)
