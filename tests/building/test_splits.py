"""What is told of a page that is divided."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError, connection

from tests.conftest import Register
from tests.support.helpers import later, told
from tests.support.ledger_kinds import KINDS
from tests.support.ledger_site import Site, path
from tests.support.ledger_world import HOURS

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("ledger_tables"),
]

FORMER = list(range(0, 90, 10))
SECOND = list(range(90, 180, 10))
ADDRESS = "/sitemap-site-1.xml"


@pytest.fixture
def site(register: Register) -> Site:
    """Two full pages, built: 0 to 80 and 90 to 170."""
    made = Site(register)
    made.insert(range(0, 180, 10))
    assert made.crawl() == {1: FORMER, 2: SECOND}
    later(100, "changed_at")
    return made


def split(site: Site, *numbers: int) -> None:
    """Split the first page: 0 to 20 stay on it, page 3 has the rest."""
    site.insert(numbers or (1, 2, 3))
    later(HOURS, "verified_at")
    site.get(1)


def test_a_split_forgets_nothing_that_nobody_recorded(site: Site) -> None:
    told()
    site.rename(20, 70, save=False)
    KINDS["integers"].all().filter(pk__in=(30, 80))._raw_delete("default")
    split(site, 1, 2, 3, 4, 5)
    assert sorted(told()) == sorted(
        [("added", path(number)) for number in (1, 2, 3, 4, 5)]
        + [("added", path(number, 1)) for number in (20, 70)]
        + [("removed", path(number)) for number in (20, 70, 30, 80)]
    )
    site.crawl()
    assert told() == []


def test_rows_that_took_each_others_place_are_not_called_removed(site: Site) -> None:
    rows = KINDS["integers"].all()
    for number, slug in ((40, "r0-9"), (20, "r40-0"), (40, "r20-0")):
        rows.filter(pk=number).update(slug=slug)
    split(site)
    site.crawl()
    assert not [kind for kind, _ in told() if kind == "removed"]


def test_a_split_that_is_rolled_back_once_is_tried_again(site: Site) -> None:
    told()
    left = 1

    def fails_once(run: Any, sql: str, *args: Any) -> Any:
        nonlocal left
        # After numbers were taken and pages added.
        if left and "sitemaps_plus_urlchange" in sql and "INSERT" in sql:
            left = 0
            raise OperationalError("deadlock detected")
        return run(sql, *args)

    with connection.execute_wrapper(fails_once):
        split(site)
    assert not left
    assert sorted(site.crawl()) == [1, 2, 3]
    assert sorted(told()) == [("added", path(number)) for number in (1, 2, 3)]
