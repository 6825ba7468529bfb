"""The crawler's view: what goes wrong between Django and a crawler."""

from __future__ import annotations

import errno
import gzip
import json
import re
import socket
import ssl
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import trustme
from django.db.models import F
from django.utils import timezone
from django.utils.http import http_date

from django_sitemaps_plus import NewsSitemap, Route
from django_sitemaps_plus.contrib.audit import crawl, crawler, queries
from django_sitemaps_plus.contrib.audit.models import Audit, Finding
from django_sitemaps_plus.contrib.audit.queries import last_crawls
from django_sitemaps_plus.contrib.audit.rules import FetchedAnswer
from django_sitemaps_plus.contrib.audit.rules.crawlers import OTHER_PAGE, TWICE
from django_sitemaps_plus.engines import http
from django_sitemaps_plus.engines.base import CheckResult
from django_sitemaps_plus.health.alerts import Alert, alerts
from django_sitemaps_plus.models import Page, UrlChange
from django_sitemaps_plus.serving import documents, index
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress
from tests.contrib.audit import kinds
from tests.contrib.audit.written import sitemap_of
from tests.support.factories import articles
from tests.support.fakes.faults import Raw, Reply, Slow
from tests.support.fakes.ports import free_port
from tests.support.helpers import ArticleSitemap, PagesSitemap, run_command
from tests.support.mirror import Mirror, recorded
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db

Found = list[tuple[str, str]]


@pytest.fixture
def mirror(register: Any, settings: Any) -> Iterator[Mirror]:
    """A site with one section of three articles, at its public address."""
    with Mirror() as running:
        settings.SITEMAPS_PLUS = {"BASE_URL": running.origin}
        register("article", ArticleSitemap)
        articles(3)
        run_command("build_sitemaps")
        running.record()
        yield running


def address() -> SiteAddress:
    found = Site.current().address()
    assert found is not None
    return found


def short() -> list[CheckResult]:
    """Take the short view; return what it says."""
    return [*crawler.check_as_crawler(address(), private=True)]


def whole() -> set[str]:
    """Take the whole view; return the kinds of what it finds."""
    _, findings = crawler.crawl_and_store(
        address(), rate=1000, most=None, progress=lambda done, of: None
    )
    return {one.kind for one in findings}


def live() -> tuple[list[dict[str, str]], int]:
    """Return what the command finds by the whole view, and how it ends."""
    options = "--live", "--rate", "1000", "--format", "json"
    out, _, code = run_command("check_sitemaps", *options)
    return json.loads(out)["crawl"]["findings"], code


def look() -> Found:
    """Return what the short view finds: kinds and texts."""
    short()
    return [(one.kind, one.text) for one in last_crawls()[0].findings.order_by("pk")]


def kinds_found() -> list[str]:
    return sorted(kind for kind, _ in look())


def test_a_site_with_nothing_wrong_is_read_by_five_requests(mirror: Mirror) -> None:
    assert look() == []
    (audit,) = last_crawls()
    assert (audit.missed, audit.urls, audit.fetched_urls) == ("", 1, 1)
    paths = ["/robots.txt", *["/sitemap.xml"] * 3, "/sitemap.xml.gz"]
    assert [one.path for one in mirror.requests] == paths
    names = ("Googlebot", "Googlebot", "bingbot", "Chrome", "Googlebot")
    for name, asked in zip(names, mirror.requests, strict=True):
        assert name in asked.headers["user-agent"]


def test_what_only_who_fetches_pages_sees_is_known_until_they_are_fetched(
    mirror: Mirror,
) -> None:
    names = OTHER_PAGE, TWICE, kinds.MOVED
    numbers = dict.fromkeys(("urls", "fetched_urls", "errors", "warnings"), 1)
    counts = {name: {"": 1} for name in names}
    audit = Audit(
        fetched="crawl", started_at=1, finished_at=1, counts=counts, **numbers
    )
    queries.store(audit, [Finding(kind=name, text="x") for name in names])
    for _ in range(2):
        assert look() == [(OTHER_PAGE, "x"), (TWICE, "x")]
        (newest,) = last_crawls()
        assert (newest.errors, newest.warnings) == (1, 1)
        levels = [one.level for one in alerts([Alert.Subject.CRAWLER])]
        assert levels == [Alert.ERROR, Alert.WARNING]
    whole()
    assert OTHER_PAGE not in last_crawls()[0].counts


GZIPPED = gzip.compress(b"<urlset/>")
STILL = "is still gzipped after it was decompressed"
UNNAMED = "does not name http://127.0.0.1"
PAGE = Reply(body=b"<!doctype html><h1>Welcome to nginx!</h1>")
CHALLENGE = Reply(
    status=403,
    body=b"<!DOCTYPE html><title>Just a moment...</title>",
    headers={"cf-mitigated": "challenge", "Content-Type": "text/html"},
)
Plant = Callable[[Mirror], object]


def sitemap(*urls: str, tag: str = "url") -> bytes:
    """Return a sitemap that another system may have written, gzipped."""
    return gzip.compress(sitemap_of(*urls, tag=tag).encode())


def spoiled(path: str = "/sitemap.xml", **changes: Any) -> Plant:
    """Have a file sent in another way."""
    return lambda site: site.spoil(path, **changes)


def rewritten(pattern: str, new: str) -> Plant:
    """Have the sitemap sent with another text in it."""

    def plant(site: Mirror) -> None:
        text = re.sub(pattern, new, site.text("/sitemap.xml"))
        site.spoil(body=gzip.compress(text.encode()))

    return plant


def robots(before: str = "", after: str = "") -> Plant:
    """Have robots.txt sent with more lines."""

    def plant(site: Mirror) -> None:
        body = before.encode() + site.reply("/robots.txt").body
        site.spoil("/robots.txt", body=body + after.format(site.origin).encode())

    return plant


def replaced(reply: Reply) -> Plant:
    """Have something else in the place of the sitemap."""
    return lambda site: site.pages.update({"/sitemap.xml": reply})


def moved(location: str) -> Plant:
    """Have the sitemap redirect."""
    return spoiled(status=302, headers={"Location": location})


def headed(name: str, value: str | None, path: str = "/sitemap.xml") -> Plant:
    """Have a file sent with another header."""
    return spoiled(path, headers={name: value})


TAG, ALL = "X-Robots-Tag", "noindex, noodp, noarchive"
NO_HOST = "https://[name]/"
STAGING = "https://staging.example"

#: What is found, its kind and a part of its text, and what is done to the site.
FAULTS: dict[tuple[str, str], Plant] = {
    (kinds.MOVED, "redirects to https://127.0.0.1"): lambda site: site.spoil(
        status=301, headers={"Location": site.origin.replace("http:", "https:")}
    ),
    (kinds.MOVED, "redirects to http://127.0.0.1"): moved("/sitemap.xml"),
    (kinds.MOVED, f"redirects to {NO_HOST} (302)"): moved(NO_HOST),
    (kinds.REFUSED, "answers 403 (as bingbot over IPv4)"): lambda site: setattr(
        site, "to", {"bingbot": Reply(status=403)}
    ),
    (kinds.REFUSED, "answers 401"): spoiled(status=401, body=b"Log in"),
    (
        kinds.CHALLENGED,
        "Cloudflare challenges this machine (403), which does not say that it "
        "challenges Googlebot",
    ): replaced(CHALLENGE),
    (kinds.CHALLENGED, "Imperva challenges this machine (200)"): spoiled(
        body=b"<html><script src=/_Incapsula_Resource?a>"
    ),
    (kinds.NOT_SERVED, "answers 404"): spoiled(status=404),
    (
        kinds.NOT_SERVED,
        "answers 400, as Django does if ALLOWED_HOSTS lacks the requested host",
    ): spoiled(status=400),
    (kinds.NOT_SERVED, "answers 502"): spoiled("/robots.txt", status=502),
    (kinds.ENCODED, STILL): spoiled(body=gzip.compress(GZIPPED)),
    (kinds.ENCODED, "claims to be gzipped, and is not"): spoiled(body=b"<urlset/>"),
    (kinds.ENCODED, "has the Content-Encoding br, where gzip is accepted"): headed(
        "Content-Encoding", "br"
    ),
    (kinds.ENCODED, "was decompressed on its way, although its name ends .gz"): spoiled(
        "/sitemap.xml.gz", body=b"<urlset/>"
    ),
    (kinds.CUT_OFF, "ends in the middle of what is compressed"): lambda site: (
        site.spoil(body=site.reply("/sitemap.xml").body[:-20])
    ),
    (
        kinds.TOO_LARGE,
        "is larger than 52,428,800 bytes when it is decompressed",
    ): lambda site: site.spoil(body=gzip.compress(b" " * 52_428_801, 1)),
    (kinds.HEADER, "Content-Type is text/html, not application/xml"): headed(
        "Content-Type", "text/html"
    ),
    (kinds.NOT_OURS, "is a web page"): replaced(PAGE),
    (kinds.NOT_OURS, f"lists {NO_HOST}a.xml"): spoiled(
        body=sitemap(f"{NO_HOST}a.xml", tag="sitemap")
    ),
    (kinds.NOT_OURS, f"lists {STAGING}/a/"): spoiled(body=sitemap(f"{STAGING}/a/")),
    (kinds.NOT_OURS, "has no entry, and should have 3"): spoiled(body=sitemap()),
    (kinds.NOT_OURS, "1 URL too many, 3 missing: it lists http://127.0.0.1:"): (
        lambda site: site.spoil(body=sitemap(f"{site.origin}/old/"))
    ),
    (kinds.NOT_OURS, "lists https://127.0.0.1"): rewritten("<loc>http:", "<loc>https:"),
    (kinds.NOT_OURS, "has another lastmod for http://127.0.0.1"): rewritten(
        "<lastmod>....", "<lastmod>2020"
    ),
    (
        kinds.NOT_OURS,
        "has the namespace 'http://www.sitemaps.org/schemas/sitemap/0.8', not",
    ): rewritten("sitemap/0.9", "sitemap/0.8"),
    (kinds.SITEMAP_DISALLOWED, "disallows /sitemap.xml for bingbot"): robots(
        "User-agent: bingbot\nDisallow: /*.xml$\n\n"
    ),
    (
        kinds.OTHER_SITEMAPS,
        f"names {STAGING}/sitemap.xml, and not http://127.0.0.1",
    ): spoiled("/robots.txt", body=f"Sitemap: {STAGING}/sitemap.xml".encode()),
    (kinds.OTHER_SITEMAPS, "/sitemap_index.xml, which answers 404"): robots(
        after="Sitemap: {}/sitemap_index.xml\n"
    ),
    (kinds.ROBOTS_TOO_LONG, "has more than 512,000 bytes"): robots(
        after="#\n" * 256_000
    ),
    (kinds.NOT_NAMED, UNNAMED): spoiled(
        "/robots.txt", body=b"User-agent: *\nDisallow:\n"
    ),
    (kinds.HEADER, f"{TAG} is noindex, not missing"): headed(
        TAG, "noindex", "/robots.txt"
    ),
    (kinds.HEADER, f"{TAG} is none, not {ALL}"): headed(TAG, "none"),
    (kinds.HEADER, f"{TAG} is missing, not {ALL}"): headed(TAG, None),
    (kinds.HEADER, f"{TAG} is slurp: none, not missing"): headed(
        TAG, "slurp: none", "/robots.txt"
    ),
}
#: Other ways to the same.
MORE_FAULTS: dict[tuple[str, str], Plant] = {
    (kinds.ENCODED, STILL): spoiled(body=GZIPPED, headers={"Content-Encoding": None}),
    (kinds.NOT_OURS, "is a web page"): spoiled("/robots.txt", body=PAGE.body),
    (kinds.NOT_NAMED, UNNAMED): lambda site: site.pages.pop("/robots.txt"),
}


def test_each_planted_fault_is_found_and_nothing_else(mirror: Mirror) -> None:
    pages, missed = dict(mirror.pages), []
    for (kind, text), plant in [*FAULTS.items(), *MORE_FAULTS.items()]:
        mirror.pages, mirror.to = dict(pages), {}
        plant(mirror)
        found = look()
        if {one for one, _ in found} != {kind} or text not in str(found):
            missed.append((text, found))
    assert missed == []


# Between the two, and on the way


def aged(reply: Reply, seconds: int) -> Reply:
    """Return an answer that was in a cache for so long."""
    return replace(reply, headers={**reply.headers, "Age": str(seconds)})


def cached(mirror: Mirror, old: Reply, ignores_queries: bool = False) -> Found:
    """Return what is found where a cache sends a copy, maybe whatever the query is."""
    mirror.record()
    mirror.cache["/sitemap.xml"] = old
    if ignores_queries:
        mirror.pages["/sitemap.xml"] = old
    return look()


def outdated(found: Found) -> str:
    """Return what is said of an old copy, where nothing else is found."""
    [(kind, text)] = found
    assert kind == kinds.OLD_COPY
    return text.partition(", its newest")[0].removeprefix("is an old copy: ")


def test_an_old_copy_is_told_from_another_version_and_said_how_old(
    mirror: Mirror, settings: Any
) -> None:
    old = mirror.reply("/sitemap.xml")
    Article.objects.filter(pk=Article.objects.latest("pk").pk).delete()
    run_command("build_sitemaps", "--reconcile")
    assert cached(mirror, aged(old, 50)) == [], "a minute must be allowed"
    assert outdated(cached(mirror, aged(old, 200_000))) == "2 days old"
    Page.objects.update(changed_at=time.time() - 7_300, lastmod=1)
    assert outdated(look()) == "outdated for 2 hours, 2 days old"
    lasting = {"CACHE_CONTROL": "max-age=201000"}
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, **lasting}
    assert look() == []


#: A time before all that happens in a test.
LONG_AGO = "Thu, 01 Jan 2026 00:00:00 GMT"


def change(number: int, ago: float) -> None:
    """Let something happen to an article, so many seconds ago."""
    article = Article.objects.order_by("pk")[number]
    article.updated = timezone.now() - timedelta(seconds=ago)
    article.save()
    run_command("build_sitemaps")
    newest = UrlChange.objects.order_by("-pk")[:1].get()
    UrlChange.objects.filter(pk=newest.pk).update(at=time.time() - ago)


@pytest.mark.parametrize(
    ("articles", "age", "hours"),
    [
        pytest.param([(0, 18_000), (1, 60), (2, 1)], None, 5, id="other URLs"),
        pytest.param([(0, 18_000), (0, 60), (0, 1)], 18_100, 5, id="the same URL"),
        pytest.param([(0, 18_000), (0, 60), (0, 1)], None, 5, id="without an age"),
        pytest.param([(0, 18_000), (0, 30), (0, 1)], 40, None, id="a young one"),
    ],
)
@pytest.mark.parametrize("ignores_queries", [False, True])
@pytest.mark.costly
def test_a_copy_is_as_old_as_its_oldest_difference(
    mirror: Mirror,
    articles: list[tuple[int, float]],
    age: int | None,
    hours: int | None,
    ignores_queries: bool,
) -> None:
    """The newest change is always a new one where a site changes once a minute."""
    mirror.spoil(headers={"Last-Modified": LONG_AGO})
    old = mirror.reply("/sitemap.xml")
    for number, ago in articles:
        change(number, ago)
    found = cached(mirror, old if age is None else aged(old, age), ignores_queries)
    assert not hours or f"outdated for {hours} hours" in outdated(found)
    assert bool(found) == bool(hours)


@pytest.mark.parametrize("says_when", [True, False])
@pytest.mark.costly
def test_what_a_copy_has_already_is_no_difference(
    mirror: Mirror, says_when: bool
) -> None:
    """By when it was changed, or by its lastmods: an event is a little later."""
    change(0, 18_000)
    UrlChange.objects.update(at=time.time() - 17_990)
    mirror.record()
    copied = http_date(time.time() - 40) if says_when else None
    mirror.spoil(headers={"Last-Modified": copied})
    old = mirror.reply("/sitemap.xml")
    if says_when:
        # Something that a lastmod does not show.
        UrlChange.objects.update(lastmod="")
    change(0, 30)
    assert cached(mirror, old) == []


def test_a_former_version_that_a_file_has_is_not_a_cache_s(mirror: Mirror) -> None:
    articles(3)
    run_command("build_sitemaps", "--reconcile")
    mirror.record()
    old = mirror.reply("/sitemap.xml")
    Article.objects.filter(pk=Article.objects.latest("pk").pk).delete()
    run_command("build_sitemaps", "--reconcile")
    UrlChange.objects.update(at=time.time() - 18_000)
    mirror.record()
    headers = {"Last-Modified": LONG_AGO, "Content-Encoding": "gzip"}
    headers["Content-Type"] = "application/xml"
    mirror.pages["/sitemap.xml"] = replace(old, headers=headers)
    assert kinds_found() == [kinds.HEADER, kinds.DIFFERENT]
    mirror.spoil(headers={"X-Cache": "HIT"})
    assert kinds_found() == [kinds.HEADER, kinds.OLD_COPY]


def test_a_date_is_over_at_the_end_of_the_day(mirror: Mirror, register: Any) -> None:
    def dated(days: int) -> None:
        lastmod = (datetime.now(UTC).date() - timedelta(days)).isoformat()
        register("article", type("Dated", (PagesSitemap,), {"lastmod": lastmod}))

    dated(9)
    old = recorded("/sitemap.xml")
    dated(0)
    assert cached(mirror, old) == []
    dated(3)
    assert "outdated for 2 days" in outdated(cached(mirror, old))


@pytest.mark.parametrize("ignores_queries", [False, True])
@pytest.mark.costly
def test_a_copy_of_the_index_shows_by_its_lastmods_that_it_is_old(
    mirror: Mirror, indexed: list[str], ignores_queries: bool
) -> None:
    Page.objects.update(lastmod=time.time() - 20_000)
    old = recorded("/sitemap.xml")
    Page.objects.filter(number=1).update(lastmod=time.time() - 18_060)
    Page.objects.filter(number=2).update(lastmod=time.time())
    assert "outdated for 5 hours" in outdated(cached(mirror, old, ignores_queries))


def test_a_copy_of_the_index_is_as_old_as_its_oldest_difference(
    mirror: Mirror, indexed: list[str], settings: Any
) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "VERIFY_AFTER": 600}
    Page.objects.update(lastmod=time.time() - 20_000)
    old = recorded("/sitemap.xml")
    for ago in (18_000, 60, 1):
        change(2, ago)
    assert "outdated for 4 hours" in outdated(cached(mirror, old))
    UrlChange.objects.update(at=time.time() - 1)
    assert look() == []


def test_how_old_a_copy_is_that_nobody_knows_is_not_said_to_be_good(
    mirror: Mirror, register: Any
) -> None:
    """Nothing is known of what a section by position listed before."""
    register("article", PagesSitemap)
    old = recorded("/sitemap.xml")
    register("article", type("One", (PagesSitemap,), {"names": ("home",)}))
    assert cached(mirror, old) == []
    text = f"{mirror.origin}/sitemap.xml comes from a cache and is out of date: lists "
    assert last_crawls()[0].missed.startswith(text)
    assert outdated(cached(mirror, aged(old, 90_000))) == "25 hours old"


def test_what_lists_the_same_is_no_other_sitemap(mirror: Mirror) -> None:
    text = mirror.text("/sitemap.xml")
    Page.objects.update(changed_at=time.time() - 7_300)
    for old, new in (
        ("<urlset", "<!-- sent by a proxy --><urlset"),
        ("<url>", "\r\n  <url>\r\n"),
        ("UTF-8", "utf-8"),
    ):
        assert old in text
        text = text.replace(old, new)
    # Another way to keep the file out of results is as good, too.
    headers = {"X-Robots-Tag": "noindex"}
    mirror.spoil(body=gzip.compress(text.encode()), headers=headers)
    assert look() == []


def test_a_difference_names_the_urls_and_is_an_error_below_four_fifths(
    mirror: Mirror,
) -> None:
    articles(7)
    run_command("build_sitemaps", "--reconcile")
    mirror.record()
    text = mirror.text("/sitemap.xml")
    urls = re.findall("<loc>(.*?)</loc>", text)
    foreign = {"X-Robots-Tag": "noindex, noodp, noarchive", "Last-Modified": None}

    def renamed(number: int) -> Found:
        changed = text
        for url in urls[:number]:
            changed = changed.replace(f"<loc>{url}<", f"<loc>{url}old/<")
        mirror.spoil(body=gzip.compress(changed.encode()), headers=foreign)
        return look()

    said = f"lacks {urls[0]} and lists {urls[0]}old/, which it should not"
    assert renamed(1) == [(kinds.DIFFERENT, said)]
    assert [kind for kind, _ in renamed(2)] == [kinds.DIFFERENT]
    [(kind, said)] = renamed(3)
    assert kind == kinds.NOT_OURS
    assert said.startswith(f"lacks {urls[0]}, {urls[1]} and 1 more and lists")
    changed = text.replace("</url>", "<priority>0.1</priority></url>")
    mirror.spoil(body=gzip.compress(changed.encode()))
    said = f"has other tags for {urls[0]}, {urls[1]} and 8 more"
    assert look() == [(kinds.DIFFERENT, said)]


def test_five_redirects_are_followed_and_no_more(mirror: Mirror) -> None:
    mirror.pages["/last.xml"] = mirror.pages["/sitemap.xml"]
    said = f"redirects to {mirror.origin}/last.xml again and again"
    for redirects, found in ((5, []), (6, [(kinds.MOVED, said)])):
        way = ["/sitemap.xml", *(f"/{n}.xml" for n in range(1, redirects)), "/last.xml"]
        for one, following in pairwise(way):
            mirror.pages[one] = Reply(status=302, headers={"Location": following})
        assert look() == found


def test_an_answer_that_is_too_slow_is_not_said_to_be_cut_off(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n"
    robots = Slow("nothing")
    mirror.faults = [robots, *[Raw(head + b"<urlset>")] * 3]
    assert look() == [(kinds.CUT_OFF, "ends after 8 of 1,000 bytes")]
    monkeypatch.setattr(CheckResult, "TIMEOUT", 0.2)
    mirror.faults = [robots, *[Slow("body")] * 3]
    assert {kind for kind, _ in look()} == {kinds.NO_ANSWER}


def test_both_views_have_the_same_patience(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A slow sitemap is red in both or in none: the last look does not decide."""
    mirror.fault = Slow("request", 0.25)
    for seconds, found in ((0.1, {kinds.NO_ANSWER}), (20.0, set())):
        monkeypatch.setattr(CheckResult, "TIMEOUT", seconds)
        assert {kind for kind, _ in look()} == whole() == found


def test_when_the_time_is_over_the_rest_is_left_and_nothing_is_hidden(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    mirror.spoil(status=500)
    run_command("check_sitemaps", "--live")
    mirror.record()
    monkeypatch.setattr(crawler, "_SHORT_IN_ALL", 0.0)
    assert look() == []
    texts = [one.text for one in alerts([Alert.Subject.CRAWLER])]
    assert any("answer" in text for text in texts), "of --live"
    audit = last_crawls()[0]
    assert audit.fetched_urls == 0
    assert audit.urls == 2, "the index, and the page that it would have named"
    assert audit.missed == "Some files were not read within 0 seconds."
    said, *_ = short()
    assert said.text.startswith("The sitemap was not asked for. Some files were")
    assert not said.is_good, "nobody knows"


def test_a_certificate_that_is_not_valid_and_one_that_expires_soon(
    mirror: Mirror, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    authority = trustme.CA()
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    now = datetime.now(UTC)
    for name, since, until, kind, reason in (
        ("localhost", 60, 30, None, ""),
        ("localhost", 80, 10, kinds.EXPIRES, "the certificate expires in 10 days"),
        ("localhost", 4, 3, None, ""),
        ("localhost", 9, -1, kinds.NO_ANSWER, "expired"),
        ("other.example", 9, 90, kinds.NO_ANSWER, "Hostname mismatch"),
    ):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        authority.issue_cert(
            name,
            not_before=now - timedelta(days=since),
            not_after=now + timedelta(days=until, hours=1),
        ).configure_cert(context)
        with Mirror(tls=context) as secured:
            settings.SITEMAPS_PLUS = {"BASE_URL": f"https://localhost:{secured.port}"}
            secured.record()
            found = look()
        assert {one for one, _ in found} == {*filter(None, [kind])}
        assert reason in str(found)
        assert kind != kinds.EXPIRES or found == [(kind, reason)]


def test_where_nothing_answers_three_requests_are_enough(
    mirror: Mirror, settings: Any
) -> None:
    settings.SITEMAPS_PLUS = {"BASE_URL": f"http://127.0.0.1:{free_port()}"}
    assert kinds_found() == [kinds.NO_ANSWER] * 2
    (audit,) = last_crawls()
    assert audit.missed == "Some files were not read over IPv4: it did not answer."


def test_what_this_machine_cannot_look_at_is_said_and_is_no_fault(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second family has no route, as on a machine without IPv6."""
    connect = http.HTTPConnection.connect

    def routed(connection: Any) -> None:
        if ":" in connection.host:
            raise OSError from OSError(errno.ENETUNREACH, "Network is unreachable")
        connect(connection)

    look_up = socket.getaddrinfo
    monkeypatch.setattr(
        socket,
        "getaddrinfo",
        lambda host, *args, **options: [
            *look_up(host, *args, **options),
            (socket.AF_INET6, socket.SOCK_STREAM, 0, "", ("2001:db8::1", 0)),
        ],
    )
    monkeypatch.setattr(http.HTTPConnection, "connect", routed)
    assert look() == []
    (audit,) = last_crawls()
    text = "Some files were not read over IPv6: this machine has no route to it."
    assert audit.missed == text
    (alert,) = (one for one in alerts([Alert.Subject.CRAWLER]) if text in one.text)
    assert alert.level == Alert.NOTE


def test_who_had_no_time_to_ask_is_not_said_to_have_asked(
    mirror: Mirror, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []

    def send(*given: Any, **options: Any) -> Any:
        asked.append(options["headers"]["User-Agent"])
        return http.send(*given, **options)

    def monotonic() -> float:
        return 100.0 if any("bingbot" in one for one in asked) else 0.0

    clock = SimpleNamespace(time=time.time, sleep=time.sleep, monotonic=monotonic)
    monkeypatch.setattr(crawler, "send", send)
    monkeypatch.setattr(crawl, "time", clock)
    said, *_ = short()
    assert said == CheckResult.good(
        "The sitemap was asked for as Googlebot, bingbot, over IPv4. Some files were "
        "not read within 20 seconds."
    )


# An index


@pytest.fixture
def indexed(
    mirror: Mirror, register: Any, monkeypatch: pytest.MonkeyPatch
) -> list[str]:
    """Have three pages instead of one; returns their addresses."""
    monkeypatch.setattr(index, "MAX_ENTRIES", 2)
    monkeypatch.setattr(documents, "MAX_ENTRIES", 2)
    register("article", type("Small", (ArticleSitemap,), {"limit": 1}))
    run_command("build_sitemaps")
    mirror.record()
    paths = [path for path in mirror.pages if "-article-" in path]
    assert len(paths) == 3
    return paths


def test_live_reads_all_files_of_the_index_by_turns(
    mirror: Mirror, indexed: list[str]
) -> None:
    page = Reply(body=b"<html>Log in", headers={"Content-Type": "text/html"})
    mirror.pages |= {indexed[2]: page, "/articles/article-0/": "Good."}
    findings, code = live()
    assert code == 1
    assert [(one["id"], one["page"], one["text"]) for one in findings] == [
        (kinds.NOT_OURS, "article-3", "is a web page")
    ]
    agents = {one.path: one.headers["user-agent"] for one in mirror.requests}
    for path, name in zip(indexed, ("Googlebot", "bingbot", "Chrome"), strict=True):
        assert name in agents[path]


def test_live_reads_the_file_of_news_too(register: Any, mirror: Mirror) -> None:
    class News(NewsSitemap):
        model = Article
        location = Route("article", slug=F("slug"))
        publication_date = F("updated")
        publication_name = "The Example"

    register("news", News)
    articles(1, slug="new", title="Rain", updated=timezone.now() - timedelta(hours=1))
    run_command("build_sitemaps")
    mirror.record()
    mirror.pages["/sitemap-news.xml"] = Reply(status=500)
    assert [(one["id"], one["url"]) for one in live()[0]] == [
        (kinds.NOT_SERVED, f"{mirror.origin}/sitemap-news.xml")
    ]
    mirror.pages["/sitemap-news.xml"] = recorded("/sitemap-news.xml")
    assert live()[0] == []


def test_the_short_view_reads_the_first_file_only_and_says_how_many_there_are(
    mirror: Mirror, indexed: list[str]
) -> None:
    mirror.pages[indexed[1]] = Reply(status=500)
    assert look() == []
    (audit,) = last_crawls()
    assert (audit.urls, audit.fetched_urls) == (4, 2)
    mirror.pages[indexed[0]] = Reply(status=500)
    assert look() == [(kinds.NOT_SERVED, "answers 500")]


# Commands


@pytest.fixture
def engine(mirror: Mirror, settings: Any) -> None:
    """Give an engine, of which the command looks after what it can read."""
    engines = {"one": {"BACKEND": "tests.support.outbox_engines.Memory"}}
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "ENGINES": engines}


def test_what_check_cannot_reach_is_red_afterwards_too(
    mirror: Mirror, engine: None
) -> None:
    assert look() == []
    mirror.spoil("/robots.txt", status=500)
    out, _, code = run_command("ping_sitemaps", "--check", "--force")
    assert code == 1
    assert f"WRONG  site: {mirror.origin}/robots.txt: answers 500." in out
    found = alerts([Alert.Subject.CRAWLER])
    assert any("robots.txt or sitemaps that do not answer" in one.text for one in found)
    # A copy at a private address is not looked at, so nothing is said of it.
    before = [audit.pk for audit in last_crawls()]
    out, _, code = run_command("ping_sitemaps", "--check")
    assert code == 1
    advice = "Set the site's address (BASE_URL, or the tenant's domain) to the public"
    assert f"{advice} one, or use --force." in out
    assert [audit.pk for audit in last_crawls()] == before


def test_check_is_red_for_an_error_and_not_for_a_warning(
    mirror: Mirror, engine: None
) -> None:
    def check() -> tuple[str, str, int]:
        return run_command("ping_sitemaps", "--check", "--force")

    out, err, code = check()
    assert (err, code) == ("", 0)
    asked = "The sitemap was asked for as Googlebot, bingbot, a browser, over IPv4."
    assert out.endswith(f"ok     site: {asked}\n")
    mirror.spoil(headers={"X-Robots-Tag": "none"})
    out, err, code = check()
    assert (err, code) == ("", 0)
    sitemap = f"site: {mirror.origin}/sitemap.xml"
    assert f"warn   {sitemap}: X-Robots-Tag is none" in out
    mirror.pages["/sitemap.xml"] = Reply(status=404)
    out, _, code = check()
    assert code == 1
    text = "answers 404. Include django_sitemaps_plus.urls at the root"
    assert f"WRONG  {sitemap}: {text}" in out
    # Once it is mended, what was found before is no longer an error.
    mirror.record()
    assert check()[1:] == ("", 0)


# The site's other addresses

BY_HTTP, BARE = "http://www.example.com", "https://example.com"


def page_of(path: str, text: str = "") -> FetchedAnswer:
    name = path.strip("/").replace("/", " ")
    body = f"<!doctype html><title>{name}</title><h1>{name}</h1><p>{text or name}</p>"
    return FetchedAnswer(200, {"content-type": "text/html"}, body.encode())


def asked_of_others(
    settings: Any, base: str, other: Callable[[str], FetchedAnswer]
) -> tuple[list[str], Found, str]:
    """Return which others were asked, what was found, and what was not looked at."""
    settings.SITEMAPS_PLUS = {"BASE_URL": base}
    asked = []

    def ask(url: str, client: crawl.Client) -> FetchedAnswer:
        path = "/" + url.partition("://")[2].partition("/")[2]
        if not url.startswith(f"{base}/"):
            asked.append(url.removesuffix(path))
            return other(path)
        if "no-such-page" in path:
            return FetchedAnswer(404)
        if not path.startswith(("/robots.txt", "/sitemap.xml")):
            return page_of(path)
        reply = recorded(path)
        headers = {name.lower(): value for name, value in reply.headers.items()}
        return FetchedAnswer(reply.status, headers, reply.body)

    audit, findings = crawl.Crawl(address(), ask, ["IPv4"], rate=1000).run()
    return asked, [(one.kind, one.url) for one in findings], audit.missed


@pytest.mark.parametrize(
    ("base", "others"),
    [
        ("https://www.example.com", [BY_HTTP, BARE]),
        ("https://example.com", ["http://example.com", "https://www.example.com"]),
        ("http://www.example.com", ["http://example.com"]),
        ("https://www.example.com:8443", []),
        ("https://93.184.215.14", []),
        ("https://www.shop.internal", []),
    ],
)
@pytest.mark.costly
def test_a_page_that_another_address_sends_too_is_found(
    mirror: Mirror, settings: Any, base: str, others: list[str]
) -> None:
    # Its text may be another each time, as of one with the hour.
    texts = iter(["", "At noon."])
    asked, found, _ = asked_of_others(
        settings, base, lambda path: page_of(path, next(texts))
    )
    assert asked == others
    assert [kind for kind, _ in found] == [kinds.TWICE] * len(others)
    assert all(url.startswith(tuple(others)) for _, url in found)


@pytest.mark.parametrize(
    "answer",
    [
        FetchedAnswer(301, {"location": "https://www.example.com/"}),
        FetchedAnswer(404, {"content-type": "text/html"}, b"<h1>articles 1</h1>"),
        FetchedAnswer(0, failure="www.example.com: no such name"),
        page_of("/parked/"),
    ],
)
@pytest.mark.costly
def test_another_address_that_sends_no_page_of_the_site_is_in_order(
    mirror: Mirror, settings: Any, answer: FetchedAnswer
) -> None:
    given = asked_of_others(settings, "https://www.example.com", lambda path: answer)
    assert given == ([BY_HTTP, BARE], [], "")
