"""``NewsSitemap``: the last two days, without anybody's doing."""

from __future__ import annotations

import datetime as dt
import time
from typing import Any

import pytest
from django.core.signals import setting_changed
from django.db import connection
from django.db.models import CharField, F, Value
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_sitemaps_plus import NewsSitemap, Route
from django_sitemaps_plus.checks.sections import check_section
from django_sitemaps_plus.delivery.outbox import sitemap_notices
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.serving.index import index_places
from django_sitemaps_plus.sitemaps.news import day_of, language_of
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import object_path_reason, source, source_of
from django_sitemaps_plus.sitemaps.site import Site
from tests.conftest import Register
from tests.support.helpers import (
    ArticleSitemap,
    body,
    listed,
    locations,
    run_command,
    told,
)
from tests.testapp.models import Article, Category

from .test_sections import evaluated

SITE = "https://www.example.com"


class Daily(NewsSitemap):
    """By the moment of publication."""

    location = Route("article", slug=F("slug"))
    publication_date = F("updated")
    publication_name = "The Example"

    def items(self) -> Any:
        return Article.objects.filter(live=True)


class ByDay(Daily):
    """By the day of publication."""

    publication_date = F("day")


def slugs(response: Any) -> list[str]:
    return [location.rsplit("/", 2)[-2] for location in locations(response)]


def ago(**ages: float) -> dt.datetime:
    return timezone.now() - dt.timedelta(**ages)


def published(slug: str, when: dt.datetime | None, **values: Any) -> Article:
    return Article.objects.create(slug=slug, updated=when, title=f"On {slug}", **values)


@pytest.mark.django_db
def test_articles_of_the_last_two_days_are_listed(page_of: Any) -> None:
    published("new", ago(minutes=1))
    published("yesterday", ago(hours=47))
    published("old", ago(hours=49))
    published("to-come", ago(hours=-1))
    published("undated", None)
    published("draft", ago(hours=1), live=False)
    response = page_of(Daily)
    assert slugs(response) == ["new", "yesterday"]
    page = body(response)
    assert page.count(b"<news:news>") == 2
    assert (
        b"<news:name>The Example</news:name><news:language>en</news:language>"
    ) in page
    assert b"<news:title>On new</news:title>" in page
    paper = Category.objects.create(slug="dagens")
    published("dagens", ago(hours=1), category=paper)
    own = {
        "publication_name": F("category__slug"),
        "publication_language": Value("sv", output_field=CharField()),
    }
    page = body(page_of(Daily, **own))
    assert b"<news:name>dagens</news:name><news:language>sv</news:language>" in page
    assert source("article").is_news


@pytest.mark.django_db
def test_a_date_without_a_time_is_news_today_and_yesterday(page_of: Any) -> None:
    today = day_of(timezone.now())
    for days in (-1, 0, 1, 2):
        day = today - dt.timedelta(days=days)
        Article.objects.create(slug=f"a{days}", title="x", day=day)
    assert slugs(page_of(ByDay)) == ["a0", "a1"]


def test_the_day_is_that_of_the_project_s_time_zone(settings: Any) -> None:
    settings.TIME_ZONE = "Asia/Tokyo"
    late = dt.datetime(2026, 1, 1, 20, tzinfo=dt.UTC)
    with timezone.override("America/New_York"):
        assert day_of(late) == dt.date(2026, 1, 2)


def test_it_is_on_the_row_path_with_a_thousand_to_a_page() -> None:
    assert not object_path_reason(Daily())
    assert source_of("news", Daily()).limit == 1_000


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("cls", "field"), [(Daily, "updated"), (ByDay, "day")])
@pytest.mark.costly
def test_an_article_grows_old_without_a_save(
    client: Client, register: Register, cls: type[NewsSitemap], field: str
) -> None:
    def listed_slugs() -> list[str]:
        return slugs(client.get("/sitemap-news-1.xml"))

    young: Any = ago(hours=1)
    old: Any = ago(days=2, seconds=30)
    since = time.time() - 61
    if field == "day":
        young, old = day_of(ago(days=1)), day_of(ago(days=2))
        since -= 86_400
    first, second = (
        Article.objects.create(slug=slug, title="x", **{field: young}) for slug in "ab"
    )
    register("news", cls)
    assert listed_slugs() == ["a", "b"]
    told()
    Article.objects.filter(pk=first.pk).update(**{field: old})
    assert listed_slugs() == ["a", "b"], "nobody has looked at the clock"
    Section.objects.filter(name="news").update(ticked_at=since)
    with CaptureQueriesContext(connection) as queries:
        assert listed_slugs() == ["b"]
    assert told() == [], "it is still on the site"
    looks = [q["sql"] for q in queries if "testapp_article" in q["sql"]]
    assert not any("INTERVAL" in sql.upper() or "86400" in sql for sql in looks), (
        "the column itself is compared, so that its index is used"
    )
    second.delete()
    assert listed_slugs() == []
    assert told() == []


def test_the_clock_alone_does_not_make_pages_stale(register: Register) -> None:
    register("news", Daily)
    known = definition(source("news"))
    assert known.ticks
    time.sleep(0.001)
    registry.changed()
    setting_changed.send(None, setting="NOTHING", value=None, enter=True)
    assert definition(source("news")) == known


def test_a_language_is_written_as_news_have_it() -> None:
    given = ("en-us", "de", "zh-hans", "zh-Hant-TW", "zh-tw")
    assert [*map(language_of, given)] == ["en", "de", "zh-cn", "zh-tw", "zh-tw"]


def test_the_publication_is_that_of_the_class_or_of_the_settings(settings: Any) -> None:
    class Plain(Daily):
        publication_name = None

    settings.LANGUAGE_CODE = "fr-be"
    assert Plain().news.name is None
    assert Plain().news.language == "fr"
    settings.SITEMAPS_PLUS = {
        **settings.SITEMAPS_PLUS,
        "PUBLICATION_NAME": "The Setting",
        "PUBLICATION_LANGUAGE": "nl",
    }
    assert (Plain().news.name, Plain().news.language) == ("The Setting", "nl")
    assert Daily().news.name == "The Example"


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("declared", "text"),
    [
        ({"publication_date": None}, "publication_date"),
        ({"publication_date": dt.date(2026, 1, 1)}, "publication_date"),
        ({"publication_date": F("when")}, "when"),
        ({"items": lambda self: []}, "items() returns list"),
        (
            {"items": evaluated, "location": lambda self, item: "/"},
            "items() returns an evaluated queryset",
        ),
        ({"publication_name": None}, "publication_name"),
        ({"publication_language": "english"}, "english"),
        ({"title": F("title")}, "title is what people call the section"),
        ({"item_title": lambda self, item: item.title}, "item_title is a method"),
    ],
)
@pytest.mark.costly
def test_what_cannot_be_news_is_a_check_error(
    register: Register, declared: dict[str, Any], text: str
) -> None:
    register("news", type("Wrong", (Daily,), declared))
    (found,) = check_section("news")
    assert found.id == "sitemaps_plus.E061"
    assert text in found.msg


def test_what_is_declared_well_passes_the_checks(register: Register) -> None:
    register("news", Daily)
    assert list(check_section("news")) == []
    own = {"news": lambda self, item: {"title": item.title}, "title": "Our news"}
    register("own", type("Own", (Daily,), own))
    assert list(check_section("own")) == []


@pytest.fixture
def twice(register: Register) -> None:
    """An article that is news, listed in an ordinary section as well."""
    published("old", ago(days=9))
    published("new", ago(hours=1))
    # Registered first: it is not what the article is listed by.
    register("news", Daily)
    register("article", ArticleSitemap)
    run_command("build_sitemaps")


def sitemaps_in_robots(client: Client) -> list[str]:
    lines = client.get("/robots.txt").content.decode().splitlines()
    return [line.split()[-1] for line in lines if line.startswith("Sitemap:")]


@pytest.mark.django_db(transaction=True)
def test_news_are_a_file_of_their_own_that_all_are_told_of(
    client: Client, register: Register, settings: Any, twice: None
) -> None:
    new, old = f"{SITE}/articles/new/", f"{SITE}/articles/old/"
    assert locations(client.get("/sitemap.xml")) == [old, new]
    assert b"news:" not in body(client.get("/sitemap.xml"))
    assert locations(client.get("/sitemap-news.xml")) == [new]
    both = [f"{SITE}/sitemap.xml", f"{SITE}/sitemap-news.xml"]
    assert sitemaps_in_robots(client) == both
    address = Site.current().address()
    assert address is not None
    assert list(index_places(address)) == both
    engines = {"memory": {"BACKEND": "django_sitemaps_plus.engines.memory.Memory"}}
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "ENGINES": engines}
    assert [notice.url for notice in sitemap_notices(address)] == both
    # An index of other sections has no news.
    register("short", type("Short", (ArticleSitemap,), {"limit": 1}))
    run_command("build_sitemaps")
    assert {*listed(client.get("/sitemap.xml"))} == {
        f"{SITE}/sitemap-{page}.xml" for page in ("article-1", "short-1", "short-2")
    }
    assert f"{SITE}/sitemap-news.xml" in sitemaps_in_robots(client)


@pytest.mark.django_db(transaction=True)
def test_a_site_of_news_only_has_them_at_its_own_address(
    client: Client, register: Register
) -> None:
    published("new", ago(hours=1))
    register("news", Daily)
    assert locations(client.get("/sitemap.xml")) == [f"{SITE}/articles/new/"]
    assert sitemaps_in_robots(client) == [f"{SITE}/sitemap.xml"]
    # Several are not joined.
    register("other", type("Other", (Daily,), {}))
    for _ in range(2):
        assert {*listed(client.get("/sitemap.xml"))} == {
            f"{SITE}/sitemap-{name}-1.xml" for name in ("news", "other")
        }


@pytest.mark.django_db
def test_robots_txt_names_the_sitemap_though_a_section_cannot_be_created(
    client: Client, register: Register
) -> None:
    def broken() -> NewsSitemap:
        raise LookupError

    published("new", ago(hours=1))
    register("article", ArticleSitemap)
    register("broken", broken)
    assert sitemaps_in_robots(client) == [f"{SITE}/sitemap.xml"]


# Beside other sections
