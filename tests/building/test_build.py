"""Work ahead of the requests, as ``build_sitemaps`` has it done."""

from __future__ import annotations

from typing import Any

import pytest

from django_sitemaps_plus.building import build
from django_sitemaps_plus.models import Change, Page, PageFile, RelatedState
from tests.conftest import Register
from tests.support.helpers import later, told
from tests.support.ledger_site import Site
from tests.support.ledger_world import place

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.usefixtures("ledger_tables"),
]


@pytest.fixture
def site(register: Register) -> Site:
    """Three pages of nine, nine and seven rows."""
    made = Site(register)
    made.insert(range(0, 250, 10))
    return made


def done(report: build.SectionReport) -> tuple[Any, ...]:
    """Return pages, entries, those with new bytes and those without."""
    assert report.errors == []
    return report.pages, report.entries, report.changed, report.unchanged


def test_reconciling_finds_what_changed_the_count_or_the_newest_lastmod(
    site: Site,
) -> None:
    build.build(site.source, place())
    told()
    rows = site.kind.all()
    site.insert([5])
    rows.filter(pk=100).update(updated="2026-01-01T00:00:00Z")
    rows.filter(pk=200).update(slug="r200-1")
    assert done(build.reconcile(site.source, place())) == (3, 26, 2, 1)
    # What neither shows is found by reading all rows.
    assert done(build.reconcile(site.source, place(), deep=True)) == (3, 26, 1, 2)
    assert sorted(told()) == [
        ("added", "/things/r200-1/"),
        ("added", "/things/r5-0/"),
        ("changed", "/things/r100-0/"),
        ("removed", "/things/r200-0/"),
    ]


def test_what_is_no_longer_registered_is_removed_after_a_day(site: Site) -> None:
    build.build(site.source, place())
    Change.objects.create(section="site", at=1)
    RelatedState.objects.create(section="site", model="x", key="1", state="x")
    assert build.remove_unregistered(["site"]) == []
    assert build.remove_unregistered(["other"]) == []
    assert len(site.pages()) == 3, "another process of a deploy may serve it"
    later(build.UNUSED + 7200, "verified_at")
    assert build.remove_unregistered(["other"]) == [("site", 3)]
    for model in (Page, PageFile, Change, RelatedState):
        assert not model._default_manager.exists()
    # A section that comes back has new numbers.
    assert site.index() == [4, 5, 6]
