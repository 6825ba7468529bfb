"""The addresses that ``urls`` serves: what a crawler, a cache or a proxy sees."""

from __future__ import annotations

import datetime as dt
import gzip
import math
import time
from collections.abc import Callable, Iterator
from itertools import product
from types import ModuleType
from typing import Any

import pytest
from asgiref.sync import async_to_sync
from django.db import connection
from django.test import AsyncClient, Client
from django.urls import URLPattern, URLResolver, get_resolver, include, path
from django.utils.http import http_date, parse_http_date

from django_sitemaps_plus import serving, urls
from django_sitemaps_plus.models import Page, PageFile, Section
from django_sitemaps_plus.pagination.queries import lease, section_row
from django_sitemaps_plus.sitemaps import sections
from django_sitemaps_plus.storing import storage
from tests.support.factories import articles
from tests.support.helpers import (
    ArticleSitemap,
    PagesSitemap,
    Small,
    body,
    later,
    listed,
    locations,
    remove_sites,
    urlset,
)
from tests.testapp.models import Article
from tests.testapp.views import anything

pytestmark = pytest.mark.django_db

PAGE = "/sitemap-article-1.xml"
BASE = "https://www.example.com"
GZIP = "django.middleware.gzip.GZipMiddleware"
LOGIN = "django.contrib.auth.middleware.LoginRequiredMiddleware"
CONDITIONAL = "django.middleware.http.ConditionalGetMiddleware"
COMMON = "django.middleware.common.CommonMiddleware"
KEY = "abcdef0123456789"
#: With ``Small`` and 25 articles: every address that there is.
ADDRESSES = [
    "/sitemap.xml",
    "/sitemap-small.xml",
    "/sitemap-small-1.xml",
    "/sitemap-article.xml",
    "/sitemap-article-1.xml",
    "/sitemap-pages.xml",
    "/sitemap-pages-1.xml",
]


@pytest.fixture
def article(register: Any) -> list[Article]:
    """Three articles in one section."""
    register("article", ArticleSitemap)
    return articles(3)


@pytest.fixture
def site(register: Any) -> list[Article]:
    """Three sections: one of several pages, one of one page, one by position."""
    register("article", ArticleSitemap)
    register("small", Small)
    register("pages", PagesSitemap)
    return articles(25)


@pytest.fixture
def change(settings: Any) -> Callable[..., None]:
    """Set some of our settings."""

    def configure(**values: Any) -> None:
        settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, **values}

    return configure


@pytest.fixture
def urlconf(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Callable[..., None]:
    """Use some patterns as the project's URLconf."""

    def use(*patterns: Any) -> None:
        module = ModuleType("tests.urlconf_of_one_test")
        module.urlpatterns = list(patterns)
        monkeypatch.setitem(__import__("sys").modules, module.__name__, module)
        settings.ROOT_URLCONF = module.__name__

    return use


def settled(client: Client, address: str, **headers: str) -> Any:
    """Ask for an address; return what is answered some time after its last change."""
    client.get(address)
    later(100, "changed_at")
    return client.get(address, headers=headers)


# Addresses


def test_every_address_is_xml_and_has_a_gzipped_twin(
    client: Client, site: list[Article]
) -> None:
    for address in ADDRESSES:
        plain, twin = client.get(address), client.get(f"{address}.gz")
        assert plain.status_code == 200
        assert plain.headers["Content-Type"] == "application/xml"
        assert plain.content.startswith(b'<?xml version="1.0" encoding="UTF-8"?>\n')
        assert twin.headers["Content-Type"] == "application/gzip"
        assert "Content-Encoding" not in twin.headers
        assert gzip.decompress(twin.content) == plain.content
        for response in (plain, twin):
            assert "noindex" in response.headers["X-Robots-Tag"]


def test_an_index_lists_all_pages_in_order_and_they_hold_every_entry(
    client: Client, site: list[Article]
) -> None:
    start = f"{BASE}/sitemap-"
    small = [f"{start}small-{number}.xml" for number in (1, 2, 3)]
    assert listed(client.get("/sitemap-small.xml")) == small
    every = [f"{start}article-1.xml", *small, f"{start}pages-1.xml"]
    assert listed(client.get("/sitemap.xml")) == every
    found = [loc for url in small for loc in locations(client.get(url[len(BASE) :]))]
    assert sorted(found) == sorted(f"{BASE}/articles/{a.slug}/" for a in site)


def test_few_sections_of_one_page_share_the_site_address(
    client: Client, article: list[Article], register: Any
) -> None:
    assert client.get("/sitemap-article.xml").content == client.get(PAGE).content
    register("pages", PagesSitemap)
    assert locations(client.get("/sitemap.xml")) == [
        *(f"{BASE}/articles/{item.slug}/" for item in article),
        f"{BASE}/",
        f"{BASE}/about/",
    ]


def test_no_section_at_all_is_an_empty_urlset_that_can_only_be_read(
    client: Client,
) -> None:
    assert urlset(client.get("/sitemap.xml")) == []
    response = client.post("/sitemap.xml")
    assert response.status_code == 405
    assert response.headers["Allow"] == "GET, HEAD"


# What is not there

NO_NUMBER = "is not a page number: they count from 1, without leading zeros."


NOT_THERE = [
    ("article-2", "The section &#x27;article&#x27; has no page 2."),
    ("article-0", f"&#x27;0&#x27; {NO_NUMBER}"),
    ("article-007", f"&#x27;007&#x27; {NO_NUMBER}"),
    (f"article-{'9' * 5000}", NO_NUMBER),
    ("article-２", ""),
    ("article--1", ""),
    ("article-1.0", ""),
    ("article-%20", ""),
    ("article-", ""),
    ("nothing", ""),
    ("nothing-1", ""),
    ("a/b", ""),
    ("pages-2", "The section &#x27;pages&#x27; has no page 2."),
    ("index-2", "The index has no part 2."),
    ("index-1", "The index has no part 1."),
    ("article-index-2", "The index of the section &#x27;article&#x27; has no part"),
    ("article-index-0", "The index of the section &#x27;article&#x27; has no part"),
]


def test_a_page_that_is_not_there_is_not_found_with_a_reason(
    client: Client, article: list[Article], register: Any, settings: Any
) -> None:
    register("pages", PagesSitemap)
    settings.DEBUG = True
    for (address, reason), suffix in product(NOT_THERE, ("xml", "xml.gz")):
        response = client.get(f"/sitemap-{address}.{suffix}")
        assert response.status_code == 404, address
        assert reason in response.content.decode(), address


def test_what_is_not_ours_falls_through_to_the_project(
    client: Client, article: list[Article], urlconf: Any
) -> None:
    urlconf(
        path("articles/<slug:slug>/", anything, name="article"),
        path("", include("django_sitemaps_plus.urls")),
        path("sitemap-<str:rest>.xml", anything, name="own"),
        path("sitemap-<path:rest>.xml.gz", anything, name="own-gz"),
    )
    for address, seen in [
        ("/sitemap-of-the-project.xml", "of-the-project"),
        ("/sitemap-article-x.xml", "article-x"),
        ("/sitemap-other-3.xml", "other-3"),
        ("/sitemap-other-3.xml.gz", "other-3"),
        ("/sitemap-other-index-2.xml", "other-index-2"),
    ]:
        response = client.get(address)
        assert response.content.decode() == f"[('rest', '{seen}')]"
    assert len(locations(client.get(PAGE))) == 3


# Names of sections


@pytest.mark.parametrize("name", ["статьи", "top10", "a-b_c", "news-2", "2026", "Über"])
@pytest.mark.costly
def test_names_that_an_address_can_carry(
    client: Client, register: Any, name: str
) -> None:
    register(name, Small)
    articles(12)
    addresses = listed(client.get(f"/sitemap-{name}.xml"))
    assert all(address.isascii() for address in addresses)
    pages = [client.get(address.removeprefix(BASE)) for address in addresses]
    assert [len(urlset(page)) for page in pages] in ([10, 2], [9, 3])
    assert client.get("/sitemap-news-1.xml").status_code == 404


# Validators


#: What ``If-None-Match`` may say, ``{}`` being the ETag, and the status for it.
MATCHES = [
    ("{}", 304),
    ("W/{}", 304),
    ('"other", {}', 304),
    ('"other",W/{}, "more"', 304),
    ("*", 304),
    ('"other"', 200),
    ('W/"other"', 200),
    ("unquoted", 200),
    ("", 200),
]


def test_if_none_match_and_a_304_repeats_what_a_200_says(
    client: Client, site: list[Article]
) -> None:
    """https://www.rfc-editor.org/rfc/rfc9110#section-15.4.5"""
    for address in ("/sitemap.xml", "/sitemap-small.xml", PAGE, f"{PAGE}.gz"):
        full = settled(client, address)
        for form, status in MATCHES:
            match = form.format(full.headers["ETag"])
            response = client.get(address, headers={"if-none-match": match})
            assert response.status_code == status, form
            assert bool(response.content) == (status == 200)
            for header in ("ETag", "Last-Modified", "Cache-Control", "Vary"):
                assert response.headers.get(header) == full.headers.get(header)
            assert "Content-Encoding" not in response.headers
            if status == 304:
                assert response.headers.get("Content-Length", "0") == "0"


def test_if_modified_since(client: Client, article: list[Article]) -> None:
    """A header has no fractions: rounded down, it would keep the old copy alive."""
    client.get(PAGE)
    Page.objects.update(changed_at=1_700_000_000.3)
    for since, status in [
        (http_date(1_700_000_000), 200),
        (http_date(1_700_000_001), 304),
        (http_date(1_700_003_601), 304),
        *((text, 200) for text in ("yesterday", "", "2026-01-01", "-1")),
    ]:
        response = client.get(PAGE, headers={"if-modified-since": since})
        assert response.status_code == status, since
        assert parse_http_date(response.headers["Last-Modified"]) == 1_700_000_001
    headers = {"if-none-match": '"other"', "if-modified-since": http_date(time.time())}
    assert client.get(PAGE, headers=headers).status_code == 200, "the ETag counts"


def test_last_modified_is_when_the_bytes_changed_not_the_newest_lastmod(
    client: Client, register: Any, change: Any
) -> None:
    """An article of next year, and one deleted today, both would make it a lie."""
    register("article", ArticleSitemap)
    change(VERIFY_AFTER=0)
    future = dt.datetime.now(dt.UTC) + dt.timedelta(days=365)
    newest, _ = articles(1, updated=future) + articles(1)
    before = settled(client, PAGE).headers["Last-Modified"]
    assert abs(parse_http_date(before) - time.time()) < 160
    newest.delete()
    response = client.get(PAGE, headers={"if-modified-since": before})
    assert response.status_code == 200
    assert parse_http_date(response.headers["Last-Modified"]) > parse_http_date(before)


def test_two_changes_in_one_second_have_two_times(
    client: Client, register: Any, change: Any
) -> None:
    register("article", ArticleSitemap)
    change(VERIFY_AFTER=0)
    since, seconds = http_date(0), set()
    for _ in range(4):
        articles(1)
        response = client.get(PAGE, headers={"if-modified-since": since})
        assert response.status_code == 200
        since = response.headers["Last-Modified"]
        seconds.add(math.ceil(Page.objects.get().changed_at))
    assert len(seconds) == 4


def test_last_modified_is_never_later_than_the_response(
    client: Client, article: list[Article]
) -> None:
    """https://www.rfc-editor.org/rfc/rfc9110#section-8.8.2.1"""
    client.get(PAGE)
    to_come = time.time() + 100.5
    Page.objects.update(changed_at=to_come)
    response = client.get(PAGE)
    shown = response.headers["Last-Modified"]
    assert parse_http_date(shown) <= time.time()
    again = client.get(PAGE, headers={"if-none-match": response.headers["ETag"]})
    assert again.status_code == 304
    assert parse_http_date(again.headers["Last-Modified"]) <= time.time()
    # Whoever has a copy with this date may have the one of before the change.
    for since, status in [
        (shown, 200),
        (http_date(math.ceil(to_come) - 1), 200),
        (http_date(math.ceil(to_come)), 304),
    ]:
        response = client.get(PAGE, headers={"if-modified-since": since})
        assert response.status_code == status


# HEAD


def test_head_says_what_get_says_without_a_body_and_asgi_what_wsgi_says(
    client: Client, article: list[Article], settings: Any
) -> None:
    settings.MIDDLEWARE = [COMMON]
    addresses = ("/sitemap.xml", PAGE, f"{PAGE}.gz", "/robots.txt")
    for address, encoding in product(addresses, ("", "gzip")):
        headers = {"accept-encoding": encoding}
        full = settled(client, address, **headers)
        head = client.head(address, headers=headers)
        assert head.content == b""
        response = async_to_sync(AsyncClient().get)(address, headers=headers)
        assert (response.status_code, response.content) == (200, full.content)
        assert dict(head.headers) == dict(full.headers) == dict(response.headers)
        assert int(head.headers["Content-Length"]) == len(full.content)


# Encodings


ACCEPTED = [
    ("gzip", True),
    ("GZIP", True),
    ("gzip, deflate, br", True),
    ("br;q=1.0, gzip;q=0.8, *;q=0.1", True),
    ("gzip ; q=0.001", True),
    ("*", True),
    ("identity;q=0, *", True),
    ("", False),
    ("identity", False),
    ("gzip;q=0", False),
    ("gzip;q=0.000", False),
    ("gzip;q=0, *", False),
    ("*;q=0", False),
    ("deflate, br", False),
    ("gzip;q=high", False),
    ("xgzip", False),
]


def test_accept_encoding(client: Client, article: list[Article]) -> None:
    plain = client.get(PAGE)
    for accepted, packed in ACCEPTED:
        response = client.get(PAGE, headers={"accept-encoding": accepted})
        encoding = response.headers.get("Content-Encoding")
        assert encoding == ("gzip" if packed else None), accepted
        assert body(response) == plain.content
        assert response.headers["Content-Type"] == "application/xml"
        assert response.headers["Vary"] == plain.headers["Vary"] == "Accept-Encoding"
        etag = response.headers["ETag"]
        status = client.get(PAGE, headers={"if-none-match": etag}).status_code
        assert (status == 304) is not packed, "one encoding's tag is no other's"


def test_the_same_rows_give_the_same_gzip_file(
    client: Client, article: list[Article]
) -> None:
    first = client.get(f"{PAGE}.gz").content
    Page.objects.update(checksum="", verified_at=0)
    assert client.get(f"{PAGE}.gz").content == first
    # RFC 1952: four bytes of time, all zero.
    assert first[4:8] == b"\0\0\0\0"


# Cache-Control


def test_cache_control(client: Client, article: list[Article], change: Any) -> None:
    for given, header in [
        ({}, "no-cache"),
        ({"CACHE_CONTROL": "public, max-age=300"}, "public, max-age=300"),
        ({"CACHE_CONTROL": None}, None),
    ]:
        change(**given)
        for address in ("/sitemap.xml", PAGE, f"{PAGE}.gz", "/robots.txt"):
            assert client.get(address).headers.get("Cache-Control") == header


# Languages and ports


def test_only_what_differs_by_language_varies_by_it(
    client: Client, site: list[Article], settings: Any
) -> None:
    """Or a cache stores one sitemap for each value that crawlers send."""
    settings.MIDDLEWARE = ["django.middleware.locale.LocaleMiddleware", GZIP]
    for address in (*ADDRESSES, "/sitemap-article-1.xml.gz", "/robots.txt"):
        answers = [
            client.get(address, headers={"accept-language": language})
            for language in ("de", "en")
        ]
        tag = answers[0].headers.get("ETag", "")
        answers.append(client.get(address, headers={"if-none-match": tag}))
        for answer in answers:
            assert answer.status_code in (200, 304)
            vary = answer.headers.get("Vary", "")
            assert vary in ("Accept-Encoding", ""), address
        assert answers[0].content == answers[1].content
    assert "Accept-Language" in client.get("/sitemap-style").headers["Vary"]


def test_a_port_of_its_own_has_its_pages_packed_once(
    client: Client, register: Any, settings: Any, change: Any
) -> None:
    remove_sites(settings)
    change(BASE_URL=None)
    register("article", ArticleSitemap)
    articles(30)

    def found(host: str) -> int:
        headers = {"host": host, "accept-encoding": "gzip"}
        text = gzip.decompress(client.get(PAGE, headers=headers).content)
        return text.count(f"<loc>http://{host}/articles/".encode())

    assert found("example.org") == 30
    packed = storage._for_site.cache_info().misses
    assert [found("example.org:8443") for _ in range(3)] == [30] * 3
    assert storage._for_site.cache_info().misses == packed + 1
    assert found("example.org:8080") == 30


# The project around it


@pytest.mark.parametrize("accepted", ["gzip", "identity"])
@pytest.mark.costly
def test_middleware_changes_neither_bytes_nor_validators(
    client: Client, register: Any, settings: Any, accepted: str
) -> None:
    register("article", ArticleSitemap)
    # So alike that gzipping twice would save bytes.
    articles(3000, updated=None, title="")
    headers = {"accept-encoding": accepted}
    settings.MIDDLEWARE = []
    bare = {a: client.get(a, headers=headers) for a in (PAGE, f"{PAGE}.gz")}
    chosen = [[GZIP], [CONDITIONAL], [COMMON], [GZIP, CONDITIONAL, COMMON]]
    for middleware, (address, expected) in product(chosen, bare.items()):
        settings.MIDDLEWARE = middleware
        client = Client()  # one loads its middleware once
        response = client.get(address, headers=headers)
        assert response.content == expected.content
        for header in ("ETag", "Content-Encoding", "Content-Type"):
            assert response.headers.get(header) == expected.headers.get(header)
        assert int(response.headers["Content-Length"]) == len(response.content)
        tag = {"if-none-match": response.headers["ETag"]}
        assert client.get(address, headers={**headers, **tag}).status_code == 304


@pytest.mark.django_db(transaction=True)
def test_atomic_requests_do_not_hold_back_what_was_found_out(
    client: Client, register: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A claim inside of the request's transaction would be seen by nobody."""
    inside = []

    class Watched(ArticleSitemap):
        def lastmod(self, item: Article) -> None:
            inside.append(connection.in_atomic_block)

    register("article", Watched)
    articles(2)
    monkeypatch.setitem(connection.settings_dict, "ATOMIC_REQUESTS", True)
    for address in ("/sitemap.xml", PAGE, "/sitemap-article.xml"):
        Page.objects.update(verified_at=0)
        assert len(locations(client.get(address))) == 2
    assert inside == [False] * 6


def test_crawlers_need_no_login(
    client: Client, article: list[Article], settings: Any
) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, LOGIN]
    backend = "django_sitemaps_plus.engines.indexnow.IndexNow"
    engine = {"BACKEND": backend, "OPTIONS": {"key": KEY}}
    settings.SITEMAPS_PLUS = {"ENGINES": {"a": engine}}
    for address in ("/sitemap.xml", PAGE, f"{PAGE}.gz", "/robots.txt", f"/{KEY}.txt"):
        assert client.get(address).status_code == 200, address
    assert client.get("/about/").status_code == 302
    # Also the stylesheet, and what apps add.
    views = [one.callback for one in patterns_of(get_resolver(urls))]
    assert len(views) > 10
    assert [view for view in views if getattr(view, "login_required", True)] == []


def patterns_of(resolver: URLResolver) -> Iterator[URLPattern]:
    for one in resolver.url_patterns:
        yield from patterns_of(one) if isinstance(one, URLResolver) else [one]


def test_included_under_a_prefix(client: Client, register: Any, urlconf: Any) -> None:
    register("small", Small)
    articles(12)
    urlconf(
        path("articles/<slug:slug>/", anything, name="article"),
        path("maps/", include("django_sitemaps_plus.urls")),
    )
    start = f"{BASE}/maps/sitemap-small-"
    assert listed(client.get("/maps/sitemap.xml")) == [f"{start}1.xml", f"{start}2.xml"]
    first = locations(client.get("/maps/sitemap-small-1.xml"))
    assert all(loc.startswith(f"{BASE}/articles/") for loc in first)
    robots = client.get("/maps/robots.txt").content.decode()
    assert f"Sitemap: {BASE}/maps/sitemap.xml\n" in robots
    assert client.get("/sitemap.xml").status_code == 404


# robots.txt

SITEMAP = f"\nSitemap: {BASE}/sitemap.xml\n"


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        (None, f"User-agent: *\nDisallow:\n{SITEMAP}"),
        (
            [
                {"user_agent": ["GPTBot", "CCBot"], "disallow": "/"},
                {
                    "allow": ["/a/"],
                    "disallow": ["/intern/", "/*?"],
                    "crawl_delay": 2,
                    "clean_param": ["ref&utm_source /news/", "sid"],
                },
                {"crawlers": "ai-search", "user_agent": "You", "disallow": "/"},
                {"license": "https://www.example.com/license.xml"},
            ],
            "License: https://www.example.com/license.xml\n\n"
            "User-agent: GPTBot\nUser-agent: CCBot\nDisallow: /\n\n"
            "User-agent: *\nAllow: /a/\nDisallow: /intern/\nDisallow: /*?\n"
            "Crawl-delay: 2\nClean-param: ref&utm_source /news/\n"
            "Clean-param: sid\n\n"
            "User-agent: You\nUser-agent: OAI-SearchBot\nUser-agent: Claude-SearchBot\n"
            "User-agent: PerplexityBot\nUser-agent: Meta-WebIndexer\n"
            "User-agent: Amzn-SearchBot\nUser-agent: MistralAI-Index\n"
            f"Disallow: /\n{SITEMAP}",
        ),
        (
            [
                {
                    "content_signal": {
                        "use": "reference",
                        "ai-train": False,
                        "search": True,
                    },
                    "content_usage": {"train-ai": False, "/docs/": {"train-ai": True}},
                }
            ],
            "User-agent: *\nContent-Signal: search=yes, ai-train=no, "
            "use=reference\nContent-Usage: train-ai=n\n"
            f"Content-Usage: /docs/ train-ai=y\nDisallow:\n{SITEMAP}",
        ),
        ([{"disallow": ["/"]}], "User-agent: *\nDisallow: /\n"),
    ],
    ids=["default", "rules", "signals and usage", "closed"],
)
@pytest.mark.costly
def test_robots_txt(
    client: Client, article: list[Article], change: Any, groups: Any, expected: str
) -> None:
    change(**({"ROBOTS": groups} if groups else {}))
    response = client.get("/robots.txt")
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    assert response.content.decode() == expected


@pytest.mark.parametrize(
    "wrong",
    [{"BASEURL": BASE}, {"BASE_URL": "www"}, {"VERIFY_AFTER": "1h"}, {"SITEMAPS": "x"}],
)
def test_robots_txt_has_its_rules_while_another_setting_is_wrong(
    client: Client, change: Any, wrong: Any, caplog: Any
) -> None:
    change(ROBOTS=[{"disallow": "/cart/"}, {"license": f"{BASE}/license.xml"}], **wrong)
    response = client.get("/robots.txt")
    rules = f"License: {BASE}/license.xml\n\nUser-agent: *\nDisallow: /cart/\n"
    assert response.status_code == 200
    assert response.content.decode() == rules
    assert response.headers["Content-Type"] == "text/plain; charset=utf-8"
    [record] = [one for one in caplog.records if one.levelname == "ERROR"]
    assert f"SITEMAPS_PLUS['{next(iter(wrong))}']" in record.getMessage()


def test_robots_txt_without_its_rules_is_not_served(
    client: Client, change: Any, caplog: Any
) -> None:
    change(ROBOTS=[{"disalow": "/intern/"}])
    response = client.get("/robots.txt")
    assert response.status_code == 503
    assert response.headers["Retry-After"] == "60"
    assert "Did you mean 'disallow'?" in caplog.text


# Queries


def test_warm_requests_ask_no_model_and_no_section_for_its_items(
    client: Client, site: list[Article], register: Any, django_assert_num_queries: Any
) -> None:
    """One query for a page or its 304; two for an index, of however many pages."""
    asked = []

    class Chosen(Small):
        def items(self) -> Any:
            asked.append(self)
            first = Article.objects.order_by("pk").first()
            return Article.objects.filter(pk__gte=first.pk if first else 0)

    register("small", Chosen)
    for address in ADDRESSES * 2:  # the index once the pages are counted
        client.get(address)
        for listed_ in ("small-1", "small-2", "small-3"):
            client.get(f"/sitemap-{listed_}.xml")
    etag = client.get(PAGE).headers["ETag"]
    asked.clear()
    expected = {PAGE: 1, f"{PAGE}.gz": 1, "/sitemap.xml": 2, "/sitemap-small.xml": 2}
    for address, count in {**expected, "/sitemap-small-2.xml": 1}.items():
        with django_assert_num_queries(count) as captured:
            assert client.get(address).status_code == 200
        assert "testapp_article" not in str(captured.captured_queries)
    with django_assert_num_queries(3) as captured:
        response = client.get(PAGE, headers={"if-none-match": etag})
        client.head(PAGE)
        client.get("/robots.txt")
    assert response.status_code == 304
    assert "testapp_article" not in str(captured.captured_queries)
    assert asked == []


# Not now


@pytest.fixture
def no_tables(transactional_db: None) -> Any:
    """The app is installed, its migration was not run."""
    tables = [Section, Page, PageFile]
    with connection.schema_editor() as editor:
        for model in reversed(tables):
            editor.delete_model(model)
    yield
    with connection.schema_editor() as editor:
        for model in tables:
            editor.create_model(model)


@pytest.mark.django_db(transaction=True)
def test_without_tables_the_answer_says_what_to_run(
    client: Client, register: Any, no_tables: None
) -> None:
    register("pages", PagesSitemap)
    assert "Sitemap: " in client.get("/robots.txt").content.decode()
    for address in ("/sitemap.xml", "/sitemap-pages.xml", "/sitemap-pages-1.xml"):
        assert len(urlset(client.get(address))) == 2, "by position none is needed"
    register("article", ArticleSitemap)
    for address in ("/sitemap.xml", "/sitemap-article.xml", PAGE, f"{PAGE}.gz"):
        response = client.get(address)
        assert response.status_code == 503
        assert {
            "Retry-After": "60",
            "Cache-Control": "no-store",
            "Content-Type": "text/plain; charset=utf-8",
        }.items() <= response.headers.items()
        assert response.content.decode() == (
            "The tables of django_sitemaps_plus are missing: run 'manage.py migrate'.\n"
        )


def check_is_unavailable(response: Any, seconds: int = 60) -> None:
    assert response.status_code == 503
    assert response.headers["Retry-After"] == str(seconds)
    assert response.headers["Cache-Control"] == "no-store"
    assert response.content.decode() == (
        "The sitemap cannot be built at the moment. Please try again later.\n"
        if seconds == 60
        else "The sitemap is being built. Please try again shortly.\n"
    )


def test_while_pages_are_being_divided_the_answer_says_so(
    client: Client, register: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    register("small", Small)
    articles(25)
    monkeypatch.setattr(serving.listed, "FILL_SECONDS", 0.0)
    check_is_unavailable(client.get("/sitemap.xml"), 5)
    answers = [client.get("/sitemap.xml") for _ in range(5)]
    assert len(listed(answers[-1])) == 3, "each gets further than the one before"
    register("other", Small)
    key = sections.source("other").key
    assert key is not None
    with lease(section_row("other", key)):  # as another process has it
        check_is_unavailable(client.get("/sitemap-other.xml"), 5)


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"MAX_BAD": 2.0}, "SITEMAPS_PLUS['MAX_BAD'] is 2.0; use a share from 0 to 1."),
        ({"BASE_URL": "www.example.com"}, "SITEMAPS_PLUS['BASE_URL'] is 'www.example"),
        ({"SITEMAPS": "nowhere.sitemaps"}, "SITEMAPS_PLUS['SITEMAPS']"),
        ({"ENGINES": []}, "SITEMAPS_PLUS['ENGINES'] must be a dict"),
    ],
)
@pytest.mark.costly
def test_a_setting_that_is_wrong_is_503_and_one_log_line(
    client: Client,
    article: list[Article],
    change: Any,
    wrong: Any,
    said: str,
    caplog: Any,
) -> None:
    """No server runs the checks, which say the same."""
    change(**wrong)
    for address in ("/sitemap.xml", PAGE, "/sitemap-article.xml.gz"):
        caplog.clear()
        check_is_unavailable(client.get(address))
        [line] = [one for one in caplog.messages if "Service Unavailable" not in one]
        assert line.startswith(f"{address}: {said}")
    assert client.get("/humans.txt").status_code == 404, "it may be the project's"
