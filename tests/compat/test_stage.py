"""Wrongs and ordinary variations, planted behind a real nginx."""

from __future__ import annotations

import time
from itertools import count, cycle
from typing import Any

import pytest
from django.db.models import F

from django_sitemaps_plus.contrib.audit.rules import arrivals
from django_sitemaps_plus.models import Page, UrlChange
from tests.compat.stage import HTML, Answer, Stage
from tests.support.factories import articles
from tests.support.fakes.server import Request
from tests.support.helpers import ArticleSitemap, PagesSitemap
from tests.testapp.models import Article

pytestmark = pytest.mark.nginx


def test_a_site_with_nothing_wrong_is_green_until_something_is(stage: Stage) -> None:
    path = stage.paths[3]
    with stage.served():
        said = stage.look()
        assert (said.codes, said.exit_code) == (set(), 0), said.output
        assert "40 of them fetched" in said.output
    stage.answers[path] = stage.page(path, head="<meta name=robots content=noindex>")
    with stage.served(location="add_header Refresh '1; url=/';"):
        said = stage.look()
        assert b"noindex" in stage.get(path)[2]
    assert (said.codes, said.exit_code) == ({"A101", "A103"}, 1), said.output
    ((url, text),) = said.texts["A103"]
    assert url.endswith(path)
    assert "noindex" in text


# What a cache sends


def of_weight(weight: int) -> type[ArticleSitemap]:
    """Return a section of some of the articles."""

    class Some(ArticleSitemap):
        def items(self) -> Any:
            return Article.objects.filter(weight=weight)

    return Some


CACHE = (
    "proxy_cache old; proxy_cache_valid 200 30d; "
    "proxy_ignore_headers Cache-Control Vary; proxy_hide_header Last-Modified;"
)


def of_another_site(stage: Stage) -> Answer:
    """Return a sitemap of this host that lists none of its URLs."""
    urls = "".join(
        f"<url><loc>{stage.public}/shop/{number}/</loc></url>" for number in range(60)
    )
    body = (
        f'<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">{urls}</urlset>'
    )
    return 200, {"Content-Type": "application/xml"}, body


def test_a_cache_with_the_former_site_s_sitemap_is_no_copy_of_unknown_age(
    stage: Stage,
) -> None:
    stage.answers["/sitemap.xml"] = of_another_site(stage)
    with stage.served(location=CACHE):
        stage.get("/sitemap.xml")
        del stage.answers["/sitemap.xml"]
        said = stage.look()
    assert "A209" in said.codes, said.output
    assert said.exit_code == 1
    assert "60 URLs too many, 40 missing" in str(said.texts["A209"])


def test_another_node_that_answers_each_other_request_is_found(stage: Stage) -> None:
    nodes = cycle([of_another_site(stage), None])
    stage.answers["/sitemap.xml"] = lambda request: next(nodes)
    with stage.served():
        said = stage.look()
    assert "A209" in said.codes, said.output


@pytest.mark.parametrize("ago", [7_200, 1])
def test_an_index_that_lacks_a_section_is_as_old_as_that(
    stage: Stage, register: Any, settings: Any, ago: float
) -> None:
    """First builds write no events."""
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "INDEX": True}
    Article.objects.update(weight=F("pk") % 3)
    register("article", of_weight(0))
    register("second", of_weight(1))
    stage.build()
    Page.objects.update(lastmod=time.time() - 9_000)
    with stage.served(location=CACHE):
        stage.get("/sitemap.xml")
        register("third", of_weight(2))
        stage.build()
        new = Page.objects.filter(section__name="third")
        then = time.time() - ago
        new.update(changed_at=then, unknown_at=then)
        said = stage.look()
    if ago == 1:
        assert said.codes == set(), said.output
    else:
        assert "A210" in said.codes, said.output
        assert "outdated for 2 hours" in str(said.texts["A210"])


def test_a_copy_of_before_what_is_stored_of_changes_is_out_of_date(
    stage: Stage,
) -> None:
    with stage.served(location=CACHE):
        stage.get("/sitemap.xml")
        Article.objects.filter(pk__in=Article.objects.values("pk")[:5]).delete()
        stage.build()
        UrlChange.objects.all().delete()
        said = stage.look()
    assert (said.codes, said.exit_code) == ({"A210"}, 1), said.output


def test_a_young_copy_is_allowed_also_of_what_is_stored_nowhere(
    stage: Stage, register: Any, settings: Any
) -> None:
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "CACHE_CONTROL": "max-age=600"}
    register("pages", PagesSitemap)
    with stage.served(location=CACHE):
        stage.get("/sitemap.xml")
        register("pages", type("One", (PagesSitemap,), {"names": ("home",)}))
        articles(3)
        stage.build()
        said = stage.look()
    assert (said.codes, said.exit_code) == (set(), 0), said.output


# What pages say

WALL = "We value your privacy. Accept all cookies to read on. Request 4be1-99a0-{}"


def everywhere(stage: Stage, body: str, headers: dict[str, str]) -> None:
    """Let all pages answer so; ``{}`` is a number of each request."""
    numbers = count(10)
    for path in stage.paths:
        stage.answers[path] = lambda request: (200, headers, body.format(next(numbers)))


def test_one_text_at_all_urls_is_one_finding(stage: Stage) -> None:
    json = {"Content-Type": "application/json"}
    with stage.served():
        for body, headers in (
            (f"<title>Shop</title><script src=a></script><p>{WALL}", HTML),
            ("<h1>Account Suspended</h1>Contact your hosting provider.", HTML),
            ('{{"detail": "Try again."}}', json),
        ):
            everywhere(stage, body, headers)
            said = stage.look()
            assert (said.codes, said.exit_code) == ({"A114"}, 1), said.output
            assert "40 URLs have the same text" in str(said.texts["A114"])


@pytest.mark.parametrize(
    ("headers", "charset", "code"),
    [
        ({"Content-Type": "text/plain"}, "utf-8", "A116"),
        ({**HTML, "Content-Disposition": "attachment"}, "utf-8", "A116"),
        (HTML, "iso-8859-1", "A117"),
        ({"Content-Type": "text/html; charset=iso-8859-1"}, "utf-8", "A117"),
        ({"Content-Type": "text/html; charset=iso-8859-1"}, "iso-8859-1", ""),
        ({"Content-Type": "text/html"}, "utf-8", ""),
    ],
)
def test_pages_that_browsers_do_not_show_as_they_are(
    stage: Stage, headers: dict[str, str], charset: str, code: str
) -> None:
    _, _, body = stage.page(stage.paths[0], text="Köln und Düsseldorf")
    stage.answers[stage.paths[0]] = 200, headers, body.encode(charset)
    with stage.served():
        said = stage.look()
    assert said.codes == set(filter(None, [code])), said.output


def test_a_sitemap_that_takes_long_and_an_empty_one(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrivals, "_SLOW", 0.4)

    def slow(request: Request) -> None:
        time.sleep(0.6)

    stage.answers["/sitemap.xml"] = slow
    stage.answers["/sitemap.xml.gz"] = 200, {"Content-Type": "application/gzip"}, b""
    stage.answers["/robots.txt"] = 200, {"Content-Type": "text/plain"}, b""
    with stage.served():
        said = stage.look()
    assert said.codes == {"A110", "A209", "A214"}, said.output
    assert "is empty" in str(said.texts["A209"])
    assert "answers after 1 s" in str(said.texts["A110"])


# What crawlers get


@pytest.mark.parametrize(
    ("more", "status", "code"),
    [
        ({"head": "<meta name=robots content=noindex>"}, 200, "A118"),
        ({"head": "<link rel=canonical href=/>"}, 200, "A118"),
        ({"title": "Buy pills"}, 200, "A118"),
        ({"head": "<body></body></html><!--"}, 200, "A118"),
        ({}, 404, "A118"),
        ({}, 403, "A119"),
    ],
)
def test_a_page_that_is_another_for_crawlers(
    stage: Stage, more: dict[str, str], status: int, code: str
) -> None:
    path = stage.paths[0]
    _, headers, body = stage.page(path, **more)

    def other(request: Request) -> Answer | None:
        is_crawler = "Googlebot" in request.headers["user-agent"]
        return (status, headers, body) if is_crawler else None

    stage.answers[path] = other
    with stage.served():
        said = stage.look()
    assert said.codes == {code}, said.output
    assert said.exit_code == (code == "A118")


def test_a_title_that_is_another_each_time_is_no_crawler_s(stage: Stage) -> None:
    numbers = count()
    path = stage.paths[0]
    stage.answers[path] = lambda request: stage.page(path, title=f"No. {next(numbers)}")
    with stage.served():
        assert stage.look().codes == set()


# Robots, and what is found again


def test_a_live_robots_txt_that_closes_a_section_is_an_error(stage: Stage) -> None:
    robots = f"User-agent: *\nDisallow: /articles/\nSitemap: {stage.public}/sitemap.xml"
    stage.answers["/robots.txt"] = 200, {"Content-Type": "text/plain"}, robots
    with stage.served():
        said = stage.look()
    assert (said.codes, said.exit_code) == ({"A018", "A026"}, 1), said.output
