"""The site map for people: ``/sitemap/``, in the project's own template."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from django.core.checks import run_checks
from django.db import connection
from django.db.models import F
from django.db.models.functions import Upper
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import include, path, reverse

from django_sitemaps_plus import Route, Sitemap
from django_sitemaps_plus.publishing import site_map
from tests.support.factories import NoteFactory, articles
from tests.support.helpers import ArticleSitemap, PagesSitemap, crawled
from tests.testapp.models import Article, Note
from tests.testapp.views import anything

pytestmark = pytest.mark.django_db

BASE = "https://www.example.com"
TEMPLATE = (
    "<html lang=en><title>{% block title %}{% endblock %}</title>"
    "<body>Our header{% block content %}{% endblock %}</body></html>"
)
LOCALE = "django.middleware.locale.LocaleMiddleware"
_LINK = re.compile(r'<li><a href="(https://www\.example\.com[^"]*)"[^>]*>([^<]*)</a>')
_NEXT = re.compile(r'<a rel="next" href="([^"]*)"')
_PREVIOUS = re.compile(r'<a rel="prev" href="([^"]*)"')


class Parts(ArticleSitemap):
    """Thirty entries for each page of the sitemap."""

    limit = 30


class Notes(Sitemap):
    """Each note in two languages."""

    model = Note
    location = Route("note", number=F("number"))
    i18n = True
    alternates = True
    x_default = True
    languages = ("en", "de")


@pytest.fixture(autouse=True)
def switched_on(settings: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a template of the project's own, and ten links on a page."""
    engine = settings.TEMPLATES[0]
    loaders = [
        ("django.template.loaders.locmem.Loader", {"base.html": TEMPLATE}),
        "django.template.loaders.app_directories.Loader",
    ]
    options = {**engine["OPTIONS"], "loaders": loaders}
    settings.TEMPLATES = [{**engine, "APP_DIRS": False, "OPTIONS": options}]
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "HTML_SITEMAP": "base.html"}
    monkeypatch.setattr(site_map, "LINKS", 10)


def text_of(client: Client, address: str) -> str:
    response = client.get(address)
    assert response.status_code == 200, address
    return response.content.decode()


def links(text: str) -> list[tuple[str, str]]:
    return [
        (html.unescape(url), html.unescape(text)) for url, text in _LINK.findall(text)
    ]


def followed(client: Client, address: str) -> list[str]:
    """Return the URLs of a section, from page to page by the links to the next."""
    found: list[str] = []
    while address:
        text = text_of(client, address)
        found += [url for url, _ in links(text)]
        following = _NEXT.search(text)
        address = following[1] if following else ""
    return found


def sitemap_urls(client: Client, name: str) -> list[str]:
    """Return what the sitemap of a section lists, of one page or of many."""
    text = client.get(f"/sitemap-{name}.xml").content.decode()
    if "<sitemapindex" not in text:
        return re.findall("<url><loc>([^<]*)", text)
    pages = crawled(client, f"/sitemap-{name}.xml")
    return [entry.loc for page in pages for entry in page]


@pytest.mark.parametrize("built", [False, True])
def test_from_page_to_page_each_url_of_the_sitemap_comes_once(
    client: Client, register: Callable[..., Any], built: bool
) -> None:
    register("article", Parts)
    articles(75)
    expected = sitemap_urls(client, "article") if built else []
    found = followed(client, "/sitemap/article/")
    assert found == (expected or sitemap_urls(client, "article"))
    assert len(found) == 75


def test_it_stands_in_the_site_s_template_and_escapes_what_rows_say(
    client: Client, register: Callable[..., Any]
) -> None:
    class Titled(ArticleSitemap):
        title = "News & views"

        def item_title(self, item: Article) -> str:
            return item.title

    register("article", Titled)
    articles(1)
    Article.objects.update(title="<script>alert(1)</script>")
    for address in ("/sitemap/", "/sitemap/article/"):
        text = text_of(client, address)
        assert "Our header" in text
        assert "News &amp; views" in text
        assert "<script>" not in text
    assert "<title>News &amp; views – Site map</title>" in text


@pytest.mark.parametrize("page_by", ["pk", None])
@pytest.mark.parametrize(
    ("declared", "text"),
    [
        (Upper("title"), "SALT"),
        (lambda self, item: f" About {item.title} ", "About Salt"),
        ("The same for all", "The same for all"),
        (lambda self, item: 1 / 0, "/articles/one/"),
    ],
)
def test_an_item_s_title_may_be_a_method_an_expression_or_a_text(
    client: Client,
    register: Callable[..., Any],
    page_by: str | None,
    declared: Any,
    text: str,
) -> None:
    by_position = {"items": lambda self: Article.objects.order_by("slug")[:5]}
    own = {"item_title": declared, **({} if page_by else by_position)}
    register("article", type("Titled", (ArticleSitemap,), own))
    articles(1, slug="one", title="Salt")
    assert links(text_of(client, "/sitemap/article/")) == [
        (f"{BASE}/articles/one/", text)
    ]


def test_the_first_page_shows_small_sections_and_links_to_large_ones(
    client: Client, register: Callable[..., Any]
) -> None:
    register("article", Parts)
    register("pages", PagesSitemap)
    articles(15)
    for _ in range(2):
        text = text_of(client, "/sitemap/")
        assert links(text) == [(f"{BASE}/", "Home"), (f"{BASE}/about/", "About")]
        assert 'href="/sitemap/article/"' in text
        sitemap_urls(client, "article")
    assert "All 15 pages of “Articles”" in text


def test_sections_by_position_are_paged_too(
    client: Client, register: Callable[..., Any]
) -> None:
    class Listed(Sitemap):
        limit = 25

        def items(self) -> Any:
            return list(Article.objects.order_by("pk"))

    class Sliced(ArticleSitemap):
        def items(self) -> Any:
            return Article.objects.order_by("-pk")[:15]

    class OwnPages(Listed):
        def get_urls(self, *args: Any, **kwargs: Any) -> Any:
            return super().get_urls(*args, **kwargs)

    articles(60)
    for name, sitemap in [("listed", Listed), ("sliced", Sliced), ("own", OwnPages)]:
        register(name, sitemap)
        found = followed(client, f"/sitemap/{name}/")
        assert found == sitemap_urls(client, name)
        assert len(found) == (15 if name == "sliced" else 60)


def test_the_visitor_s_language_comes_first_and_the_others_follow(
    client: Client, register: Callable[..., Any], settings: Any
) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, LOCALE]
    register("note", Notes)
    NoteFactory(number=7)
    accepts = {"Accept-Language": "de"}
    text = client.get("/sitemap/note/", headers=accepts).content.decode()
    first, other = re.findall(r'<a href="(https:[^"]*)" hreflang="(\w+)"', text)
    assert first == (f"{BASE}/de/notes/7/", "de")
    assert other == (f"{BASE}/en/notes/7/", "en")
    assert "x-default" not in text
    assert 'aria-label="English: 7"><span lang="en">English</span></a>' in text
    assert text_of(client, "/sitemap/note/").index("/en/") < text.index("/en/")


def test_bad_rows_are_left_out_as_in_the_sitemap(
    client: Client, register: Callable[..., Any]
) -> None:
    register("article", ArticleSitemap)
    articles(3)
    Article.objects.filter(pk=Article.objects.order_by("pk")[1].pk).update(slug="a b")
    assert followed(client, "/sitemap/article/") == sitemap_urls(client, "article")
    assert len(followed(client, "/sitemap/article/")) == 2


def test_what_a_request_reads_follows_the_page(
    client: Client, register: Callable[..., Any]
) -> None:
    """The same queries at any size, none of which counts a table."""
    register("article", Parts)
    counts = []
    for more in (60, 60):
        articles(more)
        sitemap_urls(client, "article")
        with CaptureQueriesContext(
            connection,
        ) as queries:
            text_of(client, "/sitemap/article/1/2/")
        statements = [query["sql"] for query in queries]
        counts.append(len(statements))
        rows = [text for text in statements if "testapp_article" in text]
        assert rows
        assert not [text for text in rows if "COUNT(" in text]
    assert counts[0] == counts[1] <= 8


@pytest.mark.parametrize(
    "address",
    [
        "/sitemap/nothing/",
        "/sitemap/article/9/1/",
        "/sitemap/article/1/0/",
        "/sitemap/article/1/4/",
        "/sitemap/article/1/99999999999999999999/",
        "/sitemap/pages/2/1/",
    ],
)
def test_a_page_that_is_not_there_is_404(
    client: Client, register: Callable[..., Any], address: str
) -> None:
    register("article", Parts)
    register("pages", PagesSitemap)
    articles(25)
    assert client.get("/sitemap/article/1/3/").status_code == 200
    assert client.get(address).status_code == 404


def test_one_can_go_back(client: Client, register: Callable[..., Any]) -> None:
    register("article", Parts)
    articles(60)
    sitemap_urls(client, "article")
    text = text_of(client, "/sitemap/article/1/2/")
    assert _PREVIOUS.findall(text) == ["/sitemap/article/1/1/"]
    assert '<a aria-current="page" href="/sitemap/article/1/2/">2</a>' in text
    second = text_of(client, "/sitemap/article/2/1/")
    assert _PREVIOUS.findall(second) == ["/sitemap/article/1/1/"]
    assert "Part 2 of" in second


def test_while_it_is_off_the_project_has_the_address(
    client: Client, settings: Any, register: Callable[..., Any]
) -> None:
    settings.ROOT_URLCONF = (
        path("", include("django_sitemaps_plus.urls")),
        path("sitemap/", anything, {"own": True}),
    )
    assert "Our header" in text_of(client, "/sitemap/")
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE}
    assert text_of(client, "/sitemap/") == "[('own', True)]"
    assert reverse("django_sitemaps_plus:site-map") == "/sitemap/"


def test_a_template_that_is_not_there_is_an_error_of_the_check(settings: Any) -> None:
    def found() -> list[str | None]:
        ids = [message.id for message in run_checks(tags=["sitemaps_plus"])]
        return [id_ for id_ in ids if id_ == "sitemaps_plus.E018"]

    assert found() == []
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "HTML_SITEMAP": "bsae.html"}
    assert found() == ["sitemaps_plus.E018"]
