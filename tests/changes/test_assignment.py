"""Which page a change concerns: keys, ranges, and what appears by the clock."""

from __future__ import annotations

import datetime as dt
import itertools
import json
import random
import time
from typing import Any

import pytest
from django.db import transaction
from django.db.models import F

from django_sitemaps_plus import pagination
from django_sitemaps_plus.changes import assignment
from django_sitemaps_plus.models import Change, Page, Section
from django_sitemaps_plus.pagination.bounds import fill, split_after
from django_sitemaps_plus.pagination.queries import lease, ordered
from django_sitemaps_plus.serving.documents import pages_of
from django_sitemaps_plus.sitemaps import sections
from tests.conftest import Register
from tests.support.ledger_kinds import KINDS, Kind
from tests.support.ledger_site import Site
from tests.support.ledger_world import sitemap_class

pytestmark = [
    pytest.mark.django_db(databases=["default", "other"]),
    pytest.mark.usefixtures("ledger_tables"),
]


def record(*keys: int, **values: Any) -> None:
    """Write down changes of integer keys, a minute ago."""
    given = {"at": time.time() - 60, "section": "site", **values}
    Change.objects.bulk_create(
        Change(key=json.dumps([str(key)]), **given) for key in keys
    )


def section(name: str = "site") -> Section:
    return Section.objects.get(name=name)


def assign(site: Site) -> None:
    assignment.assign(site.source, section(site.name))


def owners() -> dict[str, int | None]:
    """Return the page of each recorded key."""
    return dict(Change.objects.values_list("key", "page"))


# Which page owns a key


def plain_owner(kind: Kind, found: list[Page], key: Any) -> int:
    """Ask the database for each bound whether the key is before it."""
    walk = sections.source("world").paged_by
    row = kind.all().filter(**dict(zip(kind.columns, key, strict=True)))
    number = found[0].number
    for page in found[1:]:
        assert page.lower is not None
        if not walk.where(row, "gte", walk.loads(page.lower)).exists():
            break
        number = page.number
    return number


@pytest.mark.parametrize("kind", KINDS.values(), ids=str)
@pytest.mark.costly
def test_every_kind_of_key_finds_the_page_that_the_database_says(
    kind: Kind, register: Register, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = random.Random(7)  # noqa: S311 (nothing secret)
    keys = kind.universe(rng)
    rows = [
        {**dict(zip(kind.columns, key, strict=True)), "slug": str(number)}
        for number, key in enumerate(keys)
    ]
    kind.insert(rows)
    register("world", sitemap_class(kind, 10))
    source = sections.source("world")
    fill(source)
    found = list(ordered(section("world")))
    assert len(found) > 5
    tested = [*rng.sample(keys, 25), keys[0], keys[-1]]
    dumps = source.paged_by.dumps
    Change.objects.all().delete()
    for key in tested:
        Change.objects.create(section="world", key=dumps(key), at=1)
    # Bounds are their own page's first keys.
    for page in found[1:]:
        Change.objects.create(section="world", key=page.lower, at=1)
    expected = {dumps(key): plain_owner(kind, found, key) for key in tested}
    expected |= {page.lower: page.number for page in found[1:] if page.lower}
    for bounds in (500, 4):  # at once; coarse, then fine
        monkeypatch.setattr(pagination.places, "BOUNDS", bounds)
        Change.objects.update(page=None)
        assignment.assign(source, section("world"))
        assert dict(Change.objects.values_list("key", "page")) == expected
    # Some at a time, as of an object on which thousands of rows depend.
    monkeypatch.setattr(pagination.places, "KEYS_AT_ONCE", 10)
    assert pages_of(source, expected) == expected
    kind.empty()


# Ranges


@pytest.fixture
def site(register: Register) -> Site:
    """Four pages, of 0–8, 9–17, 18–26 and 27–39, made."""
    made = Site(register)
    made.insert(range(36))
    made.crawl()
    assert [page.lower for page in made.pages()] == [None, '["9"]', '["18"]', '["27"]']
    Change.objects.all().delete()
    return made


def marked(site: Site) -> list[int]:
    return [page.number for page in site.pages() if page.verified_at == 0]


def test_a_range_marks_the_pages_that_it_crosses(site: Site) -> None:
    record(12, upto='["18"]')
    versions = {page.number: page.version for page in site.pages()}
    assign(site)
    assert marked(site) == [2, 3]
    assert not Change.objects.exists()
    bumped = [p.number for p in site.pages() if p.version > versions[p.number]]
    assert bumped == [2, 3], "who makes them just now has read their rows already"


def test_a_key_that_cannot_be_read_is_the_whole_section(site: Site) -> None:
    """Code from before a deploy has written it, when the key was another column."""
    for key in ("", '["a-slug"]', '["1", "2"]', "no json", '["5"]'):
        Change.objects.create(section="site", key=key, at=1)
    Change.objects.create(section="site", key='["x"]', upto='["y"]', at=1)
    assign(site)
    assert marked(site) == [1, 2, 3, 4]
    assert owners() == {'["5"]': 1}
    assert site.get(1).status_code == 200


def test_only_a_change_of_one_key_is_assigned_to_a_page(site: Site) -> None:
    """A range, or an object of another model, may concern any number of pages."""
    record(5, upto='["30"]')
    record(12)
    record(13, related="testapp.Category")
    assign(site)
    assert owners() == {'["12"]': 2}, "the others are compared, or of no account"
    assert marked(site) == [1, 2, 3, 4]
    Page.objects.update(verified_at=1)
    record(14, related="testapp.Category")
    assign(site)
    assert owners() == {'["12"]': 2}
    assert marked(site) == []


def test_a_section_that_is_not_filled_waits(site: Site) -> None:
    record(5)
    Section.objects.update(filled=False)
    assign(site)
    assert owners() == {'["5"]': None}
    Section.objects.update(filled=True, key="another.column:TextField")
    assign(site)
    assert owners() == {'["5"]': None}


def test_a_page_divided_while_keys_are_assigned(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever read the bounds before must not hand a key to the page it had."""
    record(38)
    real, done = assignment._write, itertools.count()

    def slow(*args: Any) -> bool:
        if next(done) == 0:
            with lease(section()) as owner, transaction.atomic():
                split_after(site.page(4), owner, ['["38"]'])
        return real(*args)

    monkeypatch.setattr(assignment, "_write", slow)
    assign(site)
    assert owners() == {'["38"]': 5}


def test_changes_are_assigned_some_at_a_time(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(assignment, "KEYS_AT_ONCE", 3)
    record(*range(10))
    assign(site)
    assert set(owners().values()) == {1, 2}
    assignment.unassign("site", 1)
    assert set(owners().values()) == {None, 2}


# The clock


def test_what_appears_is_found_once_a_minute_whatever_clocks_say(
    register: Register,
) -> None:
    """
    A host whose clock is slow may build a page just after a look without what was due.

    And one that was set back makes nobody wait until it is as late as it was.
    """
    kind = KINDS["integers"]
    site = Site(register, appears=F("updated"), limit=10)
    site.insert(range(20))
    site.crawl()
    Change.objects.all().delete()
    first = section().ticked_at
    assert first > time.time() - 60
    assign(site)
    assert section().ticked_at == first, "not yet"
    Section.objects.update(ticked_at=time.time() + 3600)
    assign(site)
    assert section().ticked_at <= time.time()
    now = time.time()
    looked = now - 61
    for number, at in (12, now - 30), (3, looked - 4), (15, looked - 60):
        due = dt.datetime.fromtimestamp(at, dt.UTC)
        kind.all().filter(id=number).update(updated=due)
    Section.objects.update(ticked_at=looked)
    assign(site)
    assert owners() == {'["12"]': 2, '["3"]': 1}, "and not what appeared long ago"
    assert all(change.created for change in Change.objects.all()), "they are added"
