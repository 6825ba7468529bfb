"""``manage.py check_sitemaps --compare``: what it finds, and what it says."""

from __future__ import annotations

import datetime as dt
import gzip
import json
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
from tests.contrib.audit.written import SITE, sitemap_of
from tests.support.factories import NoteFactory, articles
from tests.support.fakes.faults import Reply
from tests.support.fakes.site import FakeSite
from tests.support.helpers import ArticleSitemap, PagesSitemap, run_command
from tests.testapp.models import Article, Note
from tests.testapp.views import anything

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]

Register = Callable[..., Any]
Save = Callable[..., str]


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


def index_of(*urls: str) -> str:
    """Return an index of some sitemaps."""
    return sitemap_of(*urls, tag="sitemap")


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

    def save(*paths: str, **more: Any) -> str:
        file = tmp_path / "former.xml"
        file.write_text(sitemap_of(*paths, **more))
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


def test_all_pages_of_an_index_are_read_and_a_cache_of_the_site_does_not_answer(
    settings: Any,
) -> None:
    cache = "django.middleware.cache.{}CacheMiddleware"
    middleware = [cache.format("Update"), *settings.MIDDLEWARE]
    settings.MIDDLEWARE = [*middleware, cache.format("FetchFrom")]
    for number, urls in ((1, "1 URL"), (2, "2 URLs"), (3, "3 URLs")):
        NoteFactory(number=number)
        out, err, code = check("index")
        assert f"Before: {urls}, the view 'index' (/index.xml)." in out
        assert f"Now: {urls}, the same sitemaps by" in out
        assert (err, code) == ("", 0)


def test_another_view_is_asked_as_it_is(article: None) -> None:
    assert differences("own")[1] == 0


@pytest.mark.parametrize("name", ["former.xml", "former.xml.gz"])
def test_a_folder_of_saved_files(article: None, tmp_path: Path, name: str) -> None:
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
    names = ("/en/a.xml", "/de/a.xml", "/b.xml", "/b.xml?p=2", "/c%20d.txt")
    (tmp_path / "sitemap.xml").write_text(index_of(*names))
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
    register: Register, former: Save
) -> None:
    def location(sitemap: Any, item: Article) -> str:
        return f"/wörter/{item.slug}/"

    words = {"priority": 0.5, "location": location}
    register("word", type("Words", (ArticleSitemap,), words))
    # In Berlin it is the second of March, and contrib writes that.
    night = dt.datetime(2026, 3, 1, 23, 30, tzinfo=dt.UTC)
    articles(1, slug="größe 1", updated=night)
    more = "<lastmod>2026-03-02{}</lastmod><priority>0.50</priority>"
    for time in ("T00:30:00.25+01:00", "T00:30:00", ""):
        file = former("/wörter/größe 1/", more=more.format(time))
        assert differences(file) == ({}, 0)
    assert "1 URL with the same day in lastmod, and the time too" in check(file)[0]


# What is lost


def test_addresses_of_one_language_under_those_of_another(
    register: Register, languages: None
) -> None:
    """As a site has them whose sitemap is inside i18n_patterns."""
    register("note", NoteSitemap)
    NoteFactory(number=1)
    out, err, code = check("sitemap")
    assert "2 URLs listed before and not now:\n  https://www.example.com/de/not" in out
    advice = "Of these, 2 are under /de/, /pt-br/. A section is built in LANGUAGE_CODE"
    assert advice in out
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
    file = former("/en/notes/1/", "/en/notes/2/")
    assert (
        "Of these, 2 are under /en/. A section is built in LANGUAGE_CODE, at whatever "
        "address it is asked for: set i18n = True and languages = ['en'] on its class."
    ) in check(file)[0]
    both = {"i18n": True, "languages": ["en"]}
    register("note", type("Notes", (NoteSitemap,), both))
    assert differences(file) == ({}, 0)


def test_advice_on_languages_whose_paths_differ(
    register: Register, former: Save
) -> None:
    register("note", NoteSitemap)
    NoteFactory(number=1)
    advice = "set i18n = True and languages = ['en', 'de'] on its class."
    out, _, _ = check(former("/en/notes/1/", "/de/notizen/1/"))
    assert "are under /de/. A section is built in LANGUAGE_CODE, at whatever" in out
    assert advice in out
    # Whatever else is lost.
    assert advice in check(former("/en/notes/1/", "/de/notizen/1/", "/zebra/"))[0]
    # Those of the default language are lost too: the language is not the reason.
    assert "i18n = True" not in check(former("/en/pages/1/", "/de/pages/1/"))[0]


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
    nothing = {"items": lambda self: Article.objects.filter(slug="none")}
    register("article", type("Empty", (ArticleSitemap,), nothing))
    articles(7)
    out, err, code = check(here_as("SITEMAPS"))
    assert "7 URLs listed before and not now:\n" in out
    assert "\n  and 2 more\n" in out
    assert "All URLs of article are lost: 7.\n" in out
    assert (err, code) == ("CommandError: 7 URLs are lost.\n", 1)


def test_a_changefreq_that_is_a_method_is_left_out_and_the_url_is_not(
    register: Register, former: Save
) -> None:
    odd = {"lastmod": None, "changefreq": lambda self, item: self.items}
    register("article", type("Odd", (ArticleSitemap,), odd))
    articles(1, slug="a")
    more = "<changefreq>weekly</changefreq>"
    found, code = differences(former("/articles/a/", more=more))
    assert ([*found], code) == (["changefreq"], 0)
    example = f"{SITE}/articles/a/: weekly -> none"
    assert found["changefreq"]["examples"] == [example]


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
    Article.objects.filter(slug="no slug").delete()
    Article.objects.filter(pk=bad.pk).update(slug="b c")
    out, _, code = check(former("/articles/a/", "/articles/b%20c/"))
    assert f"\nSection 'article' leaves out row {bad.pk}: No URL pattern named" in out
    assert code == 1
    settings.SITEMAPS_PLUS = {"BASE_URL": SITE, "ON_ERROR": "raise"}
    out, _, _ = check(former("/articles/a/"))
    assert "1 of 2 rows of page article-1 cannot be listed. The first," in out


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
    begin = f"Before, URLs begin with {SITE}; now with https://example.com."
    assert (f"{begin} Set BASE_URL" in out, code) == (True, 1)


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
    url, german = f"{SITE}/en/notes/1/", f"{SITE}/de/notes/1/"
    link = f'<xhtml:link rel="alternate" hreflang="en" href="{url}"/>'
    more = f"<lastmod>2026-03-02</lastmod><priority>0.5</priority>{link}"
    found, code = differences(former("/en/notes/1/", "/en/notes/1/", more=more))
    # What is repeated before is said once.
    assert {kind: one["examples"] for kind, one in found.items()} == {
        "new": [german],
        "lastmod": [f"{url}: 2026-03-02 -> 2026-03-01"],
        "changefreq": [f"{url}: none -> weekly"],
        "priority": [f"{url}: 0.5 -> 0.25"],
        "alternates": [f"{url}: none -> de {german}"],
        "repeated": [f"{one} (2 times: note, again)" for one in (german, url)],
    }
    assert all(one["advice"] for one in found.values())
    assert code == 0


def test_a_url_that_is_listed_once_now(article: None, former: Save) -> None:
    file = former("/articles/a/", "/articles/a/")
    found, code = differences(file)
    examples = [f"{SITE}/articles/a/ (2 times: {file})"]
    assert found["repeated before"]["examples"] == examples
    assert code == 0


#: A lastmod before and now, which is another.
OTHER_DATES = [
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
]
#: Half past eleven in the evening in UTC is the next day in Berlin.
SAME_DAYS = [(f"2026-03-0{day}", "2026-03-01T23:30:00+00:00") for day in (1, 2)]


@pytest.mark.parametrize(
    ("dates", "differ"),
    [(OTHER_DATES, {"lastmod": len(OTHER_DATES)}), (SAME_DAYS, {})],
    ids=["other", "same"],
)
def test_the_day_of_a_time_is_that_of_its_zone_or_of_the_projects(
    register: Register, former: Save, dates: Any, differ: dict[str, int]
) -> None:
    lastmod = {"lastmod": lambda self, item: dates[int(item.slug)][1]}
    register("article", type("Dated", (ArticleSitemap,), lastmod))
    paths = [f"/articles/{number}/" for number in range(len(dates))]
    for number in range(len(dates)):
        articles(1, slug=str(number))
    before = [f"<lastmod>{one}</lastmod>" for one, _ in dates]
    found, code = differences(former(*paths, more=before))
    assert ({kind: one["count"] for kind, one in found.items()}, code) == (differ, 0)


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


def test_what_is_no_sitemap(
    tmp_path: Path, article: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, err, code = check(str(tmp_path))
    assert (err.endswith(" has no files.\n"), code) == (True, 1)
    file = tmp_path / "former.xml"
    utf7 = '<?xml version="1.0" encoding="utf-7"?>' + sitemap_of("/a/")
    index = f"an index of 1 sitemaps, and {SITE}/a.xml is not"
    for body, said in [
        (gzip.compress(sitemap_of("/a/").encode())[:-9], "is not well-formed XML"),
        (
            sitemap_of("/a" * 60_000).encode(),
            "has a text or a tag of over 100,000 characters.",
        ),
        (utf7.encode(), "is in the encoding 'utf-7'; sitemaps are in UTF-8."),
        (index_of("/a.xml").encode(), index),
        # A small file that unpacks to a huge one is not read to its end.
        (
            gzip.compress(sitemap_of(*["/a/"] * 20_000).encode()),
            "has over 200,000 bytes; a sitemap may have",
        ),
    ]:
        if "200,000" in said:
            monkeypatch.setattr(entries, "_MOST_BYTES", 200_000)
        file.write_bytes(body)
        out, err, code = check(str(file))
        assert (out, code) == ("", 1)
        assert err.startswith(f"CommandError: {file} ")
        assert said in err


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


@pytest.fixture
def server() -> Iterator[FakeSite]:
    with FakeSite() as site:
        yield site


def test_an_index_at_a_url(article: None, server: FakeSite) -> None:
    articles(1, slug="b")
    names = ("1.xml", "2.xml.gz", "index.xml")
    server.pages |= {
        "/index.xml": index_of(*(f"{server.origin}/{name}" for name in names)),
        "/1.xml": sitemap_of("/articles/a/"),
        "/2.xml.gz": gzip.compress(sitemap_of("/articles/b/").encode()),
        "/folder": Reply(status=301, headers={"Location": "/folder/"}),
    }
    assert differences(f"{server.origin}/index.xml")[1] == 0
    for path_, said in {
        "/none.xml": "answers 404.",
        "/folder": "redirects to /folder/. Name that address.",
    }.items():
        url = f"{server.origin}{path_}"
        assert check(url) == ("", f"CommandError: {url} {said}\n", 1)
    _, err, code = check("http://127.0.0.1:1/sitemap.xml")
    assert err.startswith("CommandError: http://127.0.0.1:1/sitemap.xml cannot be fet")
    assert code == 1


def test_a_live_site_that_runs_this_package_proves_nothing(
    article: None, tmp_path: Path, server: FakeSite
) -> None:
    url, folder = f"{server.origin}/sitemap.xml", str(tmp_path / "before")
    listed = sitemap_of("/articles/a/").partition(">")[2].encode()
    server.pages["/sitemap.xml"] = urlset_header() + listed
    assert differences(url)[1] == 0
    styled = urlset_header(stylesheet=get_settings().stylesheet)
    server.pages["/sitemap.xml"] = styled + listed
    out, err, code = check(url)
    assert (out, code) == ("", 2)
    assert f"This package serves {url} already: it names its stylesheet." in err
    # Two versions of it can be compared, as upgrades do.
    assert check(url, "--save", folder)[2] == 0
    assert differences(folder)[1] == 0


# Misuse


def test_misuse() -> None:
    for arguments, said in [
        (
            ["no.such.thing"],
            "'no.such.thing' is not a URL, a file, a folder or the name",
        ),
        ([here_as("NOT_A_DICT")], "NOT_A_DICT is list, not a dict of sitemaps."),
        ([here_as("SITEMAPS"), "nothing"], "SITEMAPS has no section 'nothing'. It"),
        (["own"], "There is nothing to compare with: no sitemap is registered."),
    ]:
        out, err, code = check(*arguments)
        assert (out, code) == ("", 2)
        assert said in err


def test_a_view_or_a_sitemap_of_contribs_that_fails(article: None) -> None:
    _, err, code = check("broken")
    assert err.endswith("CommandError: /broken.xml answers 500: see the log.\n")
    assert code == 1
    articles(1, slug="no slug")
    _, err, code = check(here_as("SITEMAPS"))
    assert err.startswith(
        "CommandError: Page 1 of the section 'article' cannot be built: "
    )
    assert code == 1


# Many


def test_memory_does_not_grow_with_the_number_of_urls() -> None:
    entry = Entry("", "2026-03-01T09:00:00+00:00", "weekly", "0.5")

    def listed() -> Iterator[tuple[str, Entry]]:
        for number in range(1_000):
            yield "a", entry._replace(location=f"{SITE}/{number * 7919 % 1_000}/")

    tracemalloc.start()
    site = SiteAddress.parse(SITE)
    compare(listed(), listed(), [], site, lambda *told: None)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    # In memory, the entries of both sides would take half a million bytes.
    assert peak < 100_000


def test_progress(monkeypatch: pytest.MonkeyPatch, article: None, former: Save) -> None:
    monkeypatch.setattr(utils, "LINE_EVERY", 0)
    _, err, _ = check(former(*(f"/{number}/" for number in range(2000))))
    assert err.startswith("Before: 1,000 URLs read\nBefore: 2,000 URLs read\nCommand")


# What is saved first


def test_a_class_that_gives_only_locations_is_read(
    article: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As djangoproject.com's does."""

    class Bare(contrib.Sitemap):
        def get_urls(self, *args: Any, **kwargs: Any) -> Any:
            return [{"location": f"{SITE}/articles/{one}/"} for one in "ab"]

        def items(self) -> Any:
            return ["a", "b"]

    monkeypatch.setitem(SITEMAPS, "article", Bare)
    found, code = differences(here_as("SITEMAPS"))
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
    lost = [f"{SITE}/articles/a/", f"{SITE}/articles/b/"]
    assert (found["lost"]["examples"], code) == (lost, 1)


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
    said = "The former sitemap lists nothing, so nothing was compared."
    assert (err, code) == (f"CommandError: {said}\n", 1)


def test_what_can_be_called_is_as_templates_have_it() -> None:
    """Contrib's template prints what a class's ``get_urls()`` returned."""
    info = {"location": lambda: "/a/", "priority": lambda: 0.5}
    entry = sides._entry({**info, "changefreq": lambda item: "daily"})
    assert (entry.location, entry.priority, entry.changefreq) == ("/a/", "0.5", "")
