"""``views.index`` and ``views.sitemap``: what one who comes from contrib relies on."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from django.contrib.sitemaps import Sitemap as ContribSitemap
from django.contrib.sitemaps import views as contrib
from django.contrib.sites.models import Site
from django.db import connection
from django.db.models import Count, F
from django.http import Http404
from django.template.response import TemplateResponse
from django.test import Client, RequestFactory
from django.urls import path
from django.utils.translation import get_language

from django_sitemaps_plus import GenericSitemap, Route, Sitemap, StaticSitemap, views
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.sitemaps.classes import in_order
from tests.support.factories import articles
from tests.support.helpers import (
    ArticleSitemap,
    Entry,
    PagesSitemap,
    index,
    listed,
    locations,
    remove_sites,
    urlset,
)
from tests.testapp.models import Article
from tests.testapp.views import anything

pytestmark = [pytest.mark.django_db, pytest.mark.urls(__name__)]


class Plain(Sitemap):
    """As a class for contrib looks, with every attribute."""

    changefreq = "weekly"
    limit = 10

    def items(self) -> Any:
        return Article.objects.order_by("pk")

    def lastmod(self, item: Article) -> dt.datetime | None:
        return item.updated

    def priority(self, item: Article) -> float:
        return 0.25 if item.pk % 2 else 0.75


class Translated(Sitemap):
    """Every language, and the default of none."""

    i18n = True
    alternates = True
    x_default = True

    def items(self) -> Any:
        return ["about", "home"]

    def location(self, item: str) -> str:
        return f"/{get_language()}/{item}/?a=1&b=2"


SITEMAPS: dict[str, Any] = {
    "plain": Plain,
    "pages": PagesSitemap,
    "generic": GenericSitemap(
        {"queryset": Article.objects.order_by("pk"), "date_field": "updated"},
        priority=0.6,
        changefreq="monthly",
        protocol="https",
    ),
}

urlpatterns = [
    path("articles/<slug:slug>/", anything, name="article"),
    path("", anything, name="home"),
    path("about/", anything, name="about"),
    path("sitemap.xml", views.index, {"sitemaps": SITEMAPS}),
    path("all.xml", views.sitemap, {"sitemaps": SITEMAPS}),
    path(
        "sitemap-<section>.xml",
        views.sitemap,
        {"sitemaps": SITEMAPS},
        name="django.contrib.sitemaps.views.sitemap",
    ),
    path("of/<section>", views.sitemap, {"sitemaps": SITEMAPS}, name="named"),
]


@pytest.fixture(autouse=True)
def no_base_url(settings: Any) -> None:
    """As a project does that has just changed the import: Sites, and no setting."""
    settings.SITEMAPS_PLUS = {}
    Site.objects.update_or_create(pk=1, defaults={"domain": "example.com"})
    Site.objects.clear_cache()


def ask(sitemaps: Any, view: Any = views.sitemap, page: Any = 1, **given: Any) -> Any:
    """Return what a view answers."""
    return view(RequestFactory().get("/", {"p": page}), sitemaps, **given)


def like_contrib(sitemaps: Any, section: str | None, page: int) -> None:
    """Check that a page is as contrib's, whose template cuts lastmod to its day."""
    ours, theirs = (
        ask(sitemaps, view, page, section=section)
        for view in (views.sitemap, contrib.sitemap)
    )
    cut = [
        replace(entry, lastmod=entry.lastmod and entry.lastmod[:10])
        for entry in urlset(ours)
    ]
    assert cut == urlset(theirs.render())
    for header in ("Content-Type", "X-Robots-Tag", "Last-Modified"):
        assert ours.headers.get(header) == theirs.headers.get(header)


@pytest.mark.parametrize(
    ("section", "page"),
    [
        *[("plain", 1), ("plain", 2), ("pages", 1), ("generic", 1)],
        *[("translated", 1), (None, 1)],
    ],
)
@pytest.mark.costly
def test_the_same_entries_as_contrib(
    settings: Any, section: str | None, page: int
) -> None:
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "django.contrib.sitemaps"]
    articles(15, updated=dt.datetime(2026, 3, 4, 12, tzinfo=dt.UTC))
    sitemaps = {**SITEMAPS, "translated": Translated}
    like_contrib(sitemaps, section, page)
    pages = listed(ask(sitemaps, views.index))
    assert pages == listed(ask(sitemaps, contrib.index).render())
    assert pages[1] == "http://example.com/sitemap-plain.xml?p=2"


def test_through_the_urlconf_each_section_under_its_protocol(client: Client) -> None:
    assert urlset(client.get("/sitemap-plain.xml")) == [], "an empty one has a page"
    assert "http://example.com/sitemap-plain.xml" in listed(client.get("/sitemap.xml"))
    made = articles(11, slug="one")
    pages = [client.get(f"/sitemap-plain.xml?p={number}") for number in (1, 2)]
    one = "http://example.com/articles/one/"
    assert [locations(page) for page in pages] == [[one] * 10, [one]]
    for article in made[2:]:
        article.delete()
    assert locations(client.get("/all.xml")) == [
        *([one] * 2),
        "http://example.com/",
        "http://example.com/about/",
        *(["https://example.com/articles/one/"] * 2),
    ]


@pytest.mark.parametrize(
    ("section", "page", "text"),
    [
        ("plain", "abc", "No page 'abc'"),
        ("plain", "", "No page ''"),
        ("plain", "9" * 5000, f"No page '{'9' * 5000}'"),
        ("plain", "3", "Page 3 empty"),
        ("plain", "0", "Page 0 empty"),
        ("plain", "99999999999999999999", "Page 99999999999999999999 empty"),
        ("nothing", "1", "No sitemap available for section: 'nothing'"),
        (None, "2", "Page 2 empty"),
    ],
)
def test_what_is_not_there_has_the_text_of_contrib(
    section: str | None, page: str, text: str
) -> None:
    articles(15)
    for view in (views.sitemap, contrib.sitemap):
        with pytest.raises(Http404) as caught:
            ask(SITEMAPS, view, page, section=section)
        assert str(caught.value) == text


def test_a_section_is_a_class_an_instance_or_a_factory() -> None:
    for source in (PagesSitemap, PagesSitemap(), lambda: PagesSitemap()):
        assert len(urlset(ask({"pages": source}))) == 2
        assert len(listed(ask({"pages": source}, views.index))) == 1


def test_url_name_and_content_type_can_be_chosen() -> None:
    chosen = {"content_type": "text/xml"}
    for view in (views.sitemap, views.index):
        response = ask({"pages": PagesSitemap}, view, **chosen)
        assert response.headers["Content-Type"] == "text/xml"
        chosen["sitemap_url_name"] = "named"
    assert listed(response) == ["http://example.com/of/pages"]


def test_expressions_and_routes_work_in_a_dict_too() -> None:
    own = {"priority": F("weight"), "limit": 2}
    made = articles(3, weight=0.5)
    (entry,) = urlset(ask({"a": type("Own", (ArticleSitemap,), own)}, page=2))
    location = f"http://example.com/articles/{made[2].slug}/"
    assert entry == Entry(location, lastmod=entry.lastmod, priority="0.5")
    assert entry.lastmod is not None


def test_too_many_entries_for_one_urlset_are_refused_with_the_remedy() -> None:
    class Many(Sitemap):
        def items(self) -> Any:
            return range(25_001)

        def location(self, item: int) -> str:
            return f"/{item}/"

    with pytest.raises(ConfigurationError) as caught:
        ask({"b": Many, "a": Many})
    assert str(caught.value) == (
        "The sections a, b together are more than one sitemap may hold (50,000 URLs, "
        "50 MB). Serve django_sitemaps_plus.views.index at this address, and this "
        "view with a section."
    )


def test_items_without_an_order_are_paged_by_their_keys(
    django_assert_max_num_queries: Any,
) -> None:
    """Or a database may give a row twice, and another one never."""
    unordered = {"items": lambda self: Article.objects.all()}
    sitemaps = {"a": type("Unordered", (Plain,), unordered)}
    made = articles(15)
    with django_assert_max_num_queries(5) as captured:
        found = [loc for page in (1, 2) for loc in locations(ask(sitemaps, page=page))]
    assert found == [f"http://example.com/articles/{item.slug}/" for item in made]
    statements = [query["sql"] for query in captured]
    assert not any("sitemaps_plus" in sql for sql in statements), "no migration"
    rows = [sql for sql in statements if "COUNT" not in sql]
    assert all("ORDER BY" in sql for sql in rows if "testapp_article" in sql)


class Evaluated(Plain):
    """Its items() reads the queryset, and puts what location() needs into it."""

    def items(self) -> Any:
        items = Article.objects.all()
        for number, item in enumerate(items):
            item.number = number  # type: ignore[attr-defined]
        return items

    def location(self, item: Any) -> str:
        return f"/number/{item.number}/"


class EvaluatedValues(Evaluated):
    """The same, of dicts."""

    def items(self) -> Any:
        items = Article.objects.values("pk", "slug", "updated")
        for number, item in enumerate(items):
            item["number"] = number
        return items

    def location(self, item: Any) -> str:
        return f"/number/{item['number']}/"

    def lastmod(self, item: Any) -> dt.datetime:
        updated: dt.datetime = item["updated"]
        return updated

    def priority(self, item: Any) -> float:
        return 0.5


@pytest.mark.filterwarnings("ignore:Pagination may yield")  # of contrib's
@pytest.mark.parametrize("kind", [Evaluated, EvaluatedValues])
@pytest.mark.parametrize("base", [Sitemap, ContribSitemap])
def test_an_evaluated_queryset_keeps_what_items_put_into_it(
    settings: Any, kind: type, base: type
) -> None:
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "django.contrib.sitemaps"]
    names = ("items", "location", "lastmod", "priority", "limit")
    given = {name: getattr(kind, name) for name in names}
    articles(15, updated=dt.datetime(2026, 3, 4, 12, tzinfo=dt.UTC))
    for page in (1, 2):
        like_contrib({"a": type("Any", (base,), given)}, None, page)


def test_the_newest_lastmod_is_that_of_an_evaluated_queryset() -> None:
    class Dated(Evaluated):
        def lastmod(self, item: Any) -> dt.datetime:
            return dt.datetime(2026, 1, 1 + item.number, tzinfo=dt.UTC)

    articles(3)
    (entry,) = index(ask({"pages": Dated}, views.index))
    assert entry.lastmod == "2026-01-03T00:00:00+00:00"


def section_of(items: Any, **values: Any) -> dict[str, type]:
    """Return a section with some items."""
    own = {"items": lambda self: items(), **values}
    return {"some": type("Some", (Sitemap,), own)}


@pytest.mark.parametrize(
    "items",
    [
        lambda: Article.objects.order_by().values("title").distinct(),
        lambda: Article.objects.order_by().values("title").annotate(all=Count("pk")),
    ],
    ids=["distinct", "grouped"],
)
def test_values_are_grouped_as_items_says(items: Any) -> None:
    def location(self: Any, item: Any) -> str:
        return f"/{item['title']}/"

    articles(2, title="b")
    articles(2, title="a")
    sitemaps = section_of(items, location=location, limit=1)
    found = [locations(ask(sitemaps, page=page)) for page in (1, 2)]
    assert found == [["http://example.com/a/"], ["http://example.com/b/"]]


def test_distinct_on_some_fields_is_not_ordered_by_another() -> None:
    """PostgreSQL refuses that; other databases refuse distinct() on fields at all."""
    items = Article.objects.distinct("title")
    assert in_order(items) is items
    for title in ("a", "a", "b"):
        articles(1, title=title)
    if connection.features.can_distinct_on_fields:
        assert len(locations(ask(section_of(items.all)))) == 2


def test_expressions_and_what_items_put_into_its_objects_exclude_each_other() -> None:
    mixed = type("Mixed", (Evaluated,), {"lastmod": F("updated")})
    with pytest.raises(ConfigurationError, match="Mixed declares ORM expressions"):
        ask({"a": mixed})
    both = {"location": Route("article", slug=F("slug")), "lastmod": F("updated")}
    made = articles(2)
    plain = type("Plain", (Evaluated,), {**both, "priority": 0.5})
    assert locations(ask({"a": plain})) == [
        f"http://example.com/articles/{item.slug}/" for item in made
    ]


# Bad rows


class Mixed(Sitemap):
    """One good location among bad ones."""

    def items(self) -> Any:
        return ["raise", "javascript:alert(1)", "/good/", "//other.example/", "x/"]

    def location(self, item: str) -> str:
        if item == "raise":
            raise LookupError("no such thing")
        return item


def test_bad_rows_are_left_out_and_reported(
    settings: Any, caplog: pytest.LogCaptureFixture
) -> None:
    assert locations(ask({"mixed": Mixed})) == ["http://example.com/good/"]
    assert [record.getMessage() for record in caplog.records] == [
        "Section 'mixed', row 'raise' left out: LookupError: no such thing",
        "Section 'mixed', row 'javascript:alert(1)' left out: location "
        "'javascript:alert(1)': neither a path nor an http(s) URL",
        "Section 'mixed', row '//other.example/' left out: location "
        "'http://other.example/': not a URL of http://example.com",
        "Section 'mixed', row 'x/' left out: location 'x/': neither a path nor an "
        "http(s) URL",
    ]
    settings.SITEMAPS_PLUS = {"ON_ERROR": "raise"}
    with pytest.raises(LookupError, match="no such thing"):
        ask({"mixed": Mixed})


def test_too_many_bad_rows_are_no_empty_urlset() -> None:
    gone = type("Gone", (StaticSitemap,), {"names": ["gone", "lost"]})
    sitemaps = {"gone": gone, "pages": PagesSitemap}
    for section in ("gone", None):
        response = ask(sitemaps, section=section)
        assert response.status_code == 503
        assert response.headers["Retry-After"] == "60"
        assert b"cannot be built at the moment" in response.content
    assert len(locations(ask(sitemaps, section="pages"))) == 2


# Last-Modified


def dated(*values: Any) -> type[Sitemap]:
    """Return a sitemap of items that have these lastmods."""
    own = {
        "items": lambda self: list(values),
        "location": lambda self, item: "/page/",
        "lastmod": lambda self, item: item,
    }
    return type("Dated", (Sitemap,), own)


DAY = dt.date(2026, 1, 2)
TIME = dt.datetime.fromisoformat("2026-01-02T03:04:05")
BEHIND = dt.datetime.fromisoformat("2026-01-02T03:04:05-05:00")
FIRST = dt.datetime.fromisoformat("0001-01-01T00:00:00+02:00")


@pytest.mark.parametrize(
    ("values", "header"),
    [
        ([DAY, dt.date(2026, 1, 1)], "Fri, 02 Jan 2026 00:00:00 GMT"),
        ([TIME], "Fri, 02 Jan 2026 03:04:05 GMT"),
        ([BEHIND], "Fri, 02 Jan 2026 08:04:05 GMT"),
        *[([DAY, None], None), ([], None), (["2026-01-02"], None), ([FIRST], None)],
    ],
)
@pytest.mark.costly
def test_last_modified_is_there_if_all_items_have_a_date(
    values: list[Any], header: str | None
) -> None:
    for view in (views.sitemap, views.index):
        response = ask({"a": dated(*values)}, view)
        assert response.headers.get("Last-Modified") == header


def test_last_modified_of_several_sections() -> None:
    """Python cannot compare dates with times: contrib's view ends in a TypeError."""
    time = dt.datetime(2026, 1, 1, 9, tzinfo=dt.UTC)
    response = ask({"a": dated(DAY, time)})
    assert response.headers["Last-Modified"] == "Fri, 02 Jan 2026 00:00:00 GMT"
    # Of a section without items nobody knows when its last one went.
    for values in ([None], []):
        several = {"a": dated(DAY), "b": dated(*values)}
        for view in (views.sitemap, contrib.sitemap):
            assert "Last-Modified" not in ask(several, view).headers


def test_dates_given_as_text_are_written_if_they_are_legal() -> None:
    legal = ["2026-01-02", "2026-01-02T03:04:05Z"]
    everyday = {"everyday": dated(*legal, "yesterday", "2026")}
    found = [entry.lastmod for entry in urlset(ask(everyday))]
    assert found == [*legal, None, None]
    listing = listed(ask(everyday, views.index))
    assert listing == ["http://example.com/sitemap-everyday.xml"]


# Templates


@pytest.fixture
def template(tmp_path: Path, settings: Any) -> Any:
    """Put a template into the project's own folder."""

    def write(name: str, text: str) -> None:
        (tmp_path / name).write_text(text, encoding="utf-8")
        backend = "django.template.backends.django.DjangoTemplates"
        own = {"BACKEND": backend, "DIRS": [str(tmp_path)], "APP_DIRS": True}
        settings.TEMPLATES = [own]

    return write


def test_a_template_name_gives_the_response_and_the_context_of_contrib(
    template: Any,
) -> None:
    articles(1)
    template("mine.xml", "{% for url in urlset %}{{ url.location }};{% endfor %}")
    template("list.xml", "{% for site in sitemaps %}{{ site.location }};{% endfor %}")
    page = ask({"a": ArticleSitemap}, template_name="mine.xml")
    assert isinstance(page, TemplateResponse)
    (info,) = page.context_data["urlset"]
    names = {"item", "location", "lastmod", "changefreq", "priority", "alternates"}
    assert set(info) == names
    assert page.render().content.decode() == f"{info['location']};"
    index = ask({"a": ArticleSitemap}, views.index, template_name="list.xml")
    assert isinstance(index, TemplateResponse)
    assert index.render().content == b"http://example.com/sitemap-a.xml;"


@pytest.mark.parametrize(
    ("name", "text", "address"),
    [
        ("sitemap.xml", "mine: {{ urlset|length }}", "/sitemap-plain.xml"),
        ("sitemap_index.xml", "mine: {{ sitemaps|length }}", "/sitemap.xml"),
    ],
)
def test_the_project_s_own_template_is_found(
    client: Client, template: Any, name: str, text: str, address: str
) -> None:
    articles(3)
    template(name, text)
    for other in ("/sitemap.xml", "/sitemap-plain.xml"):
        is_mine = client.get(other).content == b"mine: 3"
        assert is_mine is (other == address)


def test_the_template_of_contrib_is_not_the_project_s_own(settings: Any) -> None:
    settings.INSTALLED_APPS = ["django.contrib.sitemaps", *settings.INSTALLED_APPS]
    assert not isinstance(ask({"pages": PagesSitemap}), TemplateResponse)


# Contrib's hooks


def test_a_class_that_makes_its_own_urls_is_asked_for_them(rf: RequestFactory) -> None:
    def get_urls(self: Any, page: Any, site: Any, protocol: Any) -> Any:
        german = {"lang_code": "de", "location": "https://de.example/"}
        given = {"location": f"{protocol}://{site.domain}/", "alternates": [german]}
        given |= {"changefreq": "daily", "priority": "0.5"}
        return [{**given, "lastmod": dt.date(2026, 1, 2)}]

    own = {"own": type("Own", (Sitemap,), {"get_urls": get_urls})}
    german = {"de": "https://de.example/"}
    assert urlset(views.sitemap(rf.get("/", secure=True), own)) == [
        Entry("https://example.com/", "2026-01-02", "daily", "0.5", german)
    ]


def test_a_class_that_makes_its_own_urls_is_asked_for_its_items_once() -> None:
    asked = []

    class Joined(ContribSitemap):
        """As Mezzanine's, whose items() takes a statement for each model."""

        limit = 2

        def items(self) -> Any:
            asked.append(1)
            return list(Article.objects.order_by("pk"))

        def get_urls(self, *args: Any, **kwargs: Any) -> Any:
            return super().get_urls(*args, **kwargs)

    articles(3)
    given = {"joined": Joined}
    for view in (contrib.sitemap, views.sitemap):
        for page, expected in {"1": 2, "2": 1}.items():
            asked.clear()
            response = ask(given, view, page)
            is_theirs = isinstance(response, TemplateResponse)
            urls = response.context_data["urlset"] if is_theirs else urlset(response)
            assert (len(urls), len(asked)) == (expected, 1)
        for page, text in {"3": "Page 3 empty", "x": "No page 'x'"}.items():
            with pytest.raises(Http404, match=text):
                ask(given, view, page)


def test_a_class_that_overrides_get_is_asked_through_it() -> None:
    class Doubled(PagesSitemap):
        def _get(self, name: str, item: Any, default: Any = None) -> Any:
            value = super()._get(name, item, default)
            return f"{value}?x=1" if name == "location" else value

    (first, _) = locations(ask({"a": Doubled}))
    assert first == "http://example.com/?x=1"


def test_a_request_without_a_site_uses_its_host(
    rf: RequestFactory, settings: Any
) -> None:
    remove_sites(settings)
    request = rf.get("/", headers={"host": "example.org"})
    assert locations(views.sitemap(request, {"pages": PagesSitemap})) == [
        "http://example.org/",
        "http://example.org/about/",
    ]
