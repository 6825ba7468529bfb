"""What all pages list together: URLs that repeat, and URLs that ROBOTS disallows."""

from __future__ import annotations

import json
from typing import Any

import pytest
from django.db.models import F

from django_sitemaps_plus import Sitemap, StaticSitemap
from django_sitemaps_plus.audit import listed
from tests.support.factories import articles
from tests.support.helpers import run_command
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db

SITE = "https://www.example.com"


class Titled(Sitemap):
    model = Article
    location = F("title")
    limit = 2


class Pages(StaticSitemap):
    names = ("home", "about")


@pytest.fixture
def sections(register: Any) -> None:
    """Two sections: one has a URL twice, and one URL of the other."""
    register("article", Titled)
    register("pages", Pages)
    for title in ("/a&b/", "/about/", "/cart/", "/a&b/", "/c/", "/c/"):
        articles(1, title=title)
    run_command("build_sitemaps")


@pytest.mark.parametrize("at_once", [1, 1_000])
def test_urls_that_repeat_are_counted_and_shown(
    sections: None, monkeypatch: pytest.MonkeyPatch, at_once: int
) -> None:
    """On one page, on two of a section, and in two sections; however many files."""
    monkeypatch.setattr(listed, "AT_ONCE", at_once)
    out, err, code = run_command("check_sitemaps")
    assert (err, code) == ("", 0)
    _, _, text = out.partition("3 URLs are listed more than once:\n")
    *lines, advice = text.splitlines()
    assert sorted(lines) == [
        f"  {SITE}/a&b/ (on article-1 and article-4)",
        f"  {SITE}/about/ (on article-2 and pages-1)",
        f"  {SITE}/c/ (on article-5, twice)",
    ]
    assert advice.startswith("  Next: exclude them in items() of all sections but one")


def test_only_the_first_are_shown(
    sections: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listed, "SHOWN", 1)
    out, _, _ = run_command("check_sitemaps")
    assert out.count(f"  {SITE}") == 1
    assert "\n  …\n  Next: " in out


def test_the_sections_that_are_named(sections: None) -> None:
    out, _, _ = run_command("check_sitemaps", "article", "--format", "json")
    assert json.loads(out)["urls"]["repeated"]["count"] == 2


def test_urls_that_the_own_robots_txt_disallows(sections: None, settings: Any) -> None:
    groups = [{"user_agent": "*", "disallow": ["/cart/", "/a&"]}]
    settings.SITEMAPS_PLUS = {"BASE_URL": SITE, "ROBOTS": groups}
    out, _, code = run_command("check_sitemaps")
    _, _, text = out.partition("3 URLs are disallowed by ROBOTS:\n")
    assert (code, text) == (
        0,
        f"  {SITE}/a&b/ (on article-1)\n"
        f"  {SITE}/cart/ (on article-3)\n"
        f"  {SITE}/a&b/ (on article-4)\n"
        "  Next: exclude them in items(), or change SITEMAPS_PLUS['ROBOTS']: what is "
        "listed should be allowed\n",
    )
    groups[0]["disallow"] = ["/"]
    settings.SITEMAPS_PLUS = {"BASE_URL": SITE, "ROBOTS": groups}
    assert "disallowed" not in run_command("check_sitemaps")[0], "a site that is closed"


def test_a_build_counts_what_repeats_on_its_pages(register: Any) -> None:
    register("article", type("Long", (Titled,), {"limit": 50}))
    for title in ("/a/", "/b/", "/a/", "/a/"):
        articles(1, title=title)
    out, _, code = run_command("build_sitemaps")
    line = "  2 entries with the URL of another entry of the same page. Run: manage.py"
    assert (code, line in out) == (0, True)
    assert line not in run_command("build_sitemaps")[0], "nothing was built"
