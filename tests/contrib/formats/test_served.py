"""The addresses of this app answer as those of the core do, whatever happens."""

from __future__ import annotations

import datetime as dt
import gzip
from contextlib import nullcontext
from typing import Any

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.db import transaction
from django.db.models import F
from django.urls import include, path
from django.utils import timezone
from django.utils.translation import gettext_lazy

from django_sitemaps_plus import NewsSitemap
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.storing.segments import converted
from tests.building.test_damaged_rows import DAMAGE, Small
from tests.building.test_not_empty import Broken, Foreign, check_is_unavailable
from tests.conftest import Register
from tests.contrib.formats.test_formats import get, use
from tests.support.factories import articles
from tests.support.helpers import (
    ArticleSitemap,
    body,
    locations,
    remove_sites,
    run_command,
)
from tests.support.outbox_world import BASE
from tests.test_away import RULES, away
from tests.test_headless import answers
from tests.testapp.models import Article
from tests.testapp.views import anything

pytestmark = pytest.mark.django_db

TEXTS = ["/sitemap.txt", "/sitemap-article.txt", "/sitemap-article-1.txt"]
FEEDS = ["/sitemap.atom", "/sitemap.rss", "/sitemap-article.atom"]
RECENT = "/sitemap-recent.xml"
EVERY = [*TEXTS, *FEEDS, RECENT, "/llms.txt"]
LLMS = {"title": "Example"}
Titled = type("Titled", (ArticleSitemap,), {"title": "Articles"})


@pytest.fixture(autouse=True)
def formats(settings: Any, register: Register) -> None:
    """Serve every format of a section of articles, unless a test has another one."""
    register("article", ArticleSitemap)
    use(settings, FORMATS={"text": {}, "feeds": {}, "recent": {}})


# llms.txt


def test_llms_txt_lists_sections_with_a_title_where_it_is_asked_for(
    register: Any, settings: Any
) -> None:
    texts = {"title": gettext_lazy("Yes"), "section_description": "All."}
    register("article", type("Titled", (ArticleSitemap,), texts))
    register("other", ArticleSitemap)
    # The project's own method, of an item.
    own = {"title": lambda self, item: item, "items": lambda self: []}
    register("own", type("Own", (ContribSitemap,), own))
    assert get("/llms.txt").status_code == 404
    use(settings, LLMS={"title": "Example", "description": "News."})
    response = get("/llms.txt", accept_language="de")
    assert response.headers["Content-Type"] == "text/markdown; charset=utf-8"
    assert response.headers["Cache-Control"] == "no-cache"
    assert response.content.decode() == (
        "# Example\n\n> News.\n\n## Sitemaps\n\n"
        f"- [Yes]({BASE}/sitemap-article.xml): All.\n"
    )
    use(settings, LLMS=LLMS, ROBOTS=[{"disallow": "/"}])
    assert get("/llms.txt").status_code == 404
    # Where the project has pages at all other addresses, one of them is served.
    paths = path("", include("django_sitemaps_plus.urls")), path("<path:_>", anything)
    settings.ROOT_URLCONF = type("Project", (), {"urlpatterns": paths})
    use(settings, LLMS={})
    assert get("/llms.txt").status_code == 200


def test_a_news_section_has_a_title_of_its_own(
    register: Register, settings: Any
) -> None:
    """Visitors never read "F(title)"."""
    use(settings, LLMS=LLMS)

    class Daily(NewsSitemap):
        model = Article
        location = ArticleSitemap.location
        publication_name = "The Example Times"
        publication_date = F("updated")
        title = F("title")

    articles(1, title="On new", updated=timezone.now() - dt.timedelta(hours=1))
    register("news", Daily)
    assert "news" not in get("/llms.txt").content.decode()
    register("named", type("Named", (Daily,), {"title": "News of today"}))
    assert "[News of today]" in get("/llms.txt").content.decode()
    assert b"<news:title>On new</news:title>" in body(get("/sitemap-named.xml"))


# Languages, hosts and ports


def test_no_format_varies_by_language(register: Register, settings: Any) -> None:
    """Or a cache stores one file for each value that crawlers send."""
    use(settings, LLMS=LLMS)
    register("article", Titled)
    articles(3)
    settings.MIDDLEWARE = [
        "django.middleware.locale.LocaleMiddleware",
        "django.middleware.gzip.GZipMiddleware",
    ]
    for address in EVERY:
        found = [get(address, accept_language=language) for language in ("de", "en")]
        assert found[0].content == found[1].content
        tag = found[0].headers.get("ETag", "")
        found.append(get(address, if_none_match=tag))
        for answer in found:
            assert answer.status_code in (200, 304)
            assert answer.headers.get("Vary", "") in ("Accept-Encoding", ""), address


def test_a_port_of_its_own_has_its_texts_packed_once(settings: Any) -> None:
    remove_sites(settings)
    use(settings, BASE_URL=None)
    articles(30)
    headers = {"host": "example.org:8443", "accept_encoding": "gzip"}
    get(TEXTS[-1], host="example.org")
    packed = converted.cache_info().misses
    for _ in range(3):
        text = gzip.decompress(get(TEXTS[-1], **headers).content)
        assert text.count(b"http://example.org:8443/articles/") == 30
    assert converted.cache_info().misses == packed + 1
    answer = get(TEXTS[-1], host="example.org:8080")
    assert answer.content.count(b"http://example.org:8080/articles/") == 30


@pytest.mark.parametrize("is_trusted", [False, True])
def test_every_format_answers_alike_whatever_the_front_end_sends(
    register: Register, settings: Any, is_trusted: bool
) -> None:
    use(settings, LLMS=LLMS)
    register("article", Titled)
    articles(2)
    run_command("build_sitemaps")
    settings.ALLOWED_HOSTS = ["api.example.com", "www.example.com"]
    settings.USE_X_FORWARDED_HOST = is_trusted
    expected = answers("www.example.com", EVERY)
    assert {status for status, _, _ in expected.values()} == {200}
    assert answers("api.example.com", EVERY) == expected
    forwarded = answers("api.example.com", EVERY, x_forwarded_host="www.example.com")
    assert forwarded == expected
    assert not any(b"api.example.com" in text for _, text, _ in expected.values())


# What is away, broken or damaged


@pytest.mark.django_db(transaction=True)
def test_robots_txt_lists_the_formats_while_the_database_is_away(settings: Any) -> None:
    listed = {"text": {"robots": True}, "feeds": {"robots": True}}
    use(settings, ROBOTS=[{"disallow": "/cart/"}], FORMATS=listed)
    names = ("sitemap.xml", "sitemap.txt", "sitemap.atom")
    expected = RULES + "".join(f"Sitemap: {BASE}/{name}\n" for name in names)
    for state in (nullcontext(), away()):
        with state:
            answer = get("/robots.txt")
        assert answer.status_code == 200
        assert answer.content.decode() == expected


@pytest.mark.parametrize("cls", [Broken, Foreign])
def test_a_text_is_503_until_there_were_urls_and_then_has_these(
    register: Register, cls: type
) -> None:
    articles(3)
    register("article", cls)
    for _ in range(2):
        check_is_unavailable(*TEXTS)
    for given in (ArticleSitemap, cls):
        register("other", given)
        assert get("/sitemap-other-1.txt").content.count(b"\n") == 3


def test_a_text_without_urls_is_not_served_where_rows_are_bad(
    register: Register,
) -> None:
    register("article", type("Located", (ArticleSitemap,), {"location": F("title")}))
    assert run_command("build_sitemaps")[2] == 0
    for address in TEXTS:
        assert get(address).status_code == 200
    Article.objects.create(slug="first", title="bad")
    for _ in range(2):
        check_is_unavailable(*TEXTS)


@pytest.mark.parametrize("what", DAMAGE)
@pytest.mark.costly
def test_a_damaged_row_counts_as_not_there(register: Register, what: str) -> None:
    register("article", Small)
    articles(15)
    run_command("build_sitemaps")
    DAMAGE[what]()
    article = Article.objects.all()[0]
    article.slug = "renamed"
    article.save()
    for address in (RECENT, *FEEDS):
        assert get(address).status_code == 200, address
    assert Page.objects.exists()


# The first row of an empty section


def urls(address: str) -> list[str]:
    """Return what an address lists, without what is asked of it before."""
    response = get(address)
    if address.endswith(".xml"):
        return locations(response)
    assert response.status_code == 200
    text = response.content.decode()
    if address.endswith(".txt"):
        return text.splitlines()
    return [f"{BASE}/articles/first/"] if f"{BASE}/articles/first/" in text else []


@pytest.mark.parametrize("in_transaction", [True, False])
@pytest.mark.parametrize("address", [*TEXTS, *FEEDS, RECENT])
@pytest.mark.django_db(transaction=True)
@pytest.mark.costly
def test_the_first_row_is_listed_at_once(
    settings: Any, address: str, in_transaction: bool
) -> None:
    use(settings, BACKGROUND=False)
    with transaction.atomic() if in_transaction else nullcontext():
        assert run_command("build_sitemaps")[2] == 0
        assert urls(address) == []
        Article.objects.create(slug="first")
        assert urls(address) == [f"{BASE}/articles/first/"]
    Article.objects.get().delete()
    if address in TEXTS:
        assert urls(address) == []
