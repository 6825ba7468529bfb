"""System checks: one test for each id, named by it."""

from __future__ import annotations

import datetime as dt
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.core.checks import CheckMessage, Error, run_checks
from django.core.checks import Warning as CheckWarning
from django.db import connection
from django.db.models import F, Q, Value
from django.db.models.functions import Coalesce
from django.test import Client
from django.urls import include, path

from django_sitemaps_plus import Route, Sitemap, StaticSitemap
from django_sitemaps_plus.models import Page, Section
from tests.support.factories import articles
from tests.support.helpers import (
    ArticleSitemap,
    PagesSitemap,
    locations,
    remove_sites,
    run_command,
)
from tests.testapp.models import Article, Tag
from tests.testapp.views import anything

pytestmark = pytest.mark.django_db

SET_BASE_URL = 'Set SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com"}.'


def found(databases: list[str] | None = None) -> list[tuple[str, str, str]]:
    """Run this app's checks: id, message and hint of each that speaks up."""
    messages: list[CheckMessage] = run_checks(
        tags=["sitemaps_plus"], databases=databases or []
    )
    for message in messages:
        level = (message.id or "")[len("sitemaps_plus.")]
        assert type(message) is {"E": Error, "W": CheckWarning}[level]
    return [
        (
            str(message.id).removeprefix("sitemaps_plus."),
            message.msg,
            message.hint or "",
        )
        for message in messages
    ]


@pytest.fixture
def urlconf(monkeypatch: pytest.MonkeyPatch, settings: Any) -> Callable[..., None]:
    """Use some patterns as the project's URLconf."""

    def use(*patterns: Any) -> None:
        module = ModuleType("tests.urlconf_of_one_check")
        module.urlpatterns = list(patterns)  # type: ignore[attr-defined]
        monkeypatch.setitem(__import__("sys").modules, module.__name__, module)
        settings.ROOT_URLCONF = module.__name__

    return use


def test_nothing_is_said_of_a_sound_project(register: Any) -> None:
    register("article", ArticleSitemap)
    register("pages", PagesSitemap)
    articles(2)
    assert found(databases=["default"]) == []


def test_every_check_belongs_to_the_app(register: Any, settings: Any) -> None:
    """``manage.py check --tag sitemaps_plus`` runs all of them."""
    settings.SITEMAPS_PLUS = {"BASE_URL": "www.example.com"}
    out, err, code = run_command("check", "--tag", "sitemaps_plus")
    assert (out, code) == ("", 1)
    assert "sitemaps_plus.E002" in err


def test_e001(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"BASEURL": "https://www.example.com"}
    assert found() == [
        (
            "E001",
            "SITEMAPS_PLUS['BASEURL'] is not a setting. Did you mean 'BASE_URL'?",
            "Correct SITEMAPS_PLUS in the settings module.",
        )
    ]


def test_e002(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"BASE_URL": "www.example.com"}
    (found_one,) = found()
    identity, message, hint = found_one
    assert identity == "E002"
    assert message.startswith("SITEMAPS_PLUS['BASE_URL'] is 'www.example.com': ")
    assert hint == SET_BASE_URL


def test_e003(settings: Any) -> None:
    settings.STORAGES = {**settings.STORAGES, "sitemaps": {"BACKEND": "no.Storage"}}
    assert found() == [
        (
            "E003",
            "The storage for sitemaps cannot be used: Could not find backend "
            "'no.Storage': No module named 'no'",
            'Correct STORAGES["sitemaps"], or remove it to use a folder of the '
            "temporary directory.",
        )
    ]


def test_e003_a_temporary_folder_of_someone_else(
    settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    settings.STORAGES = {
        name: value for name, value in settings.STORAGES.items() if name != "sitemaps"
    }
    assert found() == []
    (folder,) = tmp_path.iterdir()
    folder.chmod(0o777)
    settings.SECRET_KEY = settings.SECRET_KEY  # forget which folder was chosen
    ((identity, message, _),) = found()
    assert identity == "E003"
    assert message == (
        f"The storage for sitemaps cannot be used: {folder} is not a folder that only "
        "this user can open. Remove it, or set STORAGES['sitemaps'] to a storage of "
        "the project's own."
    )


@pytest.fixture
def no_storage(settings: Any) -> None:
    """A project without STORAGES["sitemaps"]."""
    settings.STORAGES = {
        name: value for name, value in settings.STORAGES.items() if name != "sitemaps"
    }


@contextmanager
def powerless() -> Iterator[None]:
    """Be nobody for a moment: root may write anywhere."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


W011_HINT = 'Set STORAGES["sitemaps"] to a folder that this user can write.'


def test_w011_a_temporary_folder_that_cannot_be_made(
    no_storage: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    ((identity, message, hint),) = found()
    assert (identity, hint) == ("W011", W011_HINT)
    assert message.startswith(
        "Pages cannot be kept, and are made for each request: the temporary folder for "
        f"kept pages cannot be written: [Errno 20] Not a directory: '{tmp_path}/file/"
    )
    assert message.endswith(
        ". Let this user write there, or set STORAGES['sitemaps'] to a storage of the "
        "project's own."
    )


def test_w011_no_temporary_directory_at_all(
    no_storage: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file system that is read-only: Python itself finds no place to write."""
    monkeypatch.setattr("tempfile.tempdir", None)
    monkeypatch.setattr("tempfile._candidate_tempdir_list", lambda: ["/no/such"])
    ((identity, message, _),) = found()
    assert identity == "W011"
    assert "No usable temporary directory found in ['/no/such']" in message


def test_w011_a_temporary_folder_that_cannot_be_written(
    no_storage: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Not pytest's folder, which nobody but its owner may enter.
    with tempfile.TemporaryDirectory() as parent:
        Path(parent).chmod(0o755)
        monkeypatch.setattr("tempfile.tempdir", parent)
        assert found() == []
        (folder,) = Path(parent).iterdir()
        assert list(folder.iterdir()) == [], "trying leaves nothing there"
        folder.chmod(0o500)
        with powerless():
            ((identity, message, hint),) = found()
        folder.chmod(0o700)
    assert (identity, hint) == ("W011", W011_HINT)
    assert f"Permission denied: '{folder}" in message


def test_e004(register: Any) -> None:
    register("news", PagesSitemap)
    register("news-2", PagesSitemap)
    assert found() == [
        (
            "E004",
            "/sitemap-news-2.xml could be the section 'news-2' or page 2 of the "
            "section 'news'.",
            'Rename one of them, for example @register(name="news2").',
        )
    ]


def test_e004_the_dict_of_the_settings(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"BASE_URL": "https://a.example", "SITEMAPS": "no.where"}
    assert found() == [
        (
            "E004",
            "SITEMAPS_PLUS['SITEMAPS'] is 'no.where', which cannot be imported: No "
            "module named 'no'",
            "Rename or remove one of the sections.",
        )
    ]


def test_e004_names_that_look_alike(register: Any) -> None:
    register("news", PagesSitemap)
    register("News", PagesSitemap)
    ((identity, message, hint),) = found(databases=["default"])
    assert identity == "E004"
    assert message.startswith("The sections 'news' and 'News' differ only in case")
    assert hint == "Rename or remove one of the sections."


def test_e005(register: Any) -> None:
    class Demanding(StaticSitemap):
        def __init__(self, shop: str) -> None:
            self.shop = shop

    register("shop", Demanding)
    ((identity, message, hint),) = found(databases=["default"])
    assert identity == "E005"
    assert message.startswith("The sitemap of section 'shop' cannot be made: ")
    assert "missing 1 required positional argument: 'shop'" in message
    assert hint == "Give it no required arguments, or register an instance."


def test_e005_a_class_that_raises(register: Any) -> None:
    class Broken(StaticSitemap):
        def __init__(self) -> None:
            raise LookupError("no shop")

    register("shop", Broken)
    assert found(databases=["default"]) == [
        (
            "E005",
            "The sitemap of section 'shop' cannot be made: LookupError: no shop",
            "Give it no required arguments, or register an instance.",
        )
    ]


@pytest.mark.parametrize(
    ("column", "problem"),
    [
        (
            "updated",
            "the column testapp.Article.updated may repeat or be NULL. Page by a "
            "column that is unique, NOT NULL and never changes, or leave page_by out "
            "to use the primary key.",
        ),
        (
            "number",
            "testapp.Article has no such column. Columns that it can be paged by: id.",
        ),
    ],
)
def test_e006(register: Any, column: str, problem: str) -> None:
    register("article", type("Wrong", (ArticleSitemap,), {"page_by": column}))
    assert found(databases=["default"]) == [
        (
            "E006",
            f"page_by = {column!r}: {problem}",
            "Correct page_by, or remove it to page by pk.",
        )
    ]


def test_e007(register: Any) -> None:
    class Wrong(Sitemap):
        model = Article
        location = Route("artikel", slug=F("slug"))

    register("article", Wrong)
    ((identity, message, hint),) = found()
    assert identity == "E007"
    assert message.startswith("The location of section 'article' cannot be compiled: ")
    assert "article" in message
    assert hint == "Use the name and the parameters of a pattern in the URLconf."


def test_e008(register: Any) -> None:
    register("article", type("Wrong", (ArticleSitemap,), {"lastmod": F("changed")}))
    ((identity, message, hint),) = found()
    assert identity == "E008"
    assert message.startswith(
        "An expression of section 'article' cannot be resolved: Cannot resolve "
        "keyword 'changed' into field."
    )
    assert hint == "Use the names of the model's fields, for example F('slug')."


def test_e008_items_that_are_no_queryset(register: Any) -> None:
    class Listed(Sitemap):
        lastmod = F("updated")

        def items(self) -> Any:
            return list(Article.objects.all())

    register("article", Listed)
    assert found(databases=["default"]) == [
        (
            "E008",
            "Section 'article' declares ORM expressions, but items() returns list.",
            "Let items() return a queryset, or use methods.",
        )
    ]


@pytest.mark.parametrize("limit", [0, -1, 50_001, "100", None, 1.5])
def test_e009(register: Any, limit: Any) -> None:
    register("article", type("Wrong", (ArticleSitemap,), {"limit": limit}))
    register("pages", type("WrongPages", (PagesSitemap,), {"limit": limit}))
    expected = (
        "E009",
        f"limit = {limit!r}: a sitemap may have from 1 to 50,000 URLs.",
        "Set limit to at most 50000, or remove it.",
    )
    assert found() == [expected, expected]
    assert found(databases=["default"]).count(expected) == 2


@pytest.mark.parametrize("changefreq", ["sometimes", "Weekly", 7])
def test_e010(register: Any, changefreq: Any) -> None:
    register("article", type("Wrong", (ArticleSitemap,), {"changefreq": changefreq}))
    assert found() == [
        (
            "E010",
            f"changefreq = {changefreq!r} is none of the protocol's words.",
            "Use one of: always, daily, hourly, monthly, never, weekly, yearly.",
        )
    ]


@pytest.mark.parametrize("priority", [7, -0.1, float("nan"), "high", True])
def test_e011(register: Any, priority: Any) -> None:
    register("article", type("Wrong", (ArticleSitemap,), {"priority": priority}))
    assert found() == [
        (
            "E011",
            f"priority = {priority!r} is no number from 0 to 1.",
            "Set priority to a number from 0.0 to 1.0, or remove it.",
        )
    ]


@pytest.mark.parametrize(
    "lastmod", ["yesterday", "2026-02-30", "2026-01", "2026-01-02T03:04", 1_767_225_600]
)
def test_e012(register: Any, lastmod: Any) -> None:
    register("article", type("Wrong", (ArticleSitemap,), {"lastmod": lastmod}))
    assert found() == [
        (
            "E012",
            f"lastmod = {lastmod!r} is no date.",
            "Set lastmod to a date, to a text such as '2026-01-31', or to "
            "F('updated'); or remove it.",
        )
    ]


@pytest.mark.parametrize(
    "lastmod",
    [
        None,
        "",
        "2026-01-02",
        "2026-01-02T03:04:05Z",
        dt.date(2026, 1, 2),
        dt.datetime(2026, 1, 2),  # noqa: DTZ001 (of TIME_ZONE, then)
        dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
    ],
)
def test_e012_is_silent_about_dates(register: Any, lastmod: Any) -> None:
    register("article", type("Right", (ArticleSitemap,), {"lastmod": lastmod}))
    assert found() == []


E013_HINT = "Correct items(); it is called without a request, and by commands too."


@pytest.mark.parametrize("databases", [[], ["default"]])
@pytest.mark.parametrize(
    ("items", "problem"),
    [
        (
            lambda self: Article.objects.filter(alive=True),
            "FieldError: Cannot resolve keyword 'alive' into field. Choices are: ",
        ),
        (lambda self: self.request.site.items, "AttributeError: 'Broken' object has "),
        (lambda self: [][1], "IndexError: list index out of range"),
    ],
)
def test_e013(register: Any, items: Any, problem: str, databases: list[str]) -> None:
    register("article", type("Broken", (ArticleSitemap,), {"items": items}))
    register("wrong", type("Wrong", (ArticleSitemap,), {"priority": 7}))
    first, second = found(databases=databases)
    assert first[0] == "E013"
    assert first[1].startswith(
        f"The items of section 'article' cannot be looked at: {problem}"
    )
    assert first[2] == E013_HINT
    assert second[0] == "E011", "the other sections are looked at all the same"


def test_e013_items_that_cannot_be_counted(register: Any) -> None:
    class Lazy:
        def __len__(self) -> int:
            raise LookupError("not loaded")

    register("lazy", type("Counted", (Sitemap,), {"items": lambda self: Lazy()}))
    assert found() == [], "nobody counts, unless the database may be asked"
    assert found(databases=["default"]) == [
        (
            "E013",
            "The items of section 'lazy' cannot be looked at: LookupError: not loaded",
            E013_HINT,
        )
    ]


def test_a_check_never_ends_in_a_traceback(register: Any) -> None:
    def items(self: Any) -> Any:
        return Article.objects.filter(alive=True)

    register("article", type("Broken", (ArticleSitemap,), {"items": items}))
    out, err, code = run_command("check", "--database", "default")
    assert (out, code) == ("", 1)
    assert err.count("(sitemaps_plus.E013)") == 1
    assert "Traceback" not in err


def test_w001(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {}
    remove_sites(settings)
    assert found() == [
        (
            "W001",
            "The site's address is not set: links follow the request's Host header, "
            "and build_sitemaps cannot work.",
            SET_BASE_URL,
        )
    ]


def test_w001_is_silent_with_the_sites_framework(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {}
    assert found() == []


@pytest.mark.django_db(transaction=True)
def test_w002(register: Any) -> None:
    class Eager(Sitemap):
        def items(self) -> Any:
            return list(Article.objects.raw("SELECT * FROM no_such_table"))

    register("eager", Eager)
    ((identity, message, hint),) = found(databases=["default"])
    assert identity == "W002"
    assert message.startswith("The items of section 'eager' cannot be looked at: ")
    assert "no_such_table" in message
    assert hint == "Let items() return a queryset without asking the database."


@pytest.mark.parametrize("name", ["alternates", "x_default"])
def test_w003(register: Any, name: str) -> None:
    register("article", type("Wrong", (ArticleSitemap,), {name: True}))
    assert found() == [
        (
            "W003",
            "alternates and x_default do nothing without i18n.",
            "Set i18n = True.",
        )
    ]


def test_w004(register: Any) -> None:
    attributes = {"i18n": True, "x_default": True, "languages": ["de", "pt-br"]}
    register("article", type("Wrong", (ArticleSitemap,), attributes))
    assert found() == [
        (
            "W004",
            "x_default does nothing: LANGUAGE_CODE 'en' is not among the sitemap's "
            "languages.",
            "Add 'en' to languages.",
        )
    ]


def test_w005(register: Any, urlconf: Any) -> None:
    urlconf(path("articles/<slug:slug>/", anything, name="article"))
    assert found() == []
    register("article", ArticleSitemap)
    assert found() == [
        (
            "W005",
            "Sections are registered, but no URLconf includes their addresses.",
            'Add path("", include("django_sitemaps_plus.urls")) to urlpatterns.',
        )
    ]


def test_w006(register: Any, urlconf: Any) -> None:
    urlconf(path("maps/", include("django_sitemaps_plus.urls")))
    assert found() == [
        (
            "W006",
            "The sitemap's address is /maps/sitemap.xml: crawlers look for robots.txt "
            "at the root only, and take a sitemap for pages below its own folder "
            "unless robots.txt names it.",
            'Include the URLs at the root: path("", '
            'include("django_sitemaps_plus.urls")).',
        )
    ]


@pytest.mark.parametrize("name", ["sitemap.xml", "sitemap_index.xml"])
def test_w007(settings: Any, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    settings.TEMPLATES = [
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "DIRS": [str(tmp_path)],
        }
    ]
    assert found() == [
        (
            "W007",
            f"The project's template {name!r} renders contrib-style sitemaps fifty "
            "times slower than this package does.",
            "Remove the template, or silence this check.",
        )
    ]


@pytest.mark.django_db(transaction=True)
def test_w008() -> None:
    with connection.schema_editor() as editor:
        editor.delete_model(Page)
        editor.delete_model(Section)
    try:
        messages = found(databases=["default"])
    finally:
        with connection.schema_editor() as editor:
            editor.create_model(Section)
            editor.create_model(Page)
    assert messages == [
        (
            "W008",
            "The tables of django_sitemaps_plus are missing.",
            "Run: manage.py migrate sitemaps_plus",
        )
    ]


def test_w008_is_for_the_database_that_has_the_tables() -> None:
    assert found(databases=["other"]) == []


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        (lambda: list(Article.objects.all()), "items() returns list, not a queryset"),
        (lambda: Article.objects.all()[:3], "items() returns a sliced queryset"),
        (
            lambda: Article.objects.filter(pk=0).union(Article.objects.all()),
            "items() returns a queryset combined by union()",
        ),
    ],
)
def test_w009(register: Any, items: Callable[[], Any], reason: str) -> None:
    class Positioned(Sitemap):
        limit = 2

    Positioned.items = lambda self: items()  # type: ignore[method-assign]
    register("article", Positioned)
    articles(2)
    assert found(databases=["default"]) == []
    articles(1)
    assert found(databases=["default"]) == [
        (
            "W009",
            "Section 'article' has more than one page, and is paged by position: "
            f"{reason}. Late pages are slow, and entries move between pages.",
            "Let items() return a plain queryset, or shorten the list.",
        )
    ]


def test_checks_ask_no_database_unless_they_are_told_to(
    register: Any, django_assert_num_queries: Any
) -> None:
    register("article", ArticleSitemap)
    with django_assert_num_queries(0):
        assert found() == []


DAY, CATEGORY = F("day"), F("category__slug")


@pytest.mark.parametrize(
    ("column", "items"),
    [
        (DAY, Article.objects.all()),
        (DAY, Article.objects.exclude(day="2026-01-02")),
        (DAY, Article.objects.filter(Q(day__isnull=False) | Q(live=True))),
        (DAY, Article.objects.exclude(day=None, live=True)),
        (DAY, Article.objects.filter(day=None)),
        (DAY, Article.objects.all()[:5]),
        (CATEGORY, Article.objects.all()),
        (CATEGORY, Article.objects.filter(day__isnull=False)),
        (F("tags__name"), Article.objects.all()),
    ],
)
def test_w010(register: Any, column: F, items: Any) -> None:
    attributes = {"location": Route("word", slug=column), "items": lambda self: items}
    register("article", type("Nullable", (ArticleSitemap,), attributes))
    name = column.name  # type: ignore[attr-defined]
    assert found() == [
        (
            "W010",
            f"Section 'article': {name} may be NULL, which is 'None' in the URL of its "
            "Route, as reverse() writes it.",
            f"Exclude it in items(): .exclude({name}=None), or give another value: "
            f"Coalesce('{name}', Value('…')).",
        )
    ]


@pytest.mark.parametrize(
    ("column", "items"),
    [
        (F("slug"), Article.objects.all()),
        (Coalesce("day", Value(dt.date(2026, 1, 2))), Article.objects.all()),
        (DAY, Article.objects.exclude(day=None)),
        (DAY, Article.objects.exclude(Q(day=None) | Q(live=False))),
        (DAY, Article.objects.filter(live=True, day__isnull=False)),
        (DAY, Article.objects.filter(day__gte="2026-01-02")),
        (CATEGORY, Article.objects.filter(category__isnull=False)),
        (CATEGORY, Article.objects.exclude(category=None)),
        (CATEGORY, Article.objects.filter(category__slug__gt="")),
        (F("article__slug"), Tag.objects.all()),
    ],
)
def test_w010_is_silent_about_what_cannot_be_null(
    register: Any, column: Any, items: Any
) -> None:
    attributes = {
        "location": Route("word", slug=column),
        "lastmod": None,
        "items": lambda self: items,
    }
    register("article", type("Known", (ArticleSitemap,), attributes))
    assert found() == []


def test_w010_is_about_what_stands_in_the_page(client: Client, register: Any) -> None:
    route = Route("word", slug=F("day"))
    register("article", type("Nullable", (ArticleSitemap,), {"location": route}))
    articles(1, day=None)
    start = "https://www.example.com/w%C3%B6rter"
    assert locations(client.get("/sitemap.xml")) == [f"{start}/None/"]
    assert [identity for identity, _, _ in found()] == ["W010"]
