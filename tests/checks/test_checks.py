"""System checks: each speaks up where it should, and is silent elsewhere."""

from __future__ import annotations

import datetime as dt
import sys
from collections import ChainMap
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from django.apps import apps
from django.apps.registry import Apps
from django.contrib import admin
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.contrib.sites.models import Site
from django.core.checks import CheckMessage, Error, run_checks
from django.core.checks import Warning as CheckWarning
from django.db import connection, connections, models
from django.db.models import F, Max, OuterRef, Q, Subquery, TextField, Value, Window
from django.db.models.functions import Cast, Coalesce, Random, RowNumber
from django.db.models.query_utils import DeferredAttribute
from django.db.models.signals import post_save
from django.urls import include, path
from django.utils import timezone
from django.utils.functional import SimpleLazyObject
from django.utils.translation import get_language

from django_sitemaps_plus import Related, Route, Sitemap, StaticSitemap
from django_sitemaps_plus.changes import receivers
from django_sitemaps_plus.models import EngineState
from tests.checks.conftest import UseUrls
from tests.conftest import Register
from tests.support.factories import articles
from tests.support.helpers import (
    ArticleSitemap,
    PagesSitemap,
    remove_sites,
    run_command,
    urlset,
)
from tests.testapp.models import DB_CASCADE, Article, Category, Note, Sheet, Spot, Tag
from tests.testapp.views import anything

pytestmark = pytest.mark.django_db(databases=["default", "other"])

Found = tuple[str, str, str]
SET_BASE_URL = 'Set SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com"}.'


def found(databases: list[str] | None = None) -> list[Found]:
    """Run this app's checks: number, message and hint of each that speaks up."""
    messages: list[CheckMessage] = run_checks(
        tags=["sitemaps_plus"], databases=databases or []
    )
    numbers = [str(one.id).removeprefix("sitemaps_plus.") for one in messages]
    for number, one in zip(numbers, messages, strict=True):
        assert type(one) is {"E": Error, "W": CheckWarning}[number[0]]
    hints = [
        (one.hint or "").removesuffix(f'See "checks: {number}" in the documentation.')
        for number, one in zip(numbers, messages, strict=True)
    ]
    assert all(hint[-1] in " \n" for hint in hints), "each names its page"
    return [
        (number, one.msg, hint[:-1])
        for number, one, hint in zip(numbers, messages, hints, strict=True)
    ]


def only(number: str, databases: list[str] | None = None) -> tuple[str, str]:
    """Return message and hint of the only check that speaks up."""
    [(found_number, text, hint)] = found(databases)
    assert found_number == number
    return text, hint


def declare(register: Any, **attributes: Any) -> type:
    """Register articles with some attributes."""
    cls = type("Declared", (ArticleSitemap,), attributes)
    register("article", cls)
    return cls


SOUND = {
    "i18n": True,
    "x_default": True,
    "languages": ["de", "en"],
    "items": lambda self: Article.objects.using("default"),
    "location": Route("note", number=F("pk")),
}

# The project


def test_nothing_is_said_of_a_sound_project(
    register: Any, django_assert_num_queries: Any
) -> None:
    register("article", ArticleSitemap)
    register("pages", PagesSitemap)
    declare(lambda name, cls: register("tree", cls), **SOUND)
    articles(2)
    assert found(["default"]) == []
    # No database is asked unless a command names it.
    with django_assert_num_queries(0):
        assert found() == []


def test_the_address_of_the_site_is_needed(settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"BASE_URL": "www.example.com"}
    assert only("E002") == (
        "SITEMAPS_PLUS['BASE_URL'] is 'www.example.com', which does not begin with "
        "'https://' or 'http://'. Write 'https://www.example.com'.",
        SET_BASE_URL,
    )
    out, err, code = run_command("check", "--tag", "sitemaps_plus")
    assert (out, code) == ("", 1)
    assert "sitemaps_plus.E002" in err
    settings.SITEMAPS_PLUS = {}
    assert found() == []
    remove_sites(settings)
    assert only("W001") == (
        "The site's address is not set: links follow the request's Host header, and "
        "build_sitemaps cannot work.",
        SET_BASE_URL,
    )


def test_an_address_that_redirects_is_named(settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT = True
    assert found() == []
    settings.SITEMAPS_PLUS = {"BASE_URL": "http://www.example.com"}
    assert only("W013") == (
        "BASE_URL is 'http://www.example.com', but SECURE_SSL_REDIRECT redirects all "
        "that sitemaps list to https://.",
        'Write "BASE_URL": "https://www.example.com".',
    )
    settings.SECURE_SSL_REDIRECT = False
    assert found() == []


def test_a_site_with_another_domain_than_the_address_is_named() -> None:
    assert found(["default"]) == []
    Site.objects.update(domain="shop.example.com")
    text, hint = only("W043", ["default"])
    assert text == (
        "BASE_URL is 'https://www.example.com', but the domain of the Site 1 is "
        "'shop.example.com': sitemaps use BASE_URL, contrib's views and other apps the "
        "Site."
    )
    assert hint == (
        'Correct BASE_URL, or the Site. Run: manage.py shell -c "from '
        "django.contrib.sites.models import Site; Site.objects.filter(pk=1)"
        ".update(domain='www.example.com')\""
    )
    Site.objects.update(domain="WWW.example.com")
    assert found(["default"]) == []


def test_an_unknown_setting_is_named(settings: Any, register: Any) -> None:
    declare(register, priority=7)
    settings.SITEMAPS_PLUS = {"BASEURL": "https://www.example.com"}
    assert only("E001", ["default"]) == (
        "SITEMAPS_PLUS['BASEURL'] is unknown. Did you mean 'BASE_URL'?",
        "Correct SITEMAPS_PLUS in the settings module.",
    )


# Names


def test_a_name_like_another_sections_page_is_refused(register: Any) -> None:
    register("news", PagesSitemap)
    register("news-2", PagesSitemap)
    assert only("E004") == (
        "/sitemap-news-2.xml could be the section 'news-2' or page 2 of the section "
        "'news'.",
        'Rename one of them, for example @register(name="news2").',
    )


def test_names_that_cannot_be_used_are_refused_once(
    settings: Any, register: Any
) -> None:
    settings.SITEMAPS_PLUS = {"BASE_URL": "https://a.example", "SITEMAPS": "no.where"}
    text, hint = only("E004", ["default"])
    assert text.startswith("SITEMAPS_PLUS['SITEMAPS'] is 'no.where', which cannot be")
    assert hint == (
        "Set SITEMAPS_PLUS['SITEMAPS'] to 'module.name' of a dict of sitemaps."
    )
    settings.SITEMAPS_PLUS = {}
    register("news", PagesSitemap)
    register("News", PagesSitemap)
    text, hint = only("E004")
    assert text.startswith("The sections 'news' and 'News' differ only in case")
    assert hint == 'Names come from @register(name="…"), or are the keys of the dict.'


# Classes that nobody registered


class Forgotten(ArticleSitemap):
    """In the app's ``sitemaps.py``, without a decorator."""


class Base(Sitemap):
    """The base of a class that is registered."""


Derived = type("Derived", (Base,), {"model": Article})


@pytest.fixture
def sitemaps(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Let the test app have a module ``sitemaps``, with a class and a base class."""
    module = ModuleType("tests.testapp.sitemaps")
    for cls in (Forgotten, Base):
        monkeypatch.setattr(cls, "__module__", module.__name__)
        setattr(module, cls.__name__, cls)
    vars(module)["Imported"] = PagesSitemap
    monkeypatch.setitem(sys.modules, module.__name__, module)
    return module


def test_a_class_that_nobody_registered_is_named(
    sitemaps: ModuleType, register: Any
) -> None:
    assert only("W011") == (
        "tests.testapp.sitemaps.Forgotten is not registered, and no URL pattern of "
        "tests.urls hands it to a view: no sitemap lists its items.",
        "Put @register (from django_sitemaps_plus) above the class, or name the dict "
        "that has it in SITEMAPS_PLUS['SITEMAPS']. If another URLconf has it, name "
        "that one in a setting such as BLOG_URLCONF.",
    )
    register("forgotten", Forgotten)
    assert found() == []


def test_a_class_that_is_handed_to_a_view_is_used(
    sitemaps: ModuleType, urlconf: UseUrls
) -> None:
    # Of a mapping that asks the database, maybe, it is not known what it has.
    lazy = ChainMap(SimpleLazyObject(dict))
    ways = (Forgotten, Forgotten(), lambda: Forgotten())
    # Without ours it might be another's URLconf that has the class.
    ours = path("", include("django_sitemaps_plus.urls"))
    for given in (lazy, *({"forgotten": way} for way in ways)):
        view = path("all.xml", anything, {"sitemaps": given})
        urlconf(ours, path("", include([view])))
        assert found() == []
    urlconf(ours, path("all.xml", anything, {"sitemaps": {"it": PagesSitemap}}))
    assert only("W011")


def test_a_class_that_another_urlconf_lists_is_used(
    sitemaps: ModuleType, urlconf: UseUrls, settings: Any
) -> None:
    urlconf(path("sitemap.xml", anything, {"sitemaps": {"forgotten": Forgotten}}))
    given, settings.ROOT_URLCONF = settings.ROOT_URLCONF, "tests.urls"
    settings.BLOG_URLCONF = {"blog": "is something else"}
    assert only("W011")
    settings.BLOG_URLCONF = given
    assert found() == []
    del settings.BLOG_URLCONF
    assert only("W011")
    site = {"BASE_URL": "https://blog.example.com", "URLCONF": given}
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "SITES": {"blog": site}}
    assert "W011" not in [number for number, _, _ in found()]


def test_a_class_may_be_of_a_urlconf_that_a_middleware_chooses(
    sitemaps: ModuleType, monkeypatch: pytest.MonkeyPatch, settings: Any, tmp_path: Path
) -> None:
    """It stands in an app, or beside the project's first one."""
    app = tmp_path / "app"
    app.mkdir()
    monkeypatch.setattr(apps.get_app_config("testapp"), "path", str(app))
    (app / "urls_blog.py").write_text("raise LookupError  # is not imported\n")
    assert only("W011")
    (app / "urls_blog.py").write_text("from .sitemaps import Forgotten\n")
    assert found() == []
    (app / "urls_blog.py").rename(tmp_path / "other_urls.py")
    (tmp_path / "first_urls.py").write_text("urlpatterns = []\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert only("W011")
    settings.ROOT_URLCONF = "first_urls"
    assert found() == []


def test_methods_and_expressions_of_an_evaluated_queryset_are_an_error(
    register: Any,
) -> None:
    """What items() put into its objects would be lost; the others are unharmed."""

    def items(self: Any) -> Any:
        found = Article.objects.all()
        assert not found
        return found

    declare(register, items=items, location=lambda self, item: "/")
    assert found() == []
    assert found(["default"])[0] == (
        "E008",
        "Section 'article' declares ORM expressions, but items() returns an evaluated "
        "queryset.",
        "Let items() return an unevaluated queryset, or use methods only.",
    )
    declare(register, items=items)
    assert [number for number, _, _ in found(["default"])] == ["W009"]


def test_what_a_package_offers_need_not_be_used(sitemaps: ModuleType) -> None:
    sitemaps.__file__ = "/x/site-packages/shop/sitemaps.py"
    assert found() == []


# What classes declare


class Demanding(StaticSitemap):
    def __init__(self, shop: str) -> None:
        self.shop = shop


class Raising(StaticSitemap):
    def __init__(self) -> None:
        raise LookupError("no shop")


@pytest.mark.parametrize(
    ("cls", "problem"),
    [
        (Demanding, "missing 1 required positional argument: 'shop'"),
        (Raising, "cannot be created: LookupError: no shop"),
    ],
)
def test_a_class_that_cannot_be_created_is_named(
    register: Any, cls: type, problem: str
) -> None:
    register("shop", cls)
    text, hint = only("E005", ["default"])
    assert text.startswith("The sitemap of section 'shop' cannot be created: ")
    assert problem in text
    assert hint == "Give it no required arguments, or register an instance."


def far(self: Any) -> Any:
    return Article.objects.using("other")


def by_key(self: Any) -> Any:
    return Article.objects.order_by("pk")


LOCATION = (
    "Set location to a path such as '/about/', to a Route, or to an expression such as "
    "F('path')."
)
NOTHING = "Section 'article' can list nothing: location"
UNRESOLVED = (
    "An expression of section 'article' cannot be resolved: Cannot resolve keyword "
)
FIELDS = "Use the names of the model's fields, for example F('slug')."
DECLARED: list[tuple[dict[str, Any], str, str, str]] = [
    (
        {"page_by": "updated"},
        "E006",
        "page_by = 'updated': the column testapp.Article.updated may repeat",
        "Correct page_by, or remove it to page by pk.",
    ),
    (
        {"protocol": "ftp"},
        "E019",
        "protocol must be 'http' or 'https', not 'ftp'.",
        "Correct it, or remove it to use the site's.",
    ),
    (
        {"location": Route("artikel", slug=F("slug"))},
        "E007",
        "Section 'article' has no URLs: ",
        "Use the name of a URL pattern, with its namespaces and its parameters.",
    ),
    (
        {"location": Route("/p/{slug}/{page}", slug=F("slug"))},
        "E007",
        "Section 'article' has no URLs: Route('/p/{slug}/{page}', slug=F(slug)): the "
        "placeholder {page} has no value. ",
        'Write a path such as "/p/{slug}/", and a value for each placeholder.',
    ),
    (
        {"location": Route("/{language}/p/{slug}", slug=F("slug"))},
        "E007",
        "Section 'article': Route('/{language}/p/{slug}', slug=F(slug)) has a "
        "{language}, but the section has one language only.",
        "Set i18n = True, or write the language itself into the path.",
    ),
    (
        {"lastmod": F("changed")},
        "E008",
        f"{UNRESOLVED}'changed' into field. Choices are: category, category_id, day, "
        "id, ",
        FIELDS,
    ),
    (
        {"items": lambda self: ["a"]},
        "E008",
        "Section 'article' declares ORM expressions, but items() returns list.",
        "Let items() return an unevaluated queryset, or use methods only.",
    ),
    (
        {"location": Route("article", slug=F("slgu"))},
        "E008",
        f"{UNRESOLVED}'slgu' into field.",
        FIELDS,
    ),
    ({"expires": F("updatd")}, "E008", f"{UNRESOLVED}'updatd' into field.", FIELDS),
    (
        {"location": "nowhere"},
        "E016",
        f"{NOTHING} 'nowhere': neither a path nor an http(s) URL.",
        LOCATION,
    ),
    (
        {"location": "https://other.example/"},
        "E016",
        f"{NOTHING} 'https://other.example/': not a URL of https://www.example.com.",
        LOCATION,
    ),
    ({"location": None}, "E016", f"{NOTHING} None: not a text.", LOCATION),
    (
        {"location": "article"},
        "E016",
        f"{NOTHING} 'article': neither a path nor ",
        f"{LOCATION} For the URL pattern of that name, write Route('article', …).",
    ),
    (
        {"location": Route("article", slug="slug")},
        "W017",
        "Section 'article' lists one URL for all items: Route('article', slug='slug') "
        "has no expression.",
        'Name the column, for example slug=F("slug").',
    ),
    (
        {"i18n": True, "languages": "de"},
        "E017",
        "languages is the text 'de', not a list.",
        "Write languages = ['de'].",
    ),
    (
        {"items": Article.objects.all()},
        "E021",
        "Declared.items of section 'article' must be a method, not a QuerySet.",
        "Write def items(self): return …, or set model = Article in its place.",
    ),
    (
        {"i18n": True, "alternates": True, "languages": ["en", "pt_BR"]},
        "E017",
        "'pt_BR' is not a language tag, so that no alternate can name it.",
        "Write 'pt-br', in LANGUAGES too.",
    ),
    (
        {"i18n": True, "alternates": True, "languages": ["en", ""]},
        "E017",
        "'' is not a language tag, so that no alternate can name it.",
        "Use tags such as 'en' and 'pt-br'.",
    ),
    (
        {"alternates": True},
        "W003",
        "alternates and x_default do nothing without i18n.",
        "Set i18n = True.",
    ),
    (
        {"i18n": True, "x_default": True, "languages": ["de", "pt-br"]},
        "W004",
        "x_default does nothing: LANGUAGE_CODE 'en' is not among the sitemap's "
        "languages.",
        "Add 'en' to languages.",
    ),
    (
        {"items": far},
        "W023",
        "Section 'article' reads its rows from the database 'other', but Django writes "
        "them to 'default'.",
        "Remove .using('other') from items(), or silence this check if the objects are "
        "saved with using='other'.",
    ),
]


def test_a_second_alias_of_one_database_is_not_a_replica(
    register: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = connection.settings_dict["NAME"]
    with monkeypatch.context() as patch:
        patch.setitem(connections["other"].settings_dict, "NAME", own)
        declare(register, items=far)
        assert found() == []


@pytest.mark.parametrize(("attributes", "number", "start", "hint"), DECLARED)
def test_what_cannot_work_is_named_with_its_remedy(
    register: Any, attributes: dict[str, Any], number: str, start: str, hint: str
) -> None:
    declare(register, **attributes)
    text, shown = only(number)
    assert text.startswith(start)
    assert "sitemaps_plus_" not in text
    assert shown == hint
    assert {one for one, _, _ in found(["default"])} == {number}


def test_a_get_domain_that_says_another_host_than_the_address_is_an_error(
    register: Any,
) -> None:
    declare(register, get_domain=lambda self, site=None: "a.example")
    text, hint = next(rest for one, *rest in found() if one == "E023")
    assert text == (
        "get_domain() of section 'article' returns 'a.example', but the host of "
        "BASE_URL counts: 'www.example.com'."
    )
    assert hint.startswith("Remove get_domain(), or write 'a.example' in BASE_URL.")


def test_a_class_of_several_sections_is_named_once(register: Any) -> None:
    cls = declare(register, priority=7)
    register("again", cls)
    text, _ = only("W019")
    assert text == "priority = 7 is not a number from 0 to 1, and is left out."


def test_what_cannot_be_shown_is_named_all_the_same(register: Any) -> None:
    declare(register, priority=10**5_000)
    text, _ = only("W019")
    assert text.startswith("priority = <int")
    assert text.endswith("is not a number from 0 to 1, and is left out.")


def test_a_constant_location_before_the_host_is_known(
    register: Any, settings: Any
) -> None:
    """Without ``BASE_URL`` only a request or the database knows the host."""
    settings.SITEMAPS_PLUS = {}
    for location in ("/about/", "https://any.example/about/"):
        declare(register, location=location)
        assert found() == []
    declare(register, location="https://any.example/#about")
    assert only("W029")[1].startswith("Write 'https://any.example/' into location, or")
    declare(register, location="")
    assert only("E016")[0].endswith("location '': empty.")
    declare(register, location="/about/")
    settings.SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com/shop"}
    assert only("E016")[0].endswith("not in /shop/, the folder of the sitemap.")


def test_a_path_outside_of_the_base_url_is_named(register: Any, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com/shop"}
    for inside in ("/shop/{slug}", "/{slug}/a"):
        declare(register, location=Route(inside, slug=F("slug")))
        assert found() == []
    declare(register, location=Route("/p/{slug}", slug=F("slug")))
    assert only("E007") == (
        "Section 'article': Route('/p/{slug}', slug=F(slug)) is not in /shop/, the "
        "path of BASE_URL.",
        "Begin the path with '/shop/': it is that of the whole URL.",
    )
    register("article", type("Pages", (StaticSitemap,), {"names": ["/shop/a", "/b"]}))
    text = "Section 'article' cannot list '/b': it is not in /shop/, the path of"
    assert only("E015")[0].startswith(text)
    settings.SITEMAPS_PLUS = {"BASE_URL": "www.example.com/shop"}
    assert only("E002")


def test_languages_of_which_django_warns_are_named_once(
    register: Any, settings: Any
) -> None:
    settings.LANGUAGES = [("en", "English"), ("pt_BR", "Brazilian Portuguese")]
    declare(register, i18n=True, alternates=True)
    assert found() == []
    assert "translation.E002" in {one.id for one in run_checks(tags=["translation"])}


@pytest.mark.parametrize(
    ("cls", "url"),
    [
        (type("Articles", (ArticleSitemap,), {"i18n": True}), "/articles/first/"),
        (type("Pages", (PagesSitemap,), {"i18n": True}), "/about/"),
        (type("Paths", (PagesSitemap,), {"i18n": True, "names": ["/about"]}), "/about"),
    ],
)
def test_one_url_for_all_languages_is_named(register: Any, cls: type, url: str) -> None:
    register("it", cls)
    articles(1, slug="first")
    assert only("W014", ["default"]) == (
        "Section 'it' lists an item by the same URL in several languages, such as "
        f"{url!r}.",
        "Put its URL pattern into i18n_patterns(), or {language} into the path of its "
        "Route, or remove i18n = True.",
    )


@pytest.mark.parametrize(
    "attributes",
    [
        {"location": Route("note", number=F("pk"))},
        {"languages": ["de"]},
        {"location": lambda self, item: f"/{get_language()}/"},
        {"location": lambda self, item: item.missing},
        {"get_languages_for_item": lambda self, item: ["de"]},
        {"get_urls_for_item": lambda self, item: [{"location": "/"}]},
        {"i18n": False},
    ],
)
@pytest.mark.costly
def test_a_url_for_each_language_is_fine(
    register: Any, attributes: dict[str, Any]
) -> None:
    declare(register, **{"i18n": True, **attributes})
    articles(2)
    assert found(["default"]) == []


# Items without a URL


class Nowhere(Sitemap):
    model = Note


Everywhere = type("Everywhere", (Nowhere,), {"items": lambda self: ["home"]})
SLUGS = {"items": lambda self: Article.objects.values("slug")}
Rows = type("Rows", (Nowhere,), SLUGS)


@pytest.mark.parametrize(
    ("cls", "kind", "hint"),
    [
        (
            Nowhere,
            "Note",
            'Add location = Route("…", pk=F("pk")) to Nowhere, with the name and the '
            "parameters of a URL pattern, or define Note.get_absolute_url().",
        ),
        (Everywhere, "str", "Define location(self, item) in Everywhere."),
        (Rows, "dict", "Define location(self, item) in Rows."),
    ],
)
def test_items_without_a_url_are_named(
    register: Any, cls: type, kind: str, hint: str
) -> None:
    register("nowhere", cls)
    assert found()[0] == (
        "E014",
        f"Section 'nowhere' lists no URL: {cls.__name__} declares no location, and "
        f"{kind} has no get_absolute_url().",
        hint,
    )


@pytest.mark.parametrize(
    "attributes",
    [
        {"location": Route("number", number=F("number"))},
        {"location": lambda self, item: "/"},
        {"get_urls": lambda self, **options: [], "model": None},
        {"items": lambda self: Article.objects.all()},
        {"items": lambda self: []},
    ],
)
def test_items_with_a_url_are_fine(register: Any, attributes: dict[str, Any]) -> None:
    register("somewhere", type("Somewhere", (Nowhere,), attributes))
    assert found() == []


NAMES: list[tuple[Any, str]] = [
    ("abuot", "no URL pattern is named 'abuot'. Did you mean 'about'?"),
    ("no-such:name", "no URL pattern is named 'no-such:name'. Give a path()"),
    (
        ("article", {"slgu": "x"}),
        "Reverse for 'article' with keyword arguments '{'slgu",
    ),
    (("article",), "ValueError: "),
]


@pytest.mark.parametrize(("name", "problem"), NAMES)
@pytest.mark.parametrize("i18n", [False, True])
def test_names_that_cannot_be_reversed_are_named(
    register: Any, name: Any, problem: str, i18n: bool
) -> None:
    attributes = {"names": ["home", name, "about"], "i18n": i18n}
    register("pages", type("WrongPages", (StaticSitemap,), attributes))
    text, hint = only("E015")
    assert text.startswith(f"Section 'pages' cannot list {name!r}: {problem}")
    assert hint.startswith("Use the names of URL patterns, with their namespaces;")


CHANGEFREQ = "Use one of: always, daily, hourly, monthly, never, weekly, yearly."
PRIORITY = "Set priority to a number from 0.0 to 1.0, or remove it."
LASTMOD = (
    "Set lastmod to a date, to a text such as '2026-01-31', or to F('updated'); or "
    "remove it."
)
MOMENT = 'to the date\'s field, for example F("publish_at"), or remove it.'
LIMIT = "a sitemap may have from 1 to 50,000 URLs."
WRONG: list[tuple[str, str, list[Any], str, str]] = [
    ("W018", "changefreq", ["sometimes", "Weekly", 7], "not one of the", CHANGEFREQ),
    ("W019", "priority", [7, -0.1, float("nan"), "high", True], "not a nu", PRIORITY),
    ("E012", "lastmod", ["soon", "2026-02-30", "2026-01"], "not a date", LASTMOD),
    ("E012", "lastmod", ["2026-01-02T03:04", 1_767_225_600], "not a date", LASTMOD),
    ("E020", "appears", ["updated"], "not an expression.", f"Set appears {MOMENT}"),
    ("E020", "expires", [7], "not an expression.", f"Set expires {MOMENT}"),
]


@pytest.mark.parametrize(
    ("number", "name", "value", "problem", "hint"),
    [
        (number, name, value, problem, hint)
        for number, name, values, problem, hint in WRONG
        for value in values
    ],
)
def test_an_impossible_constant_is_named(
    register: Any, number: str, name: str, value: Any, problem: str, hint: str
) -> None:
    declare(register, **{name: value})
    text, shown = only(number)
    assert text.startswith(f"{name} = {value!r} is {problem}")
    assert shown == hint


def test_tags_that_cannot_be_do_not_stop_a_class_of_contrib_s(
    register: Any, client: Any
) -> None:
    attributes = {"changefreq": "Weekly", "priority": 7, "items": by_key}
    register("article", type("Weekly", (ContribSitemap,), attributes))
    articles(1)
    assert [number for number, *_ in found()] == ["W018", "W019"]
    (entry,) = urlset(client.get("/sitemap-article-1.xml"))
    assert (entry.changefreq, entry.priority) == (None, None)


def test_constant_dates_are_fine(register: Any) -> None:
    day = dt.datetime(2026, 1, 2)  # noqa: DTZ001 (of TIME_ZONE, then)
    texts = (None, "", "2026-01-02", "2026-01-02T03:04:05Z")
    for lastmod in (*texts, day, day.date(), day.replace(tzinfo=dt.UTC)):
        declare(register, lastmod=lastmod, appears=F("updated"))
        assert found() == []


@pytest.mark.parametrize("limit", [0, -1, 50_001, "100", None, 1.5])
@pytest.mark.costly
def test_an_impossible_limit_is_refused_on_every_path(
    register: Any, limit: Any
) -> None:
    declare(register, limit=limit)
    register("pages", type("WrongPages", (PagesSitemap,), {"limit": limit}))
    hint = "Set limit to at most 50000, or remove it."
    expected = [("E009", f"limit = {limit!r}: {LIMIT}", hint)] * 2
    assert found() == found(["default"]) == expected


# Items


@pytest.mark.parametrize("databases", [[], ["default"]])
def test_items_that_raise_hide_no_other_section(
    register: Any, databases: list[str]
) -> None:
    declare(register, items=lambda self: Article.objects.filter(alive=True))
    register("wrong", type("Wrong", (ArticleSitemap,), {"priority": 7}))
    first, second = found(databases)
    assert first[0] == "E013"
    assert first[1].startswith(
        "The items of section 'article' cannot be read: FieldError: Cannot resolve"
    )
    assert first[2].startswith("Correct items(); it is called without a request")
    assert second[0] == "W019"


def test_items_are_counted_only_where_the_database_may_be_asked(register: Any) -> None:
    class Lazy:
        def __len__(self) -> int:
            raise LookupError("not loaded")

    register("lazy", type("Counted", (Sitemap,), {"items": lambda self: Lazy()}))
    assert found() == []
    text, _ = only("E013", ["default"])
    assert text.endswith("cannot be read: LookupError: not loaded")


@pytest.mark.django_db(transaction=True)
def test_items_may_ask_a_database_that_is_not_there_yet(register: Any) -> None:
    missing = Article.objects.raw("SELECT * FROM no_such_table")
    declare(register, items=lambda self: list(missing))
    text, hint = only("W002", ["default"])
    assert text.startswith("The items of section 'article' cannot be read: ")
    assert "no_such_table" in text
    assert hint == "Let items() return a queryset without asking the database."


@pytest.mark.parametrize(
    ("items", "reason"),
    [
        (lambda: list(Article.objects.all()), "items() returns list, not a queryset"),
        (lambda: Article.objects.all()[:3], "items() returns a sliced queryset"),
        (lambda: Article.objects.values("slug"), "items() returns values, not model "),
        (
            lambda: Article.objects.all().union(Article.objects.none()),
            "items() returns a queryset combined by union()",
        ),
    ],
)
def test_rows_of_which_search_engines_hear_nothing_are_named(
    register: Any, items: Callable[[], Any], reason: str
) -> None:
    declare(register, items=lambda self: items(), lastmod=None, location="/", limit=2)
    articles(3)
    text, hint = only("W009", ["default"])
    assert text.startswith(f"Section 'article' is paged by position: {reason}")
    assert text.endswith(
        ". Its pages are built for each request, and search engines are not notified "
        "of changes of testapp.Article."
    )
    assert hint == (
        "Let items() return a queryset that is not read, sliced or combined: return "
        "Article.objects.filter(…)."
    )


NTH = Window(RowNumber(), partition_by="category", order_by=F("pk").desc())
NTH_TAG = Window(RowNumber(), order_by=F("pk").desc())


def test_items_by_a_window_function_are_by_position(register: Register) -> None:
    items = Article.objects.annotate(place=NTH)
    declare(register, items=lambda self: items.filter(place=1))
    text, hint = only("W009")
    assert "by position: items() filters by a window function. Its pages" in text
    assert hint == (
        "Filter by a Subquery: newest = Article.objects.filter(…=OuterRef(…)).order_by("
        "…), and .filter(pk=Subquery(newest.values('pk')[:1]))."
    )
    declare(register, items=lambda self: items, changefreq=F("place"))
    text, hint = only("W009")
    assert "by position: items() annotates a window function. Its pages" in text
    assert hint.startswith("Annotate a Subquery in its place, ")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("priority", NTH),
        ("location", Route("article", slug=Cast(NTH, TextField()))),
        ("images", Related("tags", Cast(NTH_TAG, TextField()))),
    ],
)
def test_a_value_that_depends_on_the_other_rows_of_a_page_is_refused(
    register: Register, name: str, value: Any
) -> None:
    declare(register, **{name: value})
    text, hint = only("E022")
    assert text.startswith(f"Section 'article': {name} has a window function, which")
    assert hint.endswith(f"which sees all rows: {name} = Subquery(…).")


@pytest.mark.parametrize(
    ("lastmod", "is_named"),
    [
        (F("tags__article__updated"), True),
        (Coalesce("tags__article__updated", "updated"), True),
        (Max("tags__article__updated"), False),
        (F("category__article__updated"), True),
        (Subquery(Article.objects.filter(pk=OuterRef("pk")).values("updated")), False),
        (F("updated"), False),
    ],
)
def test_an_expression_over_several_rows_is_named_before_there_are_any(
    register: Register, lastmod: Any, is_named: bool
) -> None:
    declare(register, lastmod=lastmod)
    if is_named:
        text, hint = only("W027")
        assert text.startswith("An expression of section 'article' reads the relation ")
        assert hint.startswith("Choose one: Subquery(")
    else:
        assert found() == []


def test_a_relation_that_only_django_has_a_name_for_can_be_typed(
    register: Register,
) -> None:
    class Spots(Sitemap):
        model = Spot
        location = Route("article", slug=F("labels__name"))

    register("spots", Spots)
    [(_, text, hint)] = [one for one in found() if one[0] == "W027"]
    assert "reads the relation 'labels': once" in text
    written = "Choose one: Subquery(Spot.labels.through.objects.filter(spot=OuterRef("
    assert hint.startswith(written)


class Translating(DeferredAttribute):
    """An attribute as packages have it that translate one column into others."""


@pytest.mark.parametrize(
    ("i18n", "kind", "other", "is_named"),
    [
        (True, Translating, "slug_de", True),
        (False, Translating, "slug_de", False),
        (True, DeferredAttribute, "slug_de", False),
        (True, Translating, "slug_of_old", False),
    ],
)
def test_a_column_that_another_package_translates_is_named(
    register: Register,
    monkeypatch: pytest.MonkeyPatch,
    i18n: bool,
    kind: type[DeferredAttribute],
    other: str,
    is_named: bool,
) -> None:
    monkeypatch.setattr(Category, "slug", kind(Category._meta.get_field("slug")))
    monkeypatch.setattr(Category, other, "", raising=False)
    location = Route("note", number=Cast("category__slug", models.IntegerField()))
    declare(register, location=location, i18n=i18n)
    if is_named:
        text, hint = only("W064")
        assert "location reads the column Category.slug, which is the same" in text
        assert text.endswith("the attribute is a Translating.")
        assert hint.startswith("Write a method, def location(self, item)")
    else:
        assert "W064" not in str(found())


def test_a_prefix_that_the_address_lacks_is_named(settings: Any) -> None:
    for prefix, folder in (("/app", ""), ("/app/", "/"), ("/app", "/application/")):
        settings.FORCE_SCRIPT_NAME = prefix
        settings.SITEMAPS_PLUS = {"BASE_URL": f"https://www.example.com{folder}"}
        _, hint = only("W028")
        assert hint == 'Write "BASE_URL": "https://www.example.com/app/".'
    for prefix in ("/app", None):
        settings.FORCE_SCRIPT_NAME = prefix
        settings.SITEMAPS_PLUS = {"BASE_URL": "https://www.example.com/app/"}
        assert found() == []


def test_values_with_a_route_name_no_name_of_ours(register: Register) -> None:
    declare(register, items=lambda self: Article.objects.values("slug"))
    assert [text for number, text, _ in found() if number == "E008"] == [
        "Section 'article' declares ORM expressions, but items() returns values, not "
        "model instances."
    ]


def test_a_class_that_builds_its_own_pages_is_told_what_else_to_override(
    register: Any,
) -> None:
    declare(register, lastmod=None, get_urls=lambda self, **options: [])
    text, hint = only("W009")
    assert "it overrides get_urls" in text
    assert hint.startswith("Register a class that does not override it: get_urls_for")


def test_a_long_list_should_be_paged_by_key(register: Any) -> None:
    class Listed(PagesSitemap):
        limit = 2

    register("pages", Listed)
    assert found(["default"]) == []
    Listed.names = ("home", "about", "/more/")
    assert only("W009", ["default"]) == (
        "Section 'pages' has 2 pages, and is paged by position: items() returns list, "
        "not a queryset. Late pages are slow, and entries move between pages.",
        "Let items() return a plain queryset, or shorten the list.",
    )


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
def test_a_column_that_may_be_null_is_named(
    register: Any, column: F, items: Any
) -> None:
    declare(register, location=Route("word", slug=column), items=lambda self: items)
    name = column.name
    assert (
        "W010",
        f"Section 'article': {name} may be NULL, and the URL of its Route then "
        "contains 'None', as with reverse().",
        f"Exclude it in items(): .exclude({name}=None), or give another value: "
        f"Coalesce('{name}', Value('…')).",
    ) in found()


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
def test_a_column_that_cannot_be_null_is_fine(
    register: Any, column: Any, items: Any
) -> None:
    route = Route("word", slug=column)
    declare(register, location=route, lastmod=None, items=lambda self: items)
    assert found() == []


# Addresses and templates


INCLUDE = 'path("", include("django_sitemaps_plus.urls"))'


def test_the_addresses_must_be_included(register: Any, urlconf: UseUrls) -> None:
    urlconf(path("articles/<slug:slug>/", anything, name="article"))
    assert found() == []
    register("article", ArticleSitemap)
    assert only("W005") == (
        "Sections are registered, but no URLconf includes their addresses.",
        f"Add {INCLUDE} to urlpatterns.",
    )


def test_a_module_of_nearly_the_right_name_is_named(
    register: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(apps.get_app_config("testapp"), "path", str(tmp_path))
    (tmp_path / "sitemap_tools.py").touch()
    assert found() == []
    (tmp_path / "sitemap.py").touch()
    assert only("W022") == (
        "No section is registered, and tests.testapp.sitemap is not looked at: "
        "sitemaps are found in modules called sitemaps.",
        f"Type: mv {tmp_path}/sitemap.py {tmp_path}/sitemaps.py",
    )
    register("article", ArticleSitemap)
    assert found() == []


def test_the_addresses_belong_to_the_root(urlconf: UseUrls) -> None:
    urlconf(path("maps/", include("django_sitemaps_plus.urls")))
    text, hint = only("W006")
    assert text.startswith("The sitemap's address is /maps/sitemap.xml: crawlers look")
    assert hint == (
        f"Include the URLs at the root, outside of i18n_patterns(): {INCLUDE}."
    )


@pytest.mark.parametrize("name", ["sitemap.xml", "sitemap_index.xml"])
def test_a_template_of_the_project_costs_speed(
    settings: Any, tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_text("mine")
    backend = "django.template.backends.django.DjangoTemplates"
    settings.TEMPLATES = [{"BACKEND": backend, "DIRS": [str(tmp_path)]}]
    assert only("W007") == (
        f"The project's template {name!r} renders contrib-style sitemaps fifty times "
        "slower than this package does.",
        "Remove the template, or silence this check.",
    )


# The database


@pytest.mark.django_db(transaction=True, databases=["default", "other"])
def test_missing_tables_are_named_for_their_database_unless_it_is_migrated(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with connection.schema_editor() as editor:
        editor.delete_model(EngineState)
    try:
        messages, elsewhere = found(["default", "other"]), found(["other"])
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["manage.py", "migrate"])
            silent = found(["default"])
    finally:
        with connection.schema_editor() as editor:
            editor.create_model(EngineState)
    hint = "'manage.py migrate' creates them."
    assert silent == []
    text = "The tables of django_sitemaps_plus are missing."
    assert (messages, elsewhere) == ([("W008", text, hint)], [])


# Changes that are not recorded


def test_models_that_were_not_known_at_startup_are_named(register: Any) -> None:
    articles(1)
    exists = lambda self: Article.objects.filter(live=Note.objects.exists())  # noqa: E731 (as users write it)
    declare(register, items=exists)
    assert found() == []
    text, hint = only("W020", ["default"])
    assert "'article'" in text
    assert "items() runs a query" in text
    assert hint == "Let items() return a queryset without asking the database."


class Sheets(Sitemap):
    model = Sheet
    location = "/sheets/"


class Branch(models.Model):
    parent = models.ForeignKey("self", DB_CASCADE, null=True)

    class Meta:
        app_label = "testapp"
        apps = Apps()

    def __str__(self) -> str:
        return str(self.pk)


class Leaf(Branch):
    branch = models.OneToOneField(Branch, DB_CASCADE, parent_link=True)

    class Meta:
        app_label = "testapp"
        apps = Branch._meta.apps


@pytest.mark.parametrize(
    ("attributes", "field"),
    [
        ({}, "Sheet.region"),
        ({"model": Branch}, "Branch.parent"),
        ({"model": Leaf}, "Branch.parent"),
        ({"location": Route("article", slug=F("region__name"))}, None),
        ({"record_deletes": False}, None),
    ],
)
def test_cascades_of_the_database_are_named_unless_the_delete_is_recorded(
    register: Any, attributes: dict[str, Any], field: str | None
) -> None:
    register("sheets", type("Some", (Sheets,), attributes))
    if field is None or not hasattr(models, "DB_CASCADE"):
        assert found() == []
        return
    text, _ = only("W021")
    assert text.startswith(f"testapp.{field} lets the database delete or change rows")
    assert "'sheets'" in text


# Without the database


def test_a_class_that_looks_up_the_current_site_says_nothing(
    register: Any, settings: Any, django_assert_num_queries: Any
) -> None:
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "django.contrib.flatpages"]
    from django.contrib.flatpages.models import FlatPage
    from django.contrib.flatpages.sitemaps import FlatPageSitemap

    # The admin finds it as soon as the app is installed, and keeps it.
    if admin.site.is_registered(FlatPage):
        admin.site.unregister(FlatPage)
    register("flatpages", FlatPageSitemap)
    Site.objects.clear_cache()
    with django_assert_num_queries(0):
        receivers.connect(at_startup=True)
        assert found() == []
    assert receivers.unwatched == {}
    assert post_save.has_listeners(FlatPage)
    assert Site.objects.get_current().domain != "localhost", "the stand-in is gone"


def test_items_that_ask_the_database_are_checked_only_where_it_may_be_asked(
    register: Any,
) -> None:
    attributes = {"items": lambda self: list(Article.objects.all()), "priority": 5}
    register("eager", type("Eager", (Sitemap,), attributes))
    assert found() == []
    assert only("W019", ["default"])[0].startswith("priority = 5")


@pytest.mark.parametrize(
    ("items", "is_random"),
    [
        (Article.objects.order_by("?"), False),
        (Article.objects.order_by("?")[:5], True),
        (Article.objects.order_by(Random())[:5], True),
        (Article.objects.order_by(Random().desc())[:5], True),
        (Article.objects.order_by("slug", "?")[:5], True),
        (Article.objects.order_by("pk")[:5], False),
        (Article.objects.order_by(F("pk").desc())[:5], False),
    ],
)
def test_a_random_order_is_named_where_it_divides_pages(
    register: Register, items: Any, is_random: bool
) -> None:
    declare(register, items=lambda self: items)
    assert ("W025" in [one for one, _, _ in found()]) is is_random


def test_a_random_order_of_the_model_is_named(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Article._meta, "ordering", ["?"])
    declare(register, items=lambda self: Article.objects.all()[:5])
    (number, _, hint), _ = found()
    assert (number, hint) == ("W025", "Order by a field, for example order_by('pk').")


def test_a_lastmod_of_the_start_is_named(register: Register) -> None:
    now, day = timezone.now(), dt.timedelta(days=1)
    for value in (now, dt.datetime.now(), now.replace(tzinfo=None)):  # noqa: DTZ005 (as users write it)
        declare(register, lastmod=value)
        assert only("W026")
    written = dt.datetime(2026, 1, 31, 12, tzinfo=dt.UTC)
    for value in (written, now - day, now + day, now.date()):
        declare(register, lastmod=value)
        assert found() == []


def test_a_database_that_is_not_supported_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "vendor", "oracle")
    [(_, text, hint)] = [one for one in found() if one[0] == "E003"]
    assert text == (
        "The tables of django_sitemaps_plus are in the database 'default', and "
        "databases of the vendor 'oracle' are not supported."
    )
    assert hint.startswith(
        "Have a router choose a SQLite, PostgreSQL, MySQL or MariaDB"
    )
