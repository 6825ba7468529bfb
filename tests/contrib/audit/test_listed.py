"""What all pages list together: URLs that repeat, and what robots.txt disallows."""

from __future__ import annotations

from typing import Any

import pytest
from django.http import HttpRequest, HttpResponse
from django.urls import path

from django_sitemaps_plus.contrib.audit.management import auditing
from django_sitemaps_plus.contrib.audit.models import Audit
from tests import urls
from tests.contrib.audit import kinds
from tests.contrib.audit.looked import findings
from tests.support.factories import articles
from tests.support.helpers import PagesSitemap, Titled, run_command
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db

SITE = "https://www.example.com"


@pytest.fixture
def sections(register: Any) -> None:
    """Two sections: one has a URL twice, and one URL of the other."""
    register("article", type("Two", (Titled,), {"limit": 2}))
    register("pages", PagesSitemap)
    for title in ("/a&b/", "/about/", "/cart/", "/a&b/", "/c/", "/c/"):
        articles(1, title=title)
    run_command("build_sitemaps")


def found(*arguments: str) -> set[tuple[str, str, str]]:
    """Return what the audit finds: kind, URL and text."""
    return {(one["id"], one["url"], one["text"]) for one in findings(*arguments)}


def test_urls_that_repeat_are_named_with_their_pages(sections: None) -> None:
    """On one page, on two of a section, and in two sections."""
    assert found() == {
        (kinds.REPEATED, f"{SITE}/a&b/", "listed twice: on article-1 and article-4"),
        (kinds.REPEATED, f"{SITE}/c/", "listed twice: on article-5"),
        (kinds.SHARED, f"{SITE}/about/", "also on pages-1"),
    }
    audit = Audit.objects.get()
    # Of the row on that page, not of the one on the other.
    row = Article.objects.filter(title="/a&b/").earliest("pk").pk
    assert audit.findings.get(url=f"{SITE}/a&b/").row == str(row)
    counts = {kinds.REPEATED: {"article": 2}, kinds.SHARED: {"article": 1}}
    assert audit.counts == counts
    # Only the sections that are named are looked at.
    assert {kind for kind, _, _ in found("article")} == {kinds.REPEATED}


def test_only_the_first_are_shown_and_all_are_counted(
    sections: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auditing, "SHOWN", 1)
    out, err, code = run_command("check_sitemaps", "article")
    assert (err, code) == ("", 0)
    assert out.count(f"  {SITE}") == 1
    assert "and 1 more" in out
    assert "warning A014: URLs that a section lists more than once (2)\n" in out
    assert "\n  Next: exclude repeated rows in items()" in out
    assert max(map(len, out.splitlines())) <= 80


@pytest.mark.parametrize("answers", [True, False])
def test_urls_that_the_own_robots_txt_disallows_are_named(
    sections: None, settings: Any, caplog: Any, answers: bool
) -> None:
    """Also if this project does not answer for its host: the settings say so."""
    settings.ALLOWED_HOSTS = ["*" if answers else "testserver"]

    def urls(*disallow: str) -> list[tuple[str, str]]:
        groups = [{"user_agent": "*", "disallow": disallow}]
        settings.SITEMAPS_PLUS = {"BASE_URL": SITE, "ROBOTS": groups}
        disallowed = [one for one in found() if one[0] == kinds.DISALLOWED]
        return sorted((url, text) for _, url, text in disallowed)

    text = "by the rules for all crawlers"
    paths = ("/a&b/", "/cart/")
    assert urls("/cart/", "/a&") == [(f"{SITE}{path}", text) for path in paths]
    assert urls("/") == [], "closed"
    assert [one for one in caplog.records if one.name.startswith("django.")] == []


def long_robots(request: HttpRequest) -> HttpResponse:
    """A robots.txt of which crawlers read all but the last rule."""
    rules = "User-agent: *\nDisallow: /x/\n" + "#\n" * 256_000 + "Disallow: /cart/\n"
    return HttpResponse(rules, content_type="text/plain")


class Long:
    """The URLs of a project with such a robots.txt."""

    urlpatterns = (path("robots.txt", long_robots), *urls.urlpatterns)


def test_a_robots_txt_that_is_longer_than_crawlers_read_is_named(
    sections: None, settings: Any
) -> None:
    settings.ROOT_URLCONF = Long
    there = [(kind, text) for kind, url, text in found() if "robots.txt" in text + url]
    text = "has more than 512,000 bytes: crawlers ignore the rest"
    assert there == [(kinds.ROBOTS_TOO_LONG, text)], "and what they disallow is not"


def test_a_build_counts_what_repeats_on_its_pages(register: Any) -> None:
    register("article", Titled)
    for title in ("/a/", "/b/", "/a/", "/a/"):
        articles(1, title=title)
    out, _, code = run_command("build_sitemaps")
    line = "  2 entries with the URL of another entry of the same page. Run: manage.py"
    assert (code, line in out) == (0, True)
    assert line not in run_command("build_sitemaps")[0], "nothing was built"
