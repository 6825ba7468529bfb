"""``manage.py check_sitemaps --compare``: what it finds, and what it says."""

from __future__ import annotations

import datetime as dt
import gzip
import http.server
import json
import threading
import tracemalloc
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, ClassVar

import pytest
from django.conf import settings as django_settings
from django.conf.urls.i18n import i18n_patterns
from django.contrib import sitemaps as contrib
from django.contrib.sitemaps import views as contrib_views
from django.contrib.sites.models import Site
from django.db.models import F
from django.http import HttpRequest, HttpResponse
from django.urls import include, path, reverse
from django.views.decorators.cache import cache_page

from django_sitemaps_plus import Route, Sitemap
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.contrib.audit import entries, saved, sides
from django_sitemaps_plus.contrib.audit.comparison import compare
from django_sitemaps_plus.contrib.audit.entries import Entry
from django_sitemaps_plus.management import utils
from django_sitemaps_plus.protocol.writers import urlset_header
from django_sitemaps_plus.sitemaps.site import SiteAddress
from tests.support.factories import NoteFactory, articles
from tests.support.helpers import ArticleSitemap, PagesSitemap, run_command
from tests.testapp.models import Article, Note
from tests.testapp.views import anything

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]

Register = Callable[..., Any]
Save = Callable[..., str]

SITE = "https://www.example.com"


class Former(contrib.Sitemap):
    """Every article, as contrib has it."""

    def items(self) -> Any:
        return Article.objects.order_by("pk")

    def lastmod(self, item: Article) -> dt.datetime | None:
        return item.updated


class FormerNotes(contrib.Sitemap):
    """Notes, whose addresses begin with the language."""

    limit = 2

    def items(self) -> Any:
        return Note.objects.order_by("pk")

    def location(self, item: Note) -> str:
        return reverse("note", args=[item.number])


class NoteSitemap(Sitemap):
    """Notes in one language only."""

    model = Note
    location = Route("note", number=F("number"))


#: What contrib's views are given.
SITEMAPS: dict[str, Any] = {"article": Former}
NOTES: dict[str, Any] = {"note": FormerNotes}
OURS: dict[str, Any] = {"article": ArticleSitemap, "old": Former}
NOT_A_DICT = [Former]


def own(request: HttpRequest) -> HttpResponse:
    """A view of the project's own, which knows nothing of contrib's."""
    return HttpResponse(sitemap_of("/articles/a/"), content_type="application/xml")


def here(request: HttpRequest) -> HttpResponse:
    raise ZeroDivisionError


section = contrib_views.sitemap
urlpatterns = [
    path("articles/<slug:slug>/", anything, name="article"),
    path("about/", anything, name="about"),
    path("index.xml", contrib_views.index, {"sitemaps": NOTES}, name="index"),
    path(
        "sitemap-<section>.xml",
        cache_page(60)(section),
        {"sitemaps": NOTES},
        name="django.contrib.sitemaps.views.sitemap",
    ),
    path("own.xml", own, name="own"),
    path("ours.xml", contrib_views.sitemap, {"sitemaps": OURS}, name="ours"),
    path("broken.xml", here, name="broken"),
    *i18n_patterns(
        path("notes/<int:number>/", anything, name="note"),
        path("sitemap.xml", section, {"sitemaps": NOTES}, name="sitemap"),
        path("all.xml", section, {"sitemaps": {**SITEMAPS}}, name="all"),
    ),
    path("", include("django_sitemaps_plus.urls")),
]


class Languages:
    """A project whose index is outside of i18n_patterns, and nothing else."""

    urlpatterns = (
        path("sitemap.xml", contrib_views.index, {"sitemaps": NOTES}),
        *i18n_patterns(
            path("notes/<int:number>/", anything, name="note"),
            path("other-<section>.xml", section, {"sitemaps": OURS}, name="section"),
            path("sitemap-<section>.xml", section, {"sitemaps": NOTES}, name="section"),
        ),
        path("", include("django_sitemaps_plus.urls")),
    )


class Templated:
    """A project whose sitemap has a template of its own, by another name."""

    given: ClassVar = {"sitemaps": SITEMAPS, "template_name": "our_sitemap.xml"}
    urlpatterns = (
        path("articles/<slug:slug>/", anything, name="article"),
        path("map.xml", section, given, name="map"),
    )


class Elsewhere:
    """The URLs of another host of the project."""

    urlpatterns = (
        path("other/articles/<slug:slug>/", anything, name="article"),
        path("en/all.xml", section, {"sitemaps": SITEMAPS}, name="all"),
    )


def by_host(get_response: Any) -> Any:
    """Serve all of it by another urlconf, as django-hosts does."""

    def middleware(request: Any) -> Any:
        request.urlconf = Elsewhere
        return get_response(request)

    return middleware


def sitemap_of(*paths: str, more: str = "") -> str:
    """Return a sitemap that lists some paths."""
    urls = "".join(f"<url><loc>{SITE}{path}</loc>{more}</url>" for path in paths)
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    xhtml = "http://www.w3.org/1999/xhtml"
    return f'<urlset xmlns="{space}" xmlns:xhtml="{xhtml}">{urls}</urlset>'


def index_of(*urls: str) -> str:
    """Return an index of some sitemaps."""
    listed = "".join(f"<sitemap><loc>{url}</loc></sitemap>" for url in urls)
    space = "http://www.sitemaps.org/schemas/sitemap/0.9"
    return f'<sitemapindex xmlns="{space}">{listed}</sitemapindex>'


def here_as(name: str) -> str:
    """Return the dotted path of something in this module."""
    return f"{__name__}.{name}"


def check(former: str, *more: str) -> tuple[str, str, int]:
    """Compare with a former sitemap."""
    return run_command("check_sitemaps", *more, "--compare", former)


def differences(former: str, *more: str) -> tuple[dict[str, Any], int]:
    """Return what differs, by kind, and the exit code."""
    out, _, code = check(former, "--format", "json", *more)
    return dict(json.loads(out)["differences"]), code


@pytest.fixture(autouse=True)
def django_site() -> Iterator[None]:
    """Let contrib's views know the address that BASE_URL says."""
    Site.objects.update_or_create(pk=1, defaults={"domain": "www.example.com"})
    Site.objects.clear_cache()
    yield
    Site.objects.clear_cache()


@pytest.fixture
def article(register: Register) -> None:
    """A section of one article."""
    register("article", ArticleSitemap)
    articles(1, slug="a", updated=dt.datetime(2026, 3, 1, 9, tzinfo=dt.UTC))


@pytest.fixture
def languages(settings: Any) -> None:
    """Let requests have the language of their paths."""
    locale = "django.middleware.locale.LocaleMiddleware"
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, locale]


@pytest.fixture
def former(tmp_path: Path) -> Save:
    """Save a sitemap, and return the path of the file."""

    def save(*paths: str, more: str = "") -> str:
        file = tmp_path / "former.xml"
        file.write_text(sitemap_of(*paths, more=more))
        return str(file)

    return save


# Nothing is lost


def test_the_dict_of_contribs_sitemaps(article: None) -> None:
    assert check(here_as("SITEMAPS")) == (
        f"Before: 1 URL, contrib's view of {__name__}.SITEMAPS (/en/all.xml, "
        "/de/all.xml, /pt-br/all.xml).\n"
        "Now: 1 URL, 1 registered section.\n"
        "1 URL with the same day in lastmod, and the time too, which contrib's "
        "template cuts off.\n"
        "\n"
        "Nothing is lost.\n",
        "",
        0,
    )


@pytest.mark.parametrize(
    ("middleware", "name", "languages"),
    [
        ("django.middleware.locale.LocaleMiddleware", "sitemap", ["en", "de"]),
        (f"{__name__}.by_host", "all", ["en"]),
    ],
)
def test_our_views_keep_the_language_and_the_urlconf_of_a_request(
    settings: Any, middleware: str, name: str, languages: list[str]
) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, middleware]
    settings.LANGUAGES = [(code, code) for code in languages]
    NoteFactory(number=1)
    articles(2)
    out, err, code = check(name)
    assert f"Before: 2 URLs, the view {name!r}" in out
    assert "Now: 2 URLs, the same sitemaps by" in out
    assert (err, code) == ("", 0)


def test_the_view_of_a_url_name_and_all_pages_of_its_index() -> None:
    for number in range(1, 4):
        NoteFactory(number=number)
    out, err, code = check("index")
    assert "Before: 3 URLs, the view 'index' (/index.xml)." in out
    assert "Now: 3 URLs, the same sitemaps by" in out
    assert (err, code) == ("", 0)


def test_a_cache_of_the_whole_site_does_not_answer(settings: Any) -> None:
    settings.MIDDLEWARE = [
        "django.middleware.cache.UpdateCacheMiddleware",
        *settings.MIDDLEWARE,
        "django.middleware.cache.FetchFromCacheMiddleware",
    ]
    for number in (1, 2):
        NoteFactory(number=number)
        out, _, code = check("index")
        urls = "1 URL" if number == 1 else "2 URLs"
        assert f"Before: {urls}, the view 'index'" in out
        assert f"Now: {urls}, the same sitemaps" in out
        assert code == 0


def test_another_view_is_asked_as_it_is(article: None) -> None:
    assert differences("own")[1] == 0


@pytest.mark.parametrize("name", ["former.xml", "former.xml.gz"])
def test_a_folder_of_saved_files(register: Register, tmp_path: Path, name: str) -> None:
    register("article", ArticleSitemap)
    articles(2, slug="a")
    body = sitemap_of("/articles/a/").encode()
    packed = gzip.compress(body) if name.endswith(".gz") else body
    (tmp_path / name).write_bytes(packed)
    assert differences(str(tmp_path / name))[1] == 0
    (tmp_path / "index.xml").write_text(index_of(f"{SITE}/{name}"))
    assert differences(str(tmp_path))[1] == 0


def test_the_sitemaps_of_an_index_are_found_by_any_name_that_programs_give_them(
    register: Register, tmp_path: Path
) -> None:
    register("article", ArticleSitemap)
    for name in ("en/a.xml", "de/a.XML", "b.xml", "b.xml@p=2", "c d.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(sitemap_of(f"/articles/{name[:4]}/"))
    (tmp_path / ".hidden").write_text("not a sitemap")
    names = ("en/a.xml", "de/a.xml", "b.xml", "b.xml?p=2", "c%20d.txt")
    index = index_of(*(f"{SITE}/{name}" for name in names))
    (tmp_path / "sitemap.xml").write_text(index)
    found, code = differences(str(tmp_path))
    assert (found["lost"]["count"], code) == (4, 1)
    for name, lost in {"b.xml@p=2": "b.xml?p=2", "en/a.xml": "en/a.xml"}.items():
        (tmp_path / name).rename(tmp_path / "old-backup.xml")
        _, err, code = check(str(tmp_path))
        assert f"an index of 5 sitemaps, and {SITE}/{lost} is not there. Save" in err
        assert code == 1
        (tmp_path / "old-backup.xml").rename(tmp_path / name)
    (tmp_path / "readme").write_text("Saved on Monday.")
    assert f"{tmp_path / 'readme'} is not well-formed XML" in check(str(tmp_path))[1]


def test_how_a_location_and_a_date_are_written_is_no_difference(
    register: Register, settings: Any, former: Save
) -> None:
    class Words(ArticleSitemap):
        priority = 0.5

        def location(self, item: Article) -> str:
            return f"/wörter/{item.slug}/"

    register("word", Words)
    # In Berlin it is the second of March, and contrib writes that.
    night = dt.datetime(2026, 3, 1, 23, 30, tzinfo=dt.UTC)
    articles(1, slug="größe 1", updated=night)
    more = "<lastmod>2026-03-02</lastmod><priority>0.50</priority>"
    file = former("/wörter/größe 1/", more=more)
    assert differences(file) == ({}, 0)
    assert "1 URL with the same day in lastmod, and the time too" in check(file)[0]
    more = "<lastmod>2026-03-02T00:30:00.25+01:00</lastmod><priority>0.5</priority>"
    assert differences(former("/wörter/größe 1/", more=more)) == ({}, 0)
    more = "<lastmod>2026-03-02T00:30:00</lastmod><priority>0.5</priority>"
    assert differences(former("/wörter/größe 1/", more=more)) == ({}, 0)


# What is lost


def test_addresses_of_one_language_under_those_of_another(
    register: Register, languages: None
) -> None:
    """As a site has them whose sitemap is inside i18n_patterns."""
    register("note", NoteSitemap)
    NoteFactory(number=1)
    out, err, code = check("sitemap")
    assert "2 URLs listed before and not now:\n  https://www.example.com/de/not" in out
    assert (
        "Of these, 2 are under /de/, /pt-br/. A section is built in LANGUAGE_CODE"
        in out
    )
    assert (err, code) == ("CommandError: 2 URLs are lost.\n", 1)
    register("note", type("Notes", (NoteSitemap,), {"i18n": True}))
    assert differences("sitemap") == ({}, 0)


@pytest.mark.parametrize("code", ["en", "en-us"])
def test_a_dict_is_saved_as_the_site_serves_it(
    register: Register, settings: Any, tmp_path: Path, code: str
) -> None:
    """Its view is inside i18n_patterns: no request has the language "en-us"."""
    settings.LANGUAGE_CODE = code
    locale = "django.middleware.locale.LocaleMiddleware"
    cache = "django.middleware.cache.{}CacheMiddleware"
    settings.MIDDLEWARE = [cache.format("Update"), locale, cache.format("FetchFrom")]
    settings.ROOT_URLCONF = Languages
    folder = tmp_path / "before"
    for number in range(3):
        NoteFactory(number=number)
    out, _, _ = check(here_as("NOTES"), "--save", str(folder))
    assert out.startswith("9 URLs of contrib's view of ")
    assert f"{__name__}.NOTES (/en/sitemap-note.xml, /de/sitemap-note.xml, /pt" in out
    assert {entry.location for _, entry in saved.saved(folder)} == {
        f"{SITE}/{language}/notes/{number}/"
        for language in ("en", "de", "pt-br")
        for number in range(3)
    }
    register("note", NoteSitemap)
    assert differences(str(folder))[0]["lost"]["count"] == 6
    register("note", type("Notes", (NoteSitemap,), {"i18n": True}))
    assert differences(str(folder)) == ({}, 0)


def test_advice_lists_no_language_that_was_not_listed(
    register: Register, settings: Any, former: Save
) -> None:
    """Notes are in English, on a site in German with many languages."""
    settings.LANGUAGE_CODE = "de"
    register("note", NoteSitemap)
    NoteFactory(number=1)
    NoteFactory(number=2)
    out, _, _ = check(former("/en/notes/1/", "/en/notes/2/"))
    assert (
        "Of these, 2 are under /en/. A section is built in LANGUAGE_CODE, at whatever "
        "address it is asked for: set i18n = True and languages = ['en'] on its class."
    ) in out
    both = {"i18n": True, "languages": ["en"]}
    register("note", type("Notes", (NoteSitemap,), both))
    assert differences(former("/en/notes/1/", "/en/notes/2/")) == ({}, 0)


def test_advice_on_languages_whose_paths_differ(
    register: Register, former: Save
) -> None:
    register("note", NoteSitemap)
    NoteFactory(number=1)
    out, _, _ = check(former("/en/notes/1/", "/de/notizen/1/"))
    assert "are under /de/. A section is built in LANGUAGE_CODE, at whatever" in out
    assert "set i18n = True and languages = ['en', 'de'] on its class." in out
    # Whatever else is lost.
    out, _, _ = check(former("/en/notes/1/", "/de/notizen/1/", "/zebra/"))
    assert "set i18n = True and languages = ['en', 'de'] on its class." in out
    # Those of the default language are lost too: the language is not the reason.
    out, _, _ = check(former("/en/pages/1/", "/de/pages/1/"))
    assert "i18n = True" not in out


def test_what_no_language_changes_is_saved_once(
    tmp_path: Path, languages: None
) -> None:
    articles(2)
    out, _, _ = check(here_as("SITEMAPS"), "--save", str(tmp_path / "before"))
    assert out.startswith("2 URLs of contrib's view of ")


def test_paths_of_another_urlconf(article: None, settings: Any) -> None:
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, here_as("by_host")]
    settings.LANGUAGES = [("en", "English")]
    found, code = differences("all")
    assert found["lost"]["examples"] == [f"{SITE}/other/articles/a/"]
    assert found["new"]["examples"] == [f"{SITE}/articles/a/"]
    assert code == 1


def test_an_empty_section(register: Register) -> None:
    class Empty(ArticleSitemap):
        def items(self) -> Any:
            return Article.objects.filter(slug="none")

    register("article", Empty)
    articles(7)
    out, err, code = check(here_as("SITEMAPS"))
    assert "7 URLs listed before and not now:\n" in out
    assert "\n  and 2 more\n" in out
    assert "All URLs of article are lost: 7.\n" in out
    assert (err, code) == ("CommandError: 7 URLs are lost.\n", 1)


def test_a_changefreq_that_is_a_method_is_left_out_and_the_url_is_not(
    register: Register, former: Save
) -> None:
    class Odd(ArticleSitemap):
        lastmod = None

        def changefreq(self, item: Article) -> Any:
            return self.items

    register("article", Odd)
    articles(1, slug="a")
    more = "<changefreq>weekly</changefreq>"
    found, code = differences(former("/articles/a/", more=more))
    example = f"{SITE}/articles/a/: weekly -> none"
    assert {kind: one["examples"] for kind, one in found.items()} == {
        "changefreq": [example]
    }
    assert code == 0


def test_a_page_with_too_many_bad_rows_lists_nothing(
    register: Register, former: Save, settings: Any
) -> None:
    register("article", ArticleSitemap)
    articles(20, slug="no slug")
    articles(1, slug="a")
    (bad,) = articles(1, slug="b")
    out, _, code = check(former("/articles/a/"))
    assert "20 of 22 rows of page article-1 cannot be listed. The first," in out
    assert "Now: 0 URLs" in out
    assert code == 1
    Article.objects.filter(slug="no slug").exclude(pk=bad.pk).delete()
    Article.objects.filter(pk=bad.pk).update(slug="b c")
    out, _, code = check(former("/articles/a/", "/articles/b%20c/"))
    assert f"\nSection 'article' leaves out row {bad.pk}: No URL pattern named" in out
    assert code == 1
    settings.SITEMAPS_PLUS = {"BASE_URL": SITE, "ON_ERROR": "raise"}
    assert (
        "1 of 2 rows of page article-1 cannot be listed. The first,"
        in check(former("/articles/a/"))[0]
    )


def test_a_section_that_cannot_be_read_does_not_hide_the_others(
    article: None, register: Register, former: Save
) -> None:
    register("broken", type("Broken", (ArticleSitemap,), {"items": lambda self: 1 / 0}))
    out, _, code = check(former("/articles/a/"))
    assert "\nSection 'broken' cannot be built: ZeroDivisionError: division" in out
    assert code == 0


def test_another_host(article: None, settings: Any) -> None:
    settings.SITEMAPS_PLUS = {"BASE_URL": "https://example.com"}
    out, _, code = check(here_as("SITEMAPS"))
    assert (
        "Before, URLs begin with https://www.example.com; now with "
        "https://example.com. Set BASE_URL"
    ) in out
    assert code == 1


# What differs


def test_each_kind_of_difference(register: Register, former: Save) -> None:
    class Notes(NoteSitemap):
        i18n = alternates = True
        languages = ("en", "de")
        changefreq = "weekly"
        priority = 0.25
        lastmod = "2026-03-01"

    register("note", Notes)
    register("again", type("Again", (Notes,), {}))
    NoteFactory(number=1)
    link = f'<xhtml:link rel="alternate" hreflang="en" href="{SITE}/en/notes/1/"/>'
    more = f"<lastmod>2026-03-02</lastmod><priority>0.5</priority>{link}"
    found, code = differences(former("/en/notes/1/", "/en/notes/1/", more=more))
    assert "repeated before" not in found, "it is said once"
    url = f"{SITE}/en/notes/1/"
    assert {kind: one["examples"] for kind, one in found.items()} == {
        "new": [f"{SITE}/de/notes/1/"],
        "lastmod": [f"{url}: 2026-03-02 -> 2026-03-01"],
        "changefreq": [f"{url}: none -> weekly"],
        "priority": [f"{url}: 0.5 -> 0.25"],
        "alternates": [f"{url}: none -> de {SITE}/de/notes/1/"],
        "repeated": [
            f"{SITE}/de/notes/1/ (2 times: note, again)",
            f"{url} (2 times: note, again)",
        ],
    }
    assert all(one["advice"] for one in found.values())
    assert code == 0


def test_a_url_that_is_listed_once_now(article: None, former: Save) -> None:
    file = former("/articles/a/", "/articles/a/")
    found, code = differences(file)
    examples = [f"{SITE}/articles/a/ (2 times: {file})"]
    assert found["repeated before"]["examples"] == examples
    assert code == 0


@pytest.mark.parametrize(
    ("before", "now"),
    [
        ("2026-03-01", None),
        ("", "2026-03-01"),
        ("2026-03-01", "2026-02-28T12:00:00+01:00"),
        ("2026-03-01T12:00:00Z", "2026-03-01"),
        ("2026-03-01T12:00:00Z", "2026-03-01T12:00:00+01:00"),
        # The time is lost, though it was midnight.
        ("2026-03-01T00:00:00+01:00", "2026-03-01"),
        ("2026-02-28", "2026-03-01T23:30:00+00:00"),
        ("2026-03-03", "2026-03-01T23:30:00+00:00"),
        ("yesterday", "2026-03-01"),
    ],
)
@pytest.mark.costly
def test_other_dates(
    register: Register, former: Save, before: str, now: str | None
) -> None:
    register("article", type("Dated", (ArticleSitemap,), {"lastmod": now}))
    articles(1, slug="a")
    more = f"<lastmod>{before}</lastmod>"
    assert [*differences(former("/articles/a/", more=more))[0]] == ["lastmod"]


@pytest.mark.parametrize("day", ["2026-03-01", "2026-03-02"])
def test_the_day_of_a_time_is_that_of_its_zone_or_of_the_projects(
    register: Register, former: Save, day: str
) -> None:
    """Half past eleven in the evening in UTC is the next day in Berlin."""
    now = "2026-03-01T23:30:00+00:00"
    register("article", type("Dated", (ArticleSitemap,), {"lastmod": now}))
    articles(1, slug="a")
    file = former("/articles/a/", more=f"<lastmod>{day}</lastmod>")
    assert differences(file) == ({}, 0)
    assert "1 URL with the same day in lastmod, and the time too" in check(file)[0]


def test_sections_that_are_named(article: None, register: Register) -> None:
    register("pages", PagesSitemap)
    found, code = differences(here_as("SITEMAPS"))
    assert ([*found], code) == (["new"], 0)
    found, code = differences(here_as("SITEMAPS"), "article")
    assert (found, code) == ({}, 0)


def test_contribs_code_renders_as_its_template_does(
    article: None, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is taken without the template is what the template writes."""

    class Odd(Former):
        i18n = alternates = x_default = True
        languages = ("en", "de")

        def lastmod(self, item: Any) -> Any:
            return "2026-03-01" if item.slug == "a" else item.updated

        def priority(self, item: Any) -> Any:
            return 0 if item.slug == "a" else 0.5

        def changefreq(self, item: Any) -> Any:
            return self.items if item.slug == "a" else "weekly"

        def get_urls(self, *args: Any, **kwargs: Any) -> Any:
            urls = super().get_urls(*args, **kwargs)
            for info in urls:
                info["priority"] = partial(str, info["priority"])
                info["location"] = partial(str, info["location"])
            return urls

    monkeypatch.setitem(SITEMAPS, "odd", Odd)
    articles(1, slug="b", updated=dt.datetime(2026, 3, 1, 23, 30, tzinfo=dt.UTC))
    fast = check(here_as("SITEMAPS"))
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "django.contrib.sitemaps"]
    shipped = Path(contrib.__file__).parent / "templates" / "sitemap.xml"
    (tmp_path / "sitemap.xml").write_text(shipped.read_text())
    (template,) = settings.TEMPLATES
    settings.TEMPLATES = [{**template, "DIRS": [tmp_path]}]
    assert check(here_as("SITEMAPS")) == fast


@pytest.mark.parametrize("former", ["map", f"{__name__}.SITEMAPS"])
def test_the_template_that_the_urlconf_names_is_rendered(
    article: None, settings: Any, tmp_path: Path, former: str
) -> None:
    entry = "<url><loc>{{ url.location }}</loc><priority>0.9</priority></url>"
    body = sitemap_of().replace(
        "</urlset>", f"{{% for url in urlset %}}{entry}{{% endfor %}}</urlset>"
    )
    (tmp_path / "our_sitemap.xml").write_text(body)
    (template,) = settings.TEMPLATES
    settings.TEMPLATES = [{**template, "DIRS": [tmp_path]}]
    settings.ROOT_URLCONF = Templated
    found, code = differences(former)
    assert code == 0
    assert found["priority"]["examples"] == [f"{SITE}/articles/a/: 0.9 -> none"]


# Documents of others


BOMB = (
    '<!DOCTYPE urlset [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;&a;">]>'
    "<urlset><url><loc>&b;</loc></url></urlset>"
)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (BOMB, "has a document type, as web pages have"),
        (gzip.compress(sitemap_of("/a/").encode())[:-9], "is not well-formed XML"),
        pytest.param(
            sitemap_of("/a" * 60_000),
            "has a text or a tag of over 100,000 characters.",
            id="a long text",
        ),
        (
            '<?xml version="1.0" encoding="utf-7"?>' + sitemap_of("/a/"),
            "is in the encoding 'utf-7'; sitemaps are in UTF-8.",
        ),
        (index_of(f"{SITE}/a.xml"), f"an index of 1 sitemaps, and {SITE}/a.xml is not"),
    ],
)
@pytest.mark.costly
def test_what_is_no_sitemap(
    article: None, tmp_path: Path, body: str | bytes, said: str
) -> None:
    file = tmp_path / "former.xml"
    file.write_bytes(body if isinstance(body, bytes) else body.encode())
    out, err, code = check(str(file))
    assert (out, code) == ("", 1)
    assert err.startswith(f"CommandError: {file} ")
    assert said in err


def test_a_small_file_that_unpacks_to_a_huge_one_is_not_read_to_its_end(
    article: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(entries, "_MOST_BYTES", 200_000)
    file = tmp_path / "bomb.xml.gz"
    file.write_bytes(gzip.compress(sitemap_of(*["/a/"] * 20_000).encode()))
    _, err, code = check(str(file))
    assert (f"{file} has over 200,000 bytes; a sitemap may have" in err, code) == (
        True,
        1,
    )


def test_indexes_without_end_are_not_followed() -> None:
    numbers = count(1)

    def deeper(name: str) -> Iterator[Entry]:
        yield Entry(f"{SITE}/{next(numbers)}.xml", is_sitemap=True)

    with pytest.raises(entries.Unreadable, match=r"2\.xml is an index in an index"):
        list(entries.walk(SITE, deeper))

    def wider(name: str) -> Iterator[Entry]:
        yield from (deeper(name).__next__() for _ in range(70_000))

    with pytest.raises(entries.Unreadable, match="has over 60,000 sitemaps"):
        list(entries.walk(SITE, wider))


def test_an_empty_folder(article: None, tmp_path: Path) -> None:
    _, err, code = check(str(tmp_path))
    assert err.endswith(" has no files.\n")
    assert code == 1


@pytest.fixture
def server(tmp_path: Path) -> Iterator[str]:
    """Serve a folder; returns its address."""

    class Handler(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            pass

    serve = partial(Handler, directory=str(tmp_path))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), serve) as found:
        threading.Thread(target=found.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{found.server_port}"
        found.shutdown()


def test_an_index_at_a_url(article: None, tmp_path: Path, server: str) -> None:
    articles(1, slug="b")
    pages = [f"{server}/1.xml", f"{server}/2.xml.gz", f"{server}/index.xml"]
    (tmp_path / "index.xml").write_text(index_of(*pages))
    (tmp_path / "1.xml").write_text(sitemap_of("/articles/a/"))
    packed = gzip.compress(sitemap_of("/articles/b/").encode())
    (tmp_path / "2.xml.gz").write_bytes(packed)
    assert differences(f"{server}/index.xml")[1] == 0
    (tmp_path / "folder").mkdir()
    for path_, said in {
        "/none.xml": f"{server}/none.xml answers 404.",
        "/folder": f"{server}/folder redirects to /folder/. Name that address.",
    }.items():
        assert check(f"{server}{path_}") == ("", f"CommandError: {said}\n", 1)
    _, err, code = check("http://127.0.0.1:1/sitemap.xml")
    assert err.startswith("CommandError: http://127.0.0.1:1/sitemap.xml cannot be fet")
    assert code == 1


def test_a_live_site_that_runs_this_package_proves_nothing(
    article: None, tmp_path: Path, server: str
) -> None:
    url, former = f"{server}/sitemap.xml", tmp_path / "sitemap.xml"
    listed = sitemap_of("/articles/a/").partition(">")[2].encode()
    former.write_bytes(urlset_header() + listed)
    assert differences(url)[1] == 0
    former.write_bytes(urlset_header(stylesheet=get_settings().stylesheet) + listed)
    out, err, code = check(url)
    assert (out, code) == ("", 2)
    assert f"This package serves {url} already: it names its stylesheet." in err
    # Two versions of it can be compared, as upgrades do.
    folder = str(tmp_path / "before")
    assert check(url, "--save", folder)[2] == 0
    assert differences(folder)[1] == 0


# Misuse


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            ["no.such.thing"],
            "'no.such.thing' is not a URL, a file, a folder or the name",
        ),
        ([here_as("NOT_A_DICT")], "NOT_A_DICT is list, not a dict of sitemaps."),
        ([here_as("SITEMAPS"), "nothing"], "SITEMAPS has no section 'nothing'. It"),
        (["own"], "There is nothing to compare with: no sitemap is registered."),
    ],
)
def test_misuse(arguments: list[str], said: str) -> None:
    out, err, code = check(*arguments)
    assert (out, code) == ("", 2)
    assert said in err


def test_a_view_that_fails(article: None) -> None:
    _, err, code = check("broken")
    assert err.endswith("CommandError: /broken.xml answers 500: see the log.\n")
    assert code == 1


def test_a_sitemap_of_contribs_that_fails(article: None) -> None:
    articles(1, slug="no slug")
    _, err, code = check(here_as("SITEMAPS"))
    assert err.startswith(
        "CommandError: Page 1 of the section 'article' cannot be built: "
    )
    assert code == 1


# Many


def test_memory_does_not_grow_with_the_number_of_urls() -> None:
    entry = Entry("", "2026-03-01T09:00:00+00:00", "weekly", "0.5")

    def listed(count: int) -> Iterator[tuple[str, Entry]]:
        for number in range(count):
            yield "a", entry._replace(location=f"{SITE}/{number * 7919 % count}/")

    def peak(count: int) -> int:
        tracemalloc.start()
        site = SiteAddress.parse(SITE)
        compare(listed(count), listed(count), [], site, lambda *told: None)
        _, found = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return found

    # In memory, the entries of both sides would take three million bytes.
    assert peak(5_000) < 500_000


def test_progress(monkeypatch: pytest.MonkeyPatch, article: None, former: Save) -> None:
    monkeypatch.setattr(utils, "LINE_EVERY", 0)
    _, err, _ = check(former(*(f"/{number}/" for number in range(2000))))
    assert err.startswith("Before: 1,000 URLs read\nBefore: 2,000 URLs read\nCommand")


# What is saved first


class Bare(contrib.Sitemap):
    """Gives less of each URL than contrib does, as djangoproject.com's does."""

    def get_urls(self, *args: Any, **kwargs: Any) -> Any:
        return [{"location": f"{SITE}/articles/{one}/"} for one in "ab"]

    def items(self) -> Any:
        return ["a", "b"]


BARE: dict[str, Any] = {"article": Bare}


def test_a_class_that_gives_only_locations_is_read(article: None) -> None:
    found, code = differences(here_as("BARE"))
    assert (found["lost"]["examples"], code) == ([f"{SITE}/articles/b/"], 1)


def test_an_empty_page_is_not_the_last(
    register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Filtered(Former):
        limit = 1

        def get_urls(self, *args: Any, **kwargs: Any) -> Any:
            found = super().get_urls(*args, **kwargs)
            return [one for one in found if not one["location"].endswith("/draft/")]

    monkeypatch.setitem(SITEMAPS, "article", Filtered)
    register("pages", PagesSitemap)
    for slug in ("a", "draft", "draft", "b", "draft"):
        articles(1, slug=slug)
    found, code = differences(here_as("SITEMAPS"))
    assert (found["lost"]["examples"], code) == (
        [f"{SITE}/articles/a/", f"{SITE}/articles/b/"],
        1,
    )


def test_what_was_saved_first_is_compared_after_each_step(
    register: Register, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(Former):
        i18n = alternates = True
        changefreq = "often"
        priority = 0.5

        def location(self, item: Article) -> str:
            return f"/articles/{item.slug}/?a='&b"

    folder = str(tmp_path / "new" / "before")
    articles(2)
    monkeypatch.setitem(SITEMAPS, "full", Full)
    monkeypatch.setattr(saved, "MAX_ENTRIES", 3)
    out, err, code = check(here_as("SITEMAPS"), "--save", folder)
    urls = 2 + 2 * len(django_settings.LANGUAGES)
    assert (err, code) == ("", 0)
    assert out.startswith(f"{urls} URLs of contrib's view of {__name__}.SITEMAPS saved")
    # Each value is what it was, and nothing is left over.
    assert sorted(file.name for file in Path(folder).parent.iterdir()) == ["before"]
    again = [*saved.saved(Path(folder))]
    direct = sides.of_dict(sides.CONTRIB, SITEMAPS, sides.compared_site())
    assert [entry for _, entry in again] == [entry for _, entry in direct]
    assert check(here_as("SITEMAPS"), "--save", folder)[1:] == (
        f"CommandError: {folder} exists: name a new folder.\n",
        1,
    )
    # One changed import: our views in the place of contrib's, of the same dict.
    out, _, code = check(folder)
    assert "the same sitemaps by django_sitemaps_plus.views" in out
    assert ("\nNothing is lost." in out, code) == (True, 0)
    # Then they are registered; the dict may be gone.
    monkeypatch.delitem(globals(), "SITEMAPS")
    register("article", ArticleSitemap)
    found, code = differences(folder)
    assert (found["lost"]["count"], code) == (2, 1)


def test_images_videos_and_news_are_compared(
    register: Register, former: Save, tmp_path: Path
) -> None:
    schemas = "http://www.google.com/schemas/sitemap"
    more = (
        f'<image:image xmlns:image="{schemas}-image/1.1">'
        "<image:loc>https://cdn.example/a.png?b&amp;c</image:loc></image:image>"
        f'<video:video xmlns:video="{schemas}-video/1.1">'
        f"<video:player_loc>{SITE}/play/</video:player_loc></video:video>"
        f'<news:news xmlns:news="{schemas}-news/0.9"><news:publication_date>2026-03-01'
        "</news:publication_date></news:news>"
    )
    register("article", type("Plain", (ArticleSitemap,), {"lastmod": None}))
    articles(1, slug="a")
    file, folder = former("/articles/a/", more=more), str(tmp_path / "before")
    had = f"image https://cdn.example/a.png?b&c, news, video {SITE}/play/"
    for name in (file, folder):
        found, code = differences(name)
        assert ([*found], code) == (["media"], 1)
        assert found["media"]["examples"] == [f"{SITE}/articles/a/: {had} -> none"]
        check(file, "--save", folder)
    images = {"lastmod": None, "images": lambda self, item: ["https://cdn.example/ö"]}
    register("article", type("Images", (ArticleSitemap,), images))
    found, _ = differences(former("/articles/a/"))
    url = "https://cdn.example/%C3%B6"
    assert found["media"]["examples"][0].endswith(f": none -> image {url}")
    image = (
        f'<a:image xmlns:a="{schemas}-image/1.1"><a:loc>https://cdn.example/ö</a:loc>'
    )
    assert differences(former("/articles/a/", more=f"{image}</a:image>" * 2)) == ({}, 0)


def test_a_folder_that_could_not_be_filled_is_not_there(tmp_path: Path) -> None:
    articles(1, slug="no slug")
    folder = tmp_path / "before"
    assert check(here_as("SITEMAPS"), "--save", str(folder))[2] == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("options", [[], ["--save", "before"]])
def test_what_is_of_this_package_by_now_proves_nothing(
    article: None, options: list[str]
) -> None:
    for former in (here_as("OURS"), "ours", "django_sitemaps_plus:site"):
        out, err, code = check(former, *options)
        assert (out, code) == ("", 2)
        assert f"{former!r} is not a former sitemap: this package serves article" in err
        assert "--save before" in err


def test_an_empty_former_sitemap_does_not_say_that_nothing_is_lost(
    article: None, former: Save
) -> None:
    out, err, code = check(former())
    assert "Nothing is lost" not in out
    assert (err, code) == (
        "CommandError: The former sitemap lists nothing, so nothing was compared.\n",
        1,
    )


def test_what_can_be_called_is_as_templates_have_it() -> None:
    """Contrib's template prints what a class's ``get_urls()`` returned."""
    info = {"location": lambda: "/a/", "priority": lambda: 0.5}
    entry = sides._entry({**info, "changefreq": lambda item: "daily"})
    assert (entry.location, entry.priority, entry.changefreq) == ("/a/", "0.5", "")
