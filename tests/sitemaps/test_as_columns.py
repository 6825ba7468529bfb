"""Methods that only return columns: which are read, and what keeps others methods."""

from __future__ import annotations

import datetime as dt
import linecache
import py_compile
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.apps.registry import Apps
from django.contrib import sitemaps as contrib
from django.db.models import F, Value
from django.db.models.signals import post_init
from django.test import Client
from django.urls import reverse, reverse_lazy
from django.utils.text import slugify

from django_sitemaps_plus import Sitemap, views
from django_sitemaps_plus.changes.dependencies import dependencies
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.sitemaps import as_columns as module
from django_sitemaps_plus.sitemaps.sections import source, source_of
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE
from tests.conftest import Register
from tests.support.factories import articles
from tests.support.helpers import body, run_command
from tests.support.two_paths import instances
from tests.testapp.models import Article, Category, Photo, Tag


class ArticleMethods(Sitemap):
    """As contrib's documentation has it."""

    model = Article

    def lastmod(self, obj: Article) -> Any:
        """Return when it changed."""
        return obj.updated


class Tags(Sitemap):
    """What is behind a required foreign key."""

    model = Tag

    def location(self, item: Tag) -> str:
        from django.urls import reverse

        article = item.article
        return reverse("article", args=(article.slug,))

    def lastmod(self, item: Tag) -> Any:
        return item.article.updated


@PLACEHOLDER_SITE.rendering()
def read(cls: Any) -> Any:
    """Return how the methods of a class are read."""
    return Reader(source_of("name", cls()), PLACEHOLDER_SITE).read_as


def located(location: Any, model: Any = Article, **more: Any) -> type[Sitemap]:
    """Return a class with a method for locations."""
    return type("Located", (Sitemap,), {"model": model, "location": location, **more})


class Linked(Article):
    """What is returned is behind a method, a property and a local name."""

    class Meta:
        proxy = True
        app_label = "testapp"
        apps = Apps()

    @property
    def path_part(self) -> str:
        return self.slug

    def get_link(self) -> str:
        url = reverse("article", kwargs={"slug": self.path_part})
        return url


def linked(self: Any, item: Any) -> Any:
    return item.get_link()


def absolute(self: Any, item: Any) -> Any:
    return item.get_absolute_url()


def lazy(self: Any, item: Any) -> Any:
    return reverse_lazy("article", kwargs={"slug": str(item.slug)})


def test_what_contribs_documentation_shows_is_read() -> None:
    assert repr(read(ArticleMethods).expressions["lastmod"]) == "F(updated)"
    by_method = [located(linked, Linked), located(absolute), located(lazy)]
    for cls in (ArticleMethods, *by_method):
        found = read(cls).expressions
        assert repr(found["location"]) == "Route('article', slug=F(slug))"
    assert {*map(str, read(Tags).expressions.values())} == {
        "Route('article', F(article__slug))",
        "F(article__updated)",
    }


# Outside of the grammar


def either(self: Any, item: Any) -> Any:
    return item.slug or item.title


def chosen(self: Any, item: Any) -> Any:
    if item.live:
        return item.slug
    return item.title


def joined(self: Any, item: Any) -> Any:
    return f"/a/{item.slug}/"


def formatted(self: Any, item: Any) -> Any:
    return "/a/%s/" % item.slug  # noqa: UP031 (as people write it)


def twice(self: Any, item: Any) -> Any:
    reverse("no-such-name", args=[item.pk])
    return reverse("article", kwargs={"slug": item.slug})


def unused(self: Any, item: Any) -> Any:
    other = reverse("no-such-name", args=[item.pk])  # noqa: F841 (it raises)
    return reverse("article", kwargs={"slug": item.slug})


def unnamed(self: Any, item: Any) -> Any:
    return reverse("no-such-name", args=[item.pk])


def optional(self: Any, item: Any) -> Any:
    return reverse("article", args=[item.category.slug])


def stored(self: Any, item: Any) -> Any:
    return item.photo


def called(self: Any, item: Any) -> Any:
    return item.slug()


def shortened(self: Any, item: Any) -> Any:
    return item.slug[:9]


def pathlike(self: Any, item: Any) -> Any:
    return reverse("/articles/", args=[item.slug])


def given(self: Any, item: Any, more: Any = None) -> Any:
    return item.slug


def guessed(self: Any, item: Any) -> Any:
    return getattr(item, "slug", None)


def unlazy(self: Any, item: Any) -> Any:
    return str(reverse_lazy("article", kwargs={"slug": item.slug}))


def slugified(self: Any, item: Any) -> Any:
    return reverse("article", args=[slugify(item.title)])


def dated(self: Any, item: Any) -> Any:
    return reverse("article", args=[item.day.year])


def decorated(method: Any) -> Any:
    return method


@decorated
def marked(self: Any, item: Any) -> Any:
    return item.slug


@pytest.mark.parametrize(
    ("location", "why"),
    [
        (either, "either() has 'item.slug or item.title' ("),
        (chosen, "chosen() has 'if item.live:' ("),
        (joined, "joined() has "),
        (formatted, "formatted() has "),
        (twice, "twice() has \"reverse('no-such-name', args=[item.pk])\" ("),
        (unused, "reverse() is called besides what is returned"),
        (unnamed, "no URL pattern is named 'no-such-name'"),
        (optional, "optional() has 'item.category' ("),
        (stored, "stored() has 'item.photo' ("),
        (called, "Article.slug is not a plain method"),
        (shortened, "shortened() has 'item.slug[:9]' ("),
        (pathlike, "pathlike() has 'args=[item.slug]' ("),
        (given, "given() has 'self: Any, item: Any, more: Any=None' ("),
        (marked, "marked() has '@decorated' ("),
        (guessed, "guessed() has "),
        (unlazy, "unlazy() has "),
        (slugified, "slugified() has "),
        (dated, "dated() has "),
        (lambda self, item: item.slug, "the source of <lambda>() is not at hand"),
        (staticmethod(partial(either, None)), "Located.location is not a plain method"),
        (staticmethod(absolute), "Located.location is not a plain method"),
    ],
)
def test_what_keeps_a_method_is_said(location: Any, why: str) -> None:
    found = read(located(location))
    assert not found.expressions
    assert why in found.why


def test_a_reason_has_file_and_line() -> None:
    line = either.__code__.co_firstlineno + 1
    assert f"({__file__}:{line})" in read(located(either)).why


def test_a_class_can_be_kept_from_it() -> None:
    assert read(located(lazy)).expressions
    assert read(located(lazy, read_columns=False)).why == "read_columns is False"
    hook = {"prepare_items": lambda self, items: None}
    assert read(located(lazy, **hook)).why == "it overrides prepare_items()"
    pictures = {"images": lambda self, item: []}
    assert read(located(lazy, **pictures)).why == "images() is a method"


@pytest.mark.parametrize(
    "items",
    [
        lambda self: Article.objects.annotate(slug_=Value("a")).extra(
            select={"slug": "'other'"}
        ),
        lambda self: Article.objects.annotate(get_absolute_url=Value("a")),
        lambda self: Article.objects.all().union(Article.objects.all()),
        lambda self: list(Article.objects.none()),
    ],
)
@pytest.mark.django_db
def test_what_items_have_of_their_query_is_not_read_off_the_model(items: Any) -> None:
    assert not read(type("Own", (ArticleMethods,), {"items": items})).expressions


def test_receivers_of_init_see_objects() -> None:
    with instances(Article):
        why = "Article has receivers of its init signals"
        assert read(ArticleMethods).why == why
    assert not post_init.has_listeners(Article)
    assert read(ArticleMethods).expressions


# Three traps


@pytest.mark.django_db
@pytest.mark.parametrize(
    "replaced",
    [
        (ArticleMethods, "lastmod", lambda self, obj: None),
        (Article, "get_absolute_url", lambda self: "/mocked/"),
        (Article, "__init__", None),
        (sys.modules[Article.__module__], "reverse", lambda *a, **kw: "/mocked/"),
    ],
)
@pytest.mark.costly
def test_a_mock_is_called_and_forgotten(
    client: Client, register: Register, replaced: Any
) -> None:
    register("article", ArticleMethods)
    articles(2)
    owner, name, value = replaced
    before = dependencies(source("article"))
    digest = definition(source("article")).digest
    init = Article.__init__
    if name == "__init__":

        def value(self: Any, *args: Any, **kwargs: Any) -> None:
            init(self, *args, **kwargs)

    with mock.patch.object(owner, name, value):
        assert not read(ArticleMethods).expressions
        assert definition(source("article")).digest == digest
        page = body(client.get("/sitemap-article-1.xml"))
        assert (b"/mocked/" in page) == (name in ("get_absolute_url", "reverse"))
    assert read(ArticleMethods).expressions
    assert dependencies(source("article")) == before
    # What a method imports itself is looked up by nobody else.
    with mock.patch("django.urls.reverse", return_value="/mocked/"):
        assert not read(Tags).expressions
    assert read(Tags).expressions


@pytest.mark.django_db
def test_no_items_are_asked_for_to_send_a_stored_page(
    client: Client, page_of: Any
) -> None:
    asked: list[int] = []

    def items(self: Any) -> Any:
        asked.append(1)
        return Article.objects.all()

    articles(2)
    page_of(ArticleMethods, items=items)
    asked.clear()
    assert client.get("/sitemap-article-1.xml").status_code == 200
    assert not asked


@pytest.mark.django_db
def test_a_process_without_sources_writes_the_same(
    client: Client, register: Register, monkeypatch: Any
) -> None:
    register("article", ArticleMethods)
    articles(3)
    with instances(Article):
        objects = client.get("/sitemap-article-1.xml")
    described = definition(source("article"))
    articles(1)
    assert read(ArticleMethods).expressions
    again = client.get("/sitemap-article-1.xml")
    assert body(again).startswith(body(objects).removesuffix(b"</urlset>\n"))
    monkeypatch.setattr(linecache, "getlines", lambda *args: [])
    module._syntax.cache_clear()
    assert "is not at hand" in read(ArticleMethods).why
    module._syntax.cache_clear()
    assert definition(source("article")) == described
    assert client.get("/sitemap-article-1.xml").content == again.content


# What runs

SITEMAPS = '''
from django_sitemaps_plus import Sitemap
from tests.testapp.models import Article

class Own(Sitemap):
    """Listed."""
    model = Article

    def location(self, item):
        """Return a column."""
        return item.slug

    def priority(self, item):
        return 1.0
'''


@pytest.fixture
def own(tmp_path: Path, monkeypatch: Any) -> Iterator[Path]:
    """A module with a sitemap, in a folder of its own."""
    path = tmp_path / "own_sitemaps.py"
    path.write_text(SITEMAPS)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, path.stem, raising=False)
    yield path
    forget()


def forget() -> None:
    linecache.clearcache()
    module._syntax.cache_clear()


@pytest.mark.parametrize(("old", "new"), [("item.slug", "item.pk"), ("1.0", "1")])
def test_a_source_that_is_not_what_runs_is_not_read(
    own: Path, old: str, new: str
) -> None:
    """A constant that is equal, but of another type, is another one."""
    cls = import_module(own.stem).Own
    # Edited since, as before autoreload starts again.
    own.write_text(SITEMAPS.replace(old, new))
    assert "is not at hand" in read(cls).why
    own.unlink()
    forget()
    assert "is not at hand" in read(cls).why


READ = "{'location': F(slug), 'priority': 1.0}"


def test_it_is_read_the_same_however_it_is_run(own: Path, monkeypatch: Any) -> None:
    code = (
        f"import sys\nsys.path.insert(0, {str(own.parent)!r})\n"
        "import django\ndjango.setup()\n"
        "from tests.sitemaps.test_as_columns import read\n"
        "sys.settrace(lambda *args: None)\nfrom own_sitemaps import Own\n"
        "found = read(Own)\nprint(found.expressions or found.why)\n"
    )
    done = subprocess.run(
        [sys.executable, "-OO", "-c", code],
        capture_output=True,
        text=True,
        env={"DJANGO_SETTINGS_MODULE": "tests.settings", "PATH": ""},
        cwd=Path(__file__).parents[2],
        check=False,
    )
    assert done.stdout.strip() == READ, done.stderr
    archive = own.with_name("own.zip")
    with zipfile.ZipFile(archive, "w") as file:
        file.write(own, "own_zipped.py")
    py_compile.compile(str(own), str(own.with_name("own_compiled.pyc")))
    own.unlink()
    monkeypatch.syspath_prepend(archive)
    forget()
    assert str(read(import_module("own_zipped").Own).expressions) == READ
    forget()
    why = read(import_module("own_compiled").Own).why
    assert why == "the source of Own.location() is not at hand"


# Around it


@pytest.mark.django_db
def test_a_section_depends_on_what_is_read_behind_a_foreign_key(
    register: Register,
) -> None:
    register("tag", Tags)
    register("photo", type("Photos", (Sitemap,), {"model": Photo, "location": either}))
    found = dependencies(source("tag"))
    assert found[Article].fields == {"slug", "updated"}
    assert found[Article].path == "article"
    assert Category not in found
    assert not dependencies(source("photo"))


class Counted(ArticleMethods):
    """What is not a column in its URL matters to no index."""

    limit = 2
    location = joined


@pytest.mark.django_db
def test_the_index_is_one_query(
    rf: Any, settings: Any, django_assert_num_queries: Any
) -> None:
    settings.ROOT_URLCONF = "tests.test_contrib_views"
    called = type("Called", (Counted,), {"read_columns": False})
    declared = type("Declared", (Counted,), {"lastmod": F("updated")})
    views.index(rf.get("/"), {})  # Sites remember what is asked once
    for dates in ([], [{}], [{}] * 3, [{"updated": None}]):
        for more in dates:
            articles(1, **more)
        with django_assert_num_queries(1):
            counted = views.index(rf.get("/"), {"a": Counted})
        assert counted.content == views.index(rf.get("/"), {"a": called}).content  # type: ignore[attr-defined]
        assert Counted().get_latest_lastmod() == called().get_latest_lastmod()
        with django_assert_num_queries(1):
            views.index(rf.get("/"), {"a": declared})
    assert called().get_latest_lastmod() is None
    assert declared().get_latest_lastmod() is not None


@pytest.mark.django_db
def test_a_class_with_a_newest_lastmod_of_its_own_is_asked(
    rf: Any, settings: Any
) -> None:
    settings.ROOT_URLCONF = "tests.test_contrib_views"
    own = {"get_latest_lastmod": lambda self: dt.date(2001, 2, 3)}
    articles(3)
    shown = views.index(rf.get("/"), {"a": type("Own", (Counted,), own)})
    assert body(shown).count(b"<lastmod>2001-02-03</lastmod>") == 2


@pytest.mark.django_db
def test_the_drop_in_views_read_by_position(
    rf: Any, django_assert_num_queries: Any
) -> None:
    own: dict[str, Any] = {
        "limit": 2,
        "items": lambda self: Tag.objects.order_by("-pk"),
        "location": Tags.location,
        "lastmod": Tags.lastmod,
    }
    for one in articles(3):
        Tag.objects.create(article=one, name=one.slug)
    theirs = type("Theirs", (contrib.Sitemap,), own)
    plain: Any = views.sitemap(rf.get("/"), {"a": theirs}, section="a")
    with django_assert_num_queries(2):
        ours: Any = views.sitemap(
            rf.get("/"), {"a": type("Ours", (Sitemap,), own)}, section="a"
        )
    assert (plain.content, plain.headers) == (ours.content, ours.headers)
    assert body(ours).count(b"<loc>") == 2


@pytest.mark.django_db
def test_a_build_says_how_methods_are_read(register: Register) -> None:
    register("article", ArticleMethods)
    register("joined", Counted)
    out, err, code = run_command("build_sitemaps", "-v2")
    assert (err, code) == ("", 0)
    assert (
        "  Read as columns: location() as Route('article', slug=F(slug)), lastmod() "
        "as F(updated).\n"
    ) in out
    assert "  On the object path: joined() has \"f'/a/{item.slug}/'\" (" in out
    assert "Read as" not in run_command("build_sitemaps")[0]
