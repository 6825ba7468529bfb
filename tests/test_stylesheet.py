"""The stylesheet that sitemaps name, for people who open one in a browser."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import urljoin

import pytest
from django.test import Client
from django.utils import translation

from django_sitemaps_plus import views
from django_sitemaps_plus.models import Page
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, PagesSitemap, body, urlset
from tests.testapp.models import Article

PAGE = "/sitemap-article-1.xml"
#: https://www.w3.org/TR/xml-stylesheet/, before the root element and after the
#: declaration.
_LINE = re.compile(
    rb'<\?xml version="1\.0" encoding="UTF-8"\?>\n'
    rb'<\?xml-stylesheet type="text/css" href="([^"]*)"\?>\n<(?:urlset|sitemapindex) '
)
LOCALE = "django.middleware.locale.LocaleMiddleware"


@pytest.fixture
def site(register: Any, db: None) -> list[Article]:
    """A section by key and one by position."""
    register("article", type("Few", (ArticleSitemap,), {"limit": 10}))
    register("pages", PagesSitemap)
    return articles(15)


@pytest.mark.usefixtures("site")
def test_every_sitemap_names_a_stylesheet_that_is_there(client: Client) -> None:
    names = ("", "-article", "-article-1", "-pages", "-pages-1")
    for address in (f"/sitemap{name}.xml" for name in names):
        found = _LINE.match(body(client.get(address)))
        assert found is not None
        style = client.get(urljoin(address, found[1].decode()))
        assert style.status_code == 200
        # Browsers refuse a stylesheet of another type.
        assert style.headers["Content-Type"] == "text/css; charset=utf-8"


def test_merged_sections_name_the_stylesheet_once(
    client: Client, register: Any, db: None
) -> None:
    articles(2)
    register("article", ArticleSitemap)
    register("pages", PagesSitemap)
    document = body(client.get("/sitemap.xml"))
    assert document.count(b"<url>") == 4
    assert _LINE.match(document)
    assert document.count(b"xml-stylesheet") == 1


def test_it_needs_no_template_engine_of_the_project(
    client: Client, settings: Any
) -> None:
    expected = client.get("/sitemap-style").content
    settings.TEMPLATES = []
    assert client.get("/sitemap-style").content == expected


def test_it_is_found_below_a_prefix_too(
    client: Client, site: list[Article], settings: Any
) -> None:
    """The address in the page is relative: it depends on no prefix and no host."""
    base = "https://www.example.com/shop"
    settings.SITEMAPS_PLUS = {"BASE_URL": base}
    found = _LINE.match(body(client.get(PAGE)))
    assert found is not None
    assert urljoin(f"{base}{PAGE}", found[1].decode()) == f"{base}/sitemap-style"


@pytest.mark.urls("tests.test_contrib_views")
def test_contrib_s_views_name_none(client: Client, db: None) -> None:
    """Their bytes are contrib's, and they may stand at any address."""
    for address in ("/sitemap.xml", "/all.xml"):
        response = client.get(address)
        assert response.status_code == 200
        assert b"xml-stylesheet" not in body(response)


def test_switching_it_off_rebuilds_pages_and_is_no_change_of_theirs(
    client: Client, site: list[Article], settings: Any
) -> None:
    styled = client.get(PAGE)
    before = Page.objects.get(section__name="article", number=1)
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "STYLESHEET": False}
    plain = client.get(PAGE)
    assert b"xml-stylesheet" not in body(plain)
    assert b"xml-stylesheet" not in body(client.get("/sitemap.xml"))
    assert urlset(plain) == urlset(styled)
    assert plain.headers["ETag"] != styled.headers["ETag"]
    # Crawlers need not read them again for it.
    after = Page.objects.get(section__name="article", number=1)
    assert after.lastmod == before.lastmod
    # Browsers may still have a page that names it.
    assert client.get("/sitemap-style").status_code == 200


def test_it_is_in_the_visitor_s_language_and_direction(
    client: Client, settings: Any
) -> None:
    settings.MIDDLEWARE = [LOCALE, *settings.MIDDLEWARE]
    settings.LANGUAGES = [("en", "English"), ("he", "Hebrew")]
    english = client.get("/sitemap-style")
    hebrew = client.get("/sitemap-style", headers={"Accept-Language": "he"})
    assert "direction: ltr;\n  display" in english.content.decode()
    assert "direction: rtl;\n  display" in hebrew.content.decode()
    assert "Accept-Language" in hebrew.headers["Vary"]
    assert english.headers["ETag"] != hebrew.headers["ETag"]


def test_a_cache_may_ask_whether_it_still_holds(client: Client) -> None:
    first = client.get("/sitemap-style")
    tag = first.headers["ETag"]
    again = client.get("/sitemap-style", headers={"If-None-Match": tag})
    assert (again.status_code, again.content) == (304, b"")
    assert client.post("/sitemap-style").status_code == 405


@pytest.mark.parametrize("language", ["en", "de", "fr"])
def test_no_translation_breaks_a_text_of_the_stylesheet(rf: Any, language: str) -> None:
    with translation.override(language):
        css = views.style(rf.get("/sitemap-style")).content.decode()
    for declared in re.findall(r"content: (.*?);", css):
        text = r'"[^"\\\n]+"( counter\(entries\))?|attr\(\w+\)'
        assert re.fullmatch(text, declared), declared
    assert css.count("{") == css.count("}")


def test_entries_are_counted_and_no_selector_looks_at_siblings(rf: Any) -> None:
    css = views.style(rf.get("/sitemap-style")).content.decode()
    # In Chromium content-visibility keeps an entry from counting.
    assert "url, sitemap { counter-increment: entries; }" in css
    assert 'content: "URLs: " counter(entries);' in css
    assert "content-visibility:" not in css
    # With siblings, Chromium takes a minute and a half to show 50,000 entries.
    selectors = re.findall(r"^([^@/\n{}]+?) ?[{,]", css, re.MULTILINE)
    assert "urlset" in selectors
    assert not [text for text in selectors if re.search(r"[~+]|:has|:nth|:last", text)]
