"""Pages with impressions in Search Console that no sitemap lists."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from typing import Any

import pytest

from django_sitemaps_plus.contrib.webmasters import hooks, reports
from django_sitemaps_plus.contrib.webmasters.models import SitemapReport
from django_sitemaps_plus.contrib.webmasters.unlisted import look
from django_sitemaps_plus.models import Page
from tests.contrib.webmasters.inspected import options, store
from tests.support.fakes.faults import Reply, reply
from tests.support.fakes.google import FakeGoogle
from tests.support.fakes.site import FakeSite
from tests.support.helpers import ArticleSitemap, PagesSitemap

pytestmark = pytest.mark.django_db

HTML = {"Content-Type": "text/html; charset=utf-8"}
PAGE = Reply(body=b"<title>A page</title>", headers=HTML)


@pytest.fixture
def web(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeSite]:
    """Give the site as crawlers see it, at a public name."""
    look_up = socket.getaddrinfo

    def local(host: Any, *args: Any, **given: Any) -> Any:
        is_it = host in ("www.example.com", b"www.example.com")
        return look_up("127.0.0.1" if is_it else host, *args, **given)

    monkeypatch.setattr(socket, "getaddrinfo", local)
    with FakeSite() as site:
        yield site


@pytest.fixture
def google(settings: Any, register: Any, web: FakeSite) -> Iterator[FakeGoogle]:
    """Give a Search Console of the site, which lists /articles/1/, / and /about/."""
    register("article", ArticleSitemap)
    register("pages", PagesSitemap)
    base = address(web)
    with FakeGoogle({f"{base}/": "siteFullUser"}) as server:
        engines: Any = options(server, site=f"{base}/")
        settings.SITEMAPS_PLUS = {"BASE_URL": base, "ENGINES": engines}
        store("article", [f"https://www.example.com/articles/{n}/" for n in (1, 2)])
        reports.ask()
        yield server


def address(web: FakeSite) -> str:
    return f"http://www.example.com:{web.origin.rpartition(':')[2]}"


def shown(google: FakeGoogle, web: FakeSite, *paths: str) -> list[str]:
    """Have pages shown that answer, look, and return what needs attention."""
    google.shown = [f"{address(web)}{path}" for path in paths]
    for path in paths:
        web.pages.setdefault(path.partition("#")[0].partition("?")[0], PAGE)
    SitemapReport.objects.update(unlisted_due_at=0)
    look(lambda: False)
    return [alert.sentence for alert in hooks.alerts(None)]


def test_a_route_whose_pages_nobody_lists_is_named_with_the_line_to_type(
    google: FakeGoogle, web: FakeSite, settings: Any
) -> None:
    paths = [f"/numbers/{n}/" for n in range(1, 6)]
    assert shown(google, web, "/articles/1/", *paths) == [
        "Pages of the route number have impressions in Search Console and are in no "
        "sitemap, such as /numbers/1/, /numbers/2/, /numbers/3/. List them, or add to "
        'SILENCED_SYSTEM_CHECKS: "sitemaps_plus.A006.number"'
    ]
    assert list(hooks.alerts(["article"])) == []
    settings.SILENCED_SYSTEM_CHECKS = ["sitemaps_plus.A006.number"]
    assert list(hooks.alerts(None)) == []


def test_what_is_listed_or_no_page_of_django_is_not_named(
    google: FakeGoogle, web: FakeSite
) -> None:
    moved = Reply(status=301, headers={"Location": "/"})
    hidden = Reply(body=b"<meta name='robots' content='NOINDEX'>", headers=HTML)
    web.pages |= {"/numbers/1/": moved, "/numbers/2/": hidden, "/numbers/3/": "text"}
    web.pages["/numbers/4/"] = Reply(status=410)
    gone = [f"/numbers/{n}/" for n in range(1, 5)]
    listed = ["/articles/1/#part", "/articles/2/?page=2", "/", "/about/"]
    assert shown(google, web, "/blog/of/another/program/", *listed, *gone) == []
    assert len(web.requests) == len(gone)


def test_it_is_asked_once_a_day_and_without_an_answer_nothing_changes(
    google: FakeGoogle, web: FakeSite
) -> None:
    assert len(shown(google, web, "/numbers/1/")) == 1
    count = len(google.calls)
    look(lambda: False)
    assert len(google.calls) == count
    for google.fault in (reply(500), reply(200, '{"a": 1}')):
        assert len(shown(google, web)) == 1
    google.fault = None
    assert shown(google, web) == []


def test_nothing_is_said_while_not_all_is_known_or_from_where_nothing_is_sent(
    google: FakeGoogle, web: FakeSite, settings: Any
) -> None:
    Page.objects.update(checksum="")
    assert shown(google, web, "/numbers/1/") == []
    settings.DEBUG = True
    count = len(google.calls)
    assert shown(google, web, "/numbers/1/") == []
    assert len(google.calls) == count
