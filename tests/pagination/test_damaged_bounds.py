"""Boundaries that a failing disk or SQL has damaged divide a section anew."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain

import pytest

from django_sitemaps_plus.health.alerts import Alert, alerts
from django_sitemaps_plus.models import Page, Section
from tests.conftest import Register
from tests.support.helpers import later, run_command
from tests.support.ledger_kinds import KINDS
from tests.support.ledger_site import Site
from tests.support.ledger_world import HOURS

pytestmark = [
    pytest.mark.django_db(transaction=True, databases=["default", "other"]),
    pytest.mark.usefixtures("ledger_tables"),
]

ROWS = range(100, 136)


def lose(*numbers: int) -> Callable[[], object]:
    return lambda: Page.objects.filter(number__in=numbers).delete()


def write(lower: str | None, number: int = 2) -> Callable[[], object]:
    return lambda: Page.objects.filter(number=number).update(lower=lower)


def exchange() -> None:
    second, third = Page.objects.filter(number__in=[2, 3]).order_by("number")
    second.lower, third.lower = third.lower, second.lower
    Page.objects.bulk_update([second, third], ["lower"])


DAMAGE = {
    "the first is lost": lose(1),
    "all are lost": lose(1, 2, 3, 4),
    "one has no bound": write(None),
    "the last has no bound": write(None, 4),
    "the first has a bound": write('["090"]', 1),
    "no JSON": write("x"),
    "no list": write("5"),
    "two parts": write('["100", "101"]'),
    "null": write("[null]"),
    "as the next": write('["118"]'),
    "exchanged": exchange,
}


@pytest.fixture(params=["integers", "texts"])
def site(register: Register, request: pytest.FixtureRequest) -> Site:
    """Four pages, built; keys that Python compares, and keys that it does not."""
    made = Site(register, KINDS[request.param])
    made.insert(ROWS)
    made.crawl()
    assert [page.number for page in made.pages()] == [1, 2, 3, 4]
    return made


@pytest.mark.parametrize("is_saved", [False, True])
@pytest.mark.parametrize("what", DAMAGE)
@pytest.mark.costly
def test_each_row_is_listed_once_again(
    site: Site, what: str, is_saved: bool, caplog: pytest.LogCaptureFixture
) -> None:
    DAMAGE[what]()
    if is_saved:
        for row in site.kind.all():
            row.save()
    for _ in range(3):
        later(HOURS, "verified_at")
        for number in [None, *(page.number for page in site.pages())]:
            assert site.get(number).status_code in (200, 404, 503)
    assert sorted(chain(*site.settle().values())) == [*ROWS]
    said = [r for r in caplog.records if "boundaries of the section" in r.getMessage()]
    assert [record.levelname for record in said] == ["ERROR"], "once"
    (alert,) = alerts([Alert.Subject.SECTIONS])
    assert "the page boundaries were damaged just now" in alert.text
    assert alert.level == "warning"


@pytest.mark.parametrize("what", DAMAGE)
@pytest.mark.costly
def test_a_command_divides_it_anew(site: Site, what: str) -> None:
    DAMAGE[what]()
    codes = [run_command("build_sitemaps", "--reconcile", "--deep")[2] for _ in "12"]
    assert codes[1] == 0
    assert sorted(chain(*site.crawl().values())) == [*ROWS]


def test_a_division_that_was_damaged_before_it_was_done_begins_anew(site: Site) -> None:
    Section.objects.update(filled=False)
    write("x", 4)()
    assert sorted(chain(*site.crawl().values())) == [*ROWS]
