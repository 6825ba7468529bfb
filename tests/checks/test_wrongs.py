"""A project with nothing wrong passes in CI, and each wrong fails there by its id."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import pytest
from django.contrib.sites.models import Site
from django.db.models import F, Window
from django.db.models.functions import PercentRank
from django.urls import include, path
from django.utils import timezone

from django_sitemaps_plus import NewsSitemap, Route, Sitemap, StaticSitemap
from django_sitemaps_plus.sitemaps.registry import registry
from tests.checks.conftest import UseUrls
from tests.checks.test_checks import DECLARED, WRONG, far
from tests.conftest import Register
from tests.support.factories import articles
from tests.support.helpers import (
    ArticleSitemap,
    PagesSitemap,
    remove_sites,
    run_command,
    use_backend,
)
from tests.support.outbox_world import BASE
from tests.testapp.models import Article, Note
from tests.testapp.views import anything

pytestmark = pytest.mark.django_db(databases=["default", "other"])

INCLUDE = path("", include("django_sitemaps_plus.urls"))
ENGINE = "django_sitemaps_plus.engines"
BLOG = {"BASE_URL": "https://blog.example.com", "URLCONF": "tests.support.blog_urls"}


@dataclass
class Project:
    """A project with two sections, in which something can be made wrong."""

    settings: Any
    register: Register
    urls: UseUrls


Plant: TypeAlias = Callable[[Project], object]


@pytest.fixture
def project(settings: Any, register: Register, urlconf: UseUrls) -> Iterator[Project]:
    settings.SITEMAPS_PLUS = {"BASE_URL": BASE}
    register("articles", ArticleSitemap)
    register("pages", PagesSitemap)
    yield Project(settings, register, urlconf)
    for site in registry.sites():
        registry.remove("elsewhere", site)


def checked() -> tuple[list[str], int]:
    """Run the checks as CI does: the ids, and the exit code."""
    options = ("--database", "default", "--fail-level", "WARNING")
    out, err, code = run_command("check", "--tag", "sitemaps_plus", *options)
    return re.findall(r"\(sitemaps_plus\.(\w+)\)", out + err), code


# Ways to plant


def given(**values: Any) -> Plant:
    """Set some of ``SITEMAPS_PLUS``."""
    return lambda project: setattr(
        project.settings, "SITEMAPS_PLUS", {"BASE_URL": BASE, **values}
    )


def engine(backend: str, **options: Any) -> Plant:
    entry = {"BACKEND": backend, "OPTIONS": options}
    return given(ENGINES={"one": entry})


def twice(**options: Any) -> Plant:
    """Name two engines of IndexNow, the second with some options more."""
    one = {"BACKEND": f"{ENGINE}.indexnow.IndexNow", "OPTIONS": {"key": KEY}}
    two = {**one, "OPTIONS": {"key": KEY, **options}}
    return given(ENGINES={"one": one, "two": two})


def declared(base: type = ArticleSitemap, **attributes: Any) -> Plant:
    """Register a class with some attributes."""
    return lambda project: project.register("wrong", type("Wrong", (base,), attributes))


def both(*plants: Plant) -> Plant:
    return lambda project: [plant(project) for plant in plants]


def setting(name: str, value: Any) -> Plant:
    return lambda project: setattr(project.settings, name, value)


def urls(*patterns: Any) -> Plant:
    named = [
        path("", anything, name="home"),
        path("about/", anything, name="about"),
        path("articles/<slug:slug>/", anything, name="article"),
    ]
    return lambda project: project.urls(*named, *patterns)


def domain(pk: int, name: str) -> Plant:
    return lambda project: Site.objects.update_or_create(
        pk=pk, defaults={"domain": name}
    )


def named(name: str, cls: type = PagesSitemap) -> Plant:
    return lambda project: project.register(name, cls)


def rows(project: Project) -> None:
    articles(3)


def listed(self: Any) -> list[Any]:
    return list(Article.objects.all())


def random_five(self: Any) -> Any:
    return Article.objects.order_by("?")[:5]


def silence(number: str) -> Plant:
    return setting("SILENCED_SYSTEM_CHECKS", [f"sitemaps_plus.{number}"])


def of_blog(project: Project) -> None:
    registry.add("elsewhere", PagesSitemap, "blog")


def template(project: Project) -> None:
    templates = {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "OPTIONS": {
            "loaders": [
                ("django.template.loaders.locmem.Loader", {"sitemap.xml": "own"})
            ]
        },
    }
    project.settings.TEMPLATES = [templates]


class Demanding(StaticSitemap):
    def __init__(self, shop: str) -> None:
        self.shop = shop


NO_ADDRESS = both(setting("SITEMAPS_PLUS", {}), domain(1, "www.example.com"))
BY_REQUEST = both(NO_ADDRESS, setting("SITE_ID", None))
ALL = {"user_agent": "*", "disallow": ["/cart/"]}
INDEXNOW = f"{ENGINE}.indexnow.IndexNow"
KEY = "0123456789abcdef"

#: What test_checks tries more of.
ONE_OF_EACH = {number: attributes for attributes, number, _, _ in DECLARED}
ONE_OF_EACH |= {number: {name: values[0]} for number, name, values, _, _ in WRONG}

WRONGS: list[tuple[str, Plant]] = [
    # SITEMAPS_PLUS
    *(
        ("E001", given(**values))
        for values in (
            {"BASEURL": BASE},
            {"ON_ERROR": "ignore"},
            {"MAX_BAD": 2},
            {"VERIFY_AFTER": "hour"},
            {"BACKGROUND": "cron"},
            {"EXTRA_SITEMAPS": ["ftp://www.example.com/a.xml"]},
            {"ROBOTS": [{"crawlers": "ai"}]},
            {"SITES": {"blog": {}}},
            {"ENGINES": ["indexnow"]},
        )
    ),
    ("E002", given(BASE_URL="www.example.com")),
    ("E002", given(BASE_URL="https://www.example.com/?a=b")),
    ("E004", given(SITEMAPS="no.where")),
    ("W001", both(NO_ADDRESS, lambda project: remove_sites(project.settings))),
    (
        "W013",
        both(
            given(BASE_URL="http://www.example.com"),
            setting("SECURE_SSL_REDIRECT", value=True),
        ),
    ),
    # Engines, and who notifies them
    ("E030", engine("no.where")),
    ("E030", engine("django.http.HttpResponse")),
    ("E031", engine(INDEXNOW)),
    ("E031", engine(INDEXNOW, key=KEY, keys=KEY)),
    ("E032", engine(f"{ENGINE}.ping.Ping", url="https://www.google.com/ping?sitemap=")),
    ("E034", engine(INDEXNOW, key=KEY, sections=["artikles"])),
    (
        "W033",
        both(
            given(BACKGROUND="tasks"),
            lambda project: use_backend(project.settings, "Dummy"),
        ),
    ),
    ("W034", twice()),
    *(
        ("W034", twice(endpoint=f"https://{host}/indexnow"))
        for host in ("www.bing.com", "yandex.com")
    ),
    # Sites
    ("E040", both(given(SITES={"blogs": BLOG}), of_blog)),
    ("E041", both(NO_ADDRESS, setting("SITE_ID", 7))),
    ("W040", BY_REQUEST),
    ("W041", both(NO_ADDRESS, domain(1, "example.com"))),
    ("W042", domain(2, "www.example.com")),
    ("W043", domain(1, "shop.example.com")),
    # Addresses
    ("W005", urls()),
    ("W006", urls(path("maps/", include("django_sitemaps_plus.urls")))),
    ("W007", template),
    ("W015", urls(path("<path:page>", anything), INCLUDE)),
    ("W016", urls(path("robots.txt", anything), INCLUDE)),
    # Names
    ("E004", both(named("news"), named("news-2"))),
    ("E004", both(named("news"), named("News"))),
    # Classes
    *((number, declared(**attributes)) for number, attributes in ONE_OF_EACH.items()),
    ("E005", declared(Demanding)),
    ("E005", lambda project: project.register("wrong", Note)),
    ("E009", declared(limit=0)),
    ("E013", declared(items=lambda self: Article.objects.filter(alive=True))),
    ("E014", declared(Sitemap, model=Note)),
    ("E015", declared(StaticSitemap, names=["abuot"])),
    ("E015", declared(StaticSitemap, names="home")),
    ("E021", declared(Sitemap)),
    ("E022", declared(priority=Window(PercentRank(), order_by="pk"))),
    ("E023", both(silence("W009"), declared(get_domain=lambda self, site: "a.com"))),
    ("E061", declared(NewsSitemap, model=Article)),
    ("W009", both(rows, declared(Sitemap, items=listed))),
    ("W010", declared(location=Route("word", slug=F("day")))),
    ("W012", declared(last_mod=F("updated"), lastmod=None, changfreq="daily")),
    ("W014", both(rows, declared(i18n=True))),
    ("W023", declared(items=far)),
    ("W025", both(silence("W009"), declared(items=random_five))),
    ("W026", lambda project: declared(lastmod=timezone.now())(project)),
    ("W027", declared(lastmod=F("tags__article__updated"))),
    ("W028", lambda project: setattr(project.settings, "FORCE_SCRIPT_NAME", "/app")),
    ("W029", declared(StaticSitemap, names=["/about/", "/about/#team"])),
    # robots.txt and what else is served
    ("W050", given(ROBOTS=[ALL, {"user_agent": "GPTBot", "allow": "/"}])),
    (
        "W063",
        given(EXTRA_SITEMAPS=[{"url": "https://a.example/a.xml", "index": True}]),
    ),
]
#: Planted by tests of their own, which need another table, process or package.
ELSEWHERE = {
    *("E003", "W002", "W008", "W011", "W020", "W021", "W024"),
    *("E033", "E070", "E071", "E072", "E073", "W022", "W030", "W031", "W064"),
}


def test_nothing_wrong_passes(project: Project) -> None:
    assert checked() == ([], 0)


@pytest.mark.parametrize(("number", "plant"), WRONGS, ids=lambda one: str(one)[:4])
@pytest.mark.costly
def test_each_wrong_fails_by_its_id(
    project: Project, number: str, plant: Plant
) -> None:
    plant(project)
    ids, code = checked()
    assert set(ids) == {number}
    assert code == 1


def test_each_check_has_its_wrong() -> None:
    table = (Path(__file__).parents[2] / "docs" / "checks.md").read_text()
    table, _, _ = table.partition("\n## `contrib.")
    known = set(re.findall(r'^\| <a id="(\w+)">', table, re.MULTILINE))
    assert {number for number, _ in WRONGS} | ELSEWHERE == known
    assert len(WRONGS) >= 40
