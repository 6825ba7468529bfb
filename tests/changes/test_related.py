"""Related objects: which pages are compared again after one was saved."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
from django.core.checks import run_checks
from django.db import transaction
from django.db.models import F
from django.db.models.expressions import Col
from django.db.models.sql.constants import INNER, LOUTER
from django.test import Client

from django_sitemaps_plus import Route, Sitemap, touch
from django_sitemaps_plus.building.page_writer import PageWriter
from django_sitemaps_plus.changes import related
from django_sitemaps_plus.changes.assignment import assign
from django_sitemaps_plus.models import Change, Page, RelatedState, Section
from django_sitemaps_plus.sitemaps.sections import source
from tests.conftest import Register
from tests.support.helpers import later, locations, told
from tests.support.ledger_world import HOURS
from tests.support.recorded import Spots
from tests.testapp.models import Article, Category, Label, Spot, Tag

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])


class Filed(Sitemap):
    """Listed by the slug of a category, five a page."""

    location = Route("article", slug=F("slug"))
    limit = 5

    def items(self) -> Any:
        """Return what is in a category that is not hidden."""
        return Article.objects.filter(category__slug__startswith="shown")


class Tagged(Sitemap):
    """Pages of one article each, of those with a tag."""

    location = Route("article", slug=F("slug"))
    limit = 1

    def items(self) -> Any:
        return Article.objects.filter(tags__name="x")


def assigned() -> list[int]:
    """Assign what was recorded; return the pages that are to be compared."""
    assign(source("news"), Section.objects.get(name="news"))
    marked = Page.objects.filter(verified_at=0).order_by("number")
    return list(marked.values_list("number", flat=True))


def crawl(client: Client) -> list[str]:
    """Return what all pages list, having built them."""
    numbers = Page.objects.order_by("number").values_list("number", flat=True)
    urls = [f"/sitemap-news-{number}.xml" for number in numbers]
    return [loc for url in urls for loc in locations(client.get(url))]


@pytest.fixture
def categories(register: Register, client: Client) -> list[Category]:
    """Three categories, of eight articles each, on six pages."""
    made = [Category.objects.create(slug=f"shown{number}") for number in range(3)]
    for category in made:
        for number in range(8):
            slug = f"{category.slug}-{number}"
            Article.objects.create(slug=slug, category=category)
    register("news", Filed)
    client.get("/sitemap-news.xml")
    assert len(crawl(client)) == 24
    for category in made:
        category.save()
    assert assigned() == [1, 2, 3, 4, 5, 6], "nothing is known of them yet"
    crawl(client)
    assert assigned() == []
    told()
    return made


def test_a_save_that_changes_nothing_compares_nothing(
    categories: list[Category],
) -> None:
    categories[1].save()
    assert Change.objects.count() == 1
    assert assigned() == []
    assert Change.objects.count() == 0


def test_only_the_pages_of_the_rows_that_refer_to_it_are_compared(
    categories: list[Category], client: Client
) -> None:
    """Also of those that are not among the items any more."""
    for slug, listed, kind in (("hidden", 16, "removed"), ("shown2", 24, "added")):
        categories[2].slug = slug
        categories[2].save()
        assert assigned() == [5, 6]
        assert len(crawl(client)) == listed
        assert sorted(told()) == [
            (kind, f"/articles/shown2-{number}/") for number in range(8)
        ]


def test_what_an_inner_block_changes_is_of_the_whole_transaction(
    categories: list[Category],
) -> None:
    with transaction.atomic():
        categories[0].article_set.get(slug="shown0-0").save()
        with transaction.atomic():
            categories[2].slug = "hidden"
            categories[2].save()
    assert assigned() == [5, 6]


def behind(category: Category, slug: str) -> None:
    """Change a category behind the signals."""
    Category.objects.filter(pk=category.pk).update(slug=slug)


@pytest.mark.parametrize("how", ["touched", "compared", "another save"])
@pytest.mark.costly
def test_what_a_page_has_seen_changes_when_a_save_brings_it_back(
    categories: list[Category], client: Client, how: str
) -> None:
    """However the page came to see what ``update()`` had written."""
    behind(categories[2], "hidden")
    if how == "touched":
        touch(categories[2])
    elif how == "compared":
        later(HOURS, "verified_at")
    else:
        for article in Article.objects.filter(category=categories[2]):
            article.save()
    assert len(crawl(client)) == 16
    told()
    categories[2].save()
    assert assigned() == [5, 6]
    assert len(crawl(client)) == 24
    assert sorted(told()) == [("added", f"/articles/shown2-{n}/") for n in range(8)]
    categories[1].save()
    assert assigned() == [], "of the others nothing is doubtful"


@pytest.mark.parametrize("when", ["just before", "just after"])
@pytest.mark.costly
def test_what_changes_while_a_page_is_read_is_doubtful(
    categories: list[Category],
    client: Client,
    monkeypatch: pytest.MonkeyPatch,
    when: str,
) -> None:
    """It changes just before its rows are read, or is brought back just after."""
    if when == "just after":
        behind(categories[2], "hidden")
    later(HOURS, "verified_at")
    run = PageWriter.run

    def reading(writer: PageWriter, *bounds: Any) -> int | None:
        if when == "just before":
            behind(categories[2], "hidden")
        found = run(writer, *bounds)
        if when == "just after":
            behind(categories[2], "shown2")
        return found

    with monkeypatch.context() as patched:
        patched.setattr(PageWriter, "run", reading)
        assert len(locations(client.get("/sitemap-news-6.xml"))) == 0
    categories[2].save()
    assert 6 in assigned()


def test_an_object_moved_behind_the_signals_and_back_concerns_both_rows(
    register: Register, client: Client
) -> None:
    first, second, other = (Article.objects.create(slug=slug) for slug in "abc")
    register("news", Tagged)
    tag = Tag.objects.create(article=first, name="x")
    for article in (second, other):
        Tag.objects.create(article=article, name="x" if article is second else "y")
    client.get("/sitemap-news.xml")
    crawl(client)
    assigned()
    crawl(client)
    Tag.objects.filter(pk=tag.pk).update(article=other)
    later(HOURS, "verified_at")
    crawl(client)
    told()
    tag.save()
    assigned()
    crawl(client)
    assert ("removed", "/articles/c/") in told()


def test_only_the_newest_states_are_remembered(
    categories: list[Category], client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(related, "MOST_STATES", 2)
    later(HOURS, "verified_at")
    crawl(client)
    keys = sorted(RelatedState.objects.values_list("key", flat=True))
    assert keys == sorted(str(category.pk) for category in categories[1:])
    categories[0].save()
    assert assigned() == [1, 2]


def test_very_many_rows_compare_every_page(
    categories: list[Category], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(related, "MOST_ROWS", 3)
    categories[0].slug = "shown-again"
    categories[0].save()
    assert assigned() == [1, 2, 3, 4, 5, 6]


def test_a_relation_with_no_look_up_compares_every_page(
    register: Register, client: Client
) -> None:
    label = Label.objects.create(name="shown")
    for name in "abc":
        Spot.objects.create(name=name).labels.add(label)
    register("news", Spots)
    client.get("/sitemap-news.xml")
    assert len(crawl(client)) == 3
    label.name = "hidden"
    label.save()
    assigned()
    assert crawl(client) == []


def test_another_version_of_the_code_may_have_recorded_what_nobody_knows(
    categories: list[Category],
) -> None:
    for label in ("testapp.Tag", "nowhere.Thing", "testapp.Category"):
        Change.objects.create(section="news", related=label, key="no key", at=1)
    assert assigned() == []
    assert Change.objects.count() == 0


class JoinField:
    """What stands where Django's joins have a relation."""


@dataclass(frozen=True)
class Joined:
    """A join without a relation, as packages for common table expressions have it."""

    join_type: str
    parent_alias: str = "testapp_article"
    table_name: str = "testapp_category"
    table_alias: str = "joined"
    filtered_relation: None = None
    nullable: bool = False
    join_field: type = JoinField

    def as_sql(self, compiler: Any, connection: Any) -> tuple[str, list[Any]]:
        on = "testapp_article.category_id = joined.id"
        return f"{self.join_type} {self.table_name} joined ON {on}", []

    def relabeled_clone(self, change_map: Any) -> Joined:
        return self


@pytest.mark.parametrize("join_type", [INNER, LOUTER])
def test_a_join_that_is_no_relation_is_no_dependency_and_hides_none(
    join_type: str, register: Register, client: Client
) -> None:
    class Listed(Filed):
        location = Route("article", slug=F("of_joined"))

        def items(self) -> Any:
            column = Col("joined", Category._meta.get_field("slug"))
            found = super().items().annotate(of_joined=column)
            found.query.alias_map["joined"] = Joined(join_type)
            found.query.alias_refcount["joined"] = 1
            return found

    register("news", Listed)
    category = Category.objects.create(slug="shown")
    article = Article.objects.create(slug="a", category=category)
    assert [one for one in run_checks() if one.id == "sitemaps_plus.E013"] == []
    assert locations(client.get("/sitemap-news-1.xml")) == [
        "https://www.example.com/articles/shown/"
    ]
    article.save()
    assert Change.objects.get().key == f'["{article.pk}"]'
    category.slug = "hidden"
    category.save()
    assert len(assigned()) == 1
