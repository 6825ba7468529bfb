"""Threads and connections at the same section at the same time."""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import connection
from django.db.backends.signals import connection_created
from django.test import Client
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus.building import pages
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.pagination import bounds
from django_sitemaps_plus.pagination.bounds import fill
from django_sitemaps_plus.pagination.queries import WAIT, section_row
from tests.conftest import Register
from tests.support.helpers import PagesSitemap, later
from tests.support.ledger_kinds import Number
from tests.support.ledger_site import Site
from tests.support.ledger_world import HOURS, place, read_entries
from tests.support.processes import THOROUGH, at_once, elsewhere

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("ledger_tables"),
]


@contextmanager
def statements(table: str) -> Iterator[list[str]]:
    """Collect what is read from ``table`` by connections that open from now on."""
    found: list[str] = []

    def execute(run: Any, sql: str, *args: Any) -> Any:
        if table in sql and sql.startswith("SELECT"):
            found.append(sql)
        return run(sql, *args)

    def watch(connection: Any, **kwargs: Any) -> None:
        connection.execute_wrappers.append(execute)

    connection_created.connect(watch)
    try:
        yield found
    finally:
        connection_created.disconnect(watch)


def ask(path: str) -> tuple[bytes, str]:
    """Ask for a path as a crawler does, that comes again when it is told to."""
    while (answer := Client().get(path)).status_code == 503:
        time.sleep(0.1)
    return answer.content, answer.headers["ETag"]


def ids(body: bytes) -> list[int]:
    return [entry.rank for entry in read_entries(body.decode()).entries]


# Twenty crawlers at once


@pytest.mark.usefixtures("crowd")
def test_twenty_requests_of_a_cold_ledger_fill_it_once_and_build_a_page_once(
    register: Register,
) -> None:
    """Few of them wait; the others are asked to come again, and then they get it."""
    seen: Counter[int] = Counter()

    def priority(self: Any, item: Any) -> None:
        seen[item.pk] += 1

    site = Site(register, limit=100, priority=priority)
    site.insert(range(1000))
    with statements(Number._meta.db_table) as read:
        answers = at_once(20, lambda turn: ask(f"/sitemap-site-{1 + turn % 2}.xml"))
    assert len(set(answers)) == 2
    found = sorted(ids(body) for body, _ in set(answers))
    assert found == [[*range(90)], [*range(90, 180)]]
    assert len(site.pages()) == 11
    assert seen == Counter(range(180)), "each row was asked once"
    bounds = [sql for sql in read if "slug" not in sql]
    assert len(bounds) == 13, "each bound was found once, and the tail measured"


def test_one_request_of_all_waits_for_the_bounds_that_another_finds(
    register: Register, sleepers: list[int]
) -> None:
    site = Site(register)
    site.insert(range(40))
    section = section_row("site", site.source.key)
    assert Section.objects.filter(pk=section.pk).take("another", 60)
    begun = time.monotonic()
    assert site.get(1).status_code == 503
    assert time.monotonic() - begun >= WAIT
    Section.objects.filter(name="").update(waiting_until=time.time() + 60)
    sleepers.clear()
    assert site.get(1).status_code == 503
    assert sleepers == [], "somebody waits already"
    later(HOURS, "claimed_until")
    assert site.get(1).status_code == 200


# Another connection between any two statements

#: A page of nine rows, from 90 to 170, between two others.
ROWS = range(0, 270, 10)
CROWD = range(101, 109)
MORE = range(131, 139)


def overtaken(site: Site) -> None:
    """More come, and another process builds the page: this one's claim has run out."""
    site.insert(MORE)
    if not Section.objects.exclude(claimed_by="").exists():
        # While the section is being divided it would wait.
        pages.Serving(site.source, place()).build(site.page(2))


MEANWHILE: dict[str, Callable[[Site], Any]] = {
    "all rows go": lambda site: site.delete(site.rows()),
    "half of them go": lambda site: site.delete(site.rows()[::2]),
    "more come": lambda site: site.insert(MORE),
    "more come and another builds it": overtaken,
    "positions move": lambda site: bounds._spread(Section.objects.get(name="site")),
}


@pytest.mark.parametrize("overflows", [False, True], ids=["it fits", "it is split"])
@pytest.mark.parametrize("what", MEANWHILE)
@pytest.mark.costly
def test_whatever_happens_between_two_statements_harms_no_page(
    register: Register, what: str, overflows: bool
) -> None:
    site = Site(register)
    possible = set(range(90, 180)) & {*ROWS, *CROWD, *MORE}
    begin(site, overflows)
    everything = counted(lambda: site.get(2))
    some = random.sample(everything, min(4, len(everything)))
    for moment in everything if THOROUGH else some:
        begin(site, overflows)
        with interrupted(moment, lambda: MEANWHILE[what](site)):
            answer = site.get(2)
        assert answer.status_code == 200, (moment, answer.content)
        shown = ids(answer.content)
        assert shown == sorted(set(shown)), moment
        assert set(shown) <= possible, moment
        site.check_ranges()
        site.check()


def counted(action: Callable[[], object]) -> range:
    """Return the numbers of the statements of an action."""
    with CaptureQueriesContext(connection) as captured:
        action()
    return range(1, len(captured) + 1)


def test_whoever_asks_for_all_entries_gets_all_while_a_page_is_divided(
    register: Register,
) -> None:
    """Another process divides a page that was among them when they were listed."""
    register("first", PagesSitemap)
    site = Site(register)

    def ask() -> str:
        return str(site.client.get("/sitemap.xml").content.decode())

    def divided() -> None:
        site.insert(range(1, 9))
        pages.Serving(site.source, place()).build(site.page(1))

    def grown() -> None:
        Section.objects.all().delete()
        site.kind.empty()
        site.insert(range(0, 80, 10))
        ask()

    grown()
    for moment in counted(ask):
        grown()
        with interrupted(moment, divided):
            shown = ask()
        # Its pages have them, where it is an index.
        if "<urlset" in shown:
            paths = [f"/things/r{number}-0/" for number in range(0, 80, 10)]
            assert all(path in shown for path in paths), moment
        else:
            assert "/sitemap-site-2.xml" in shown, moment


def begin(site: Site, overflows: bool) -> None:
    """Come to where a page must be built again, and split if it has too many rows."""
    Section.objects.all().delete()
    site.kind.empty()
    site.insert(ROWS)
    site.crawl()
    if overflows:
        site.insert(CROWD)
    later(HOURS, "verified_at")


@contextmanager
def interrupted(moment: int, action: Callable[[], Any]) -> Iterator[None]:
    """
    Run ``action`` elsewhere before the ``moment``-th statement here.

    Inside a transaction it waits for its end: others cannot get in before.
    """
    done: list[bool] = []
    count = 0

    def execute(run: Any, *args: Any) -> Any:
        nonlocal count
        count += 1
        if count >= moment and not done and not connection.in_atomic_block:
            done.append(True)
            elsewhere(action)
        return run(*args)

    with connection.execute_wrapper(execute):
        yield


# What the dead hold


@pytest.fixture(params=["lease", "claim"])
def held(request: pytest.FixtureRequest, register: Register) -> tuple[Any, Any]:
    """How a section's lease, or the claim on a page, is taken and given back."""
    site = Site(register)
    fill(site.source)
    if request.param == "claim":
        page = site.page(1)
        return (
            lambda owner: Page.objects.claim(page, owner, 60),
            Page.objects.these([page]).release,
        )
    section = Section.objects.filter(name="site")
    return lambda owner: section.take(owner, 60), section.release


def test_what_is_held_is_one_owners_until_it_is_over(held: tuple[Any, Any]) -> None:
    take, give_back = held
    assert sum(at_once(8, lambda number: take(f"owner {number}"))) == 1
    later(HOURS, "claimed_until")
    assert take("dead")
    assert not take("next")
    give_back("next")
    assert not take("next"), "it was another's"
    later(HOURS, "claimed_until")
    assert take("next")
    give_back("dead")
    assert not take("third")
    give_back("next")
    assert take("third")


def test_the_clock_of_leases_is_the_databases(register: Register) -> None:
    """In whatever zone its session is, it is the time since 1970 in UTC."""
    fill(Site(register).source)
    section = Section.objects.get(name="site")
    with connection.cursor() as cursor:
        if connection.vendor == "mysql":
            cursor.execute("SET time_zone = '+05:00'")
        elif connection.vendor == "postgresql":
            cursor.execute("SET TIME ZONE 'Asia/Karachi'")
    before = time.time()
    Section.objects.filter(pk=section.pk).take("me", 0)
    section.refresh_from_db()
    assert before - 2 < section.claimed_until < time.time() + 2
    connection.close()
