"""Threads, processes and connections at the same section at the same time."""

from __future__ import annotations

import os
import random
import shutil
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from django.core.handlers.wsgi import WSGIHandler
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.db import connection
from django.db.backends.signals import connection_created
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.pagination import ledger
from django_sitemaps_plus.publishing import pages, storage
from tests.support.ledger_kinds import KINDS, Number, create_tables
from tests.support.ledger_site import Site
from tests.support.ledger_worker import LIMIT, NAME, Workers, register_section
from tests.support.ledger_world import age, place, read_entries, sitemap_class
from tests.support.processes import at_once, database_names, elsewhere, quick_commits

Register = Callable[..., Any]
Ask = Callable[[str], tuple[bytes, str]]

THOROUGH = bool(os.environ.get("SITEMAPS_PLUS_THOROUGH"))

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(scope="session", autouse=True)
def tables(django_db_setup: None, django_db_blocker: Any) -> None:
    with django_db_blocker.unblock():
        create_tables()


@pytest.fixture(autouse=True)
def commits_do_not_wait(transactional_db: None) -> Iterator[None]:
    with quick_commits():
        yield
        KINDS["integers"].empty()


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


@pytest.fixture
def ask(transactional_db: None) -> Iterator[Ask]:
    """Ask a server over a real socket; it has a thread for every request."""
    server = ThreadedWSGIServer(("127.0.0.1", 0), QuietHandler)
    server.set_app(WSGIHandler())
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    host, port = server.server_address[:2]

    def get(path: str) -> tuple[bytes, str]:
        url = f"http://{host}:{port}{path}"
        request = Request(url, headers={"Host": "www.example.com"})
        with urlopen(request) as answer:  # noqa: S310
            return answer.read(), answer.headers["ETag"]

    yield get
    server.shutdown()
    thread.join()
    server.server_close()


class QuietHandler(WSGIRequestHandler):
    """Handles requests without a line for each on the terminal."""

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Say nothing."""


def ids(body: bytes) -> list[int]:
    return [entry.rank for entry in read_entries(body.decode()).entries]


# Twenty crawlers at once


@pytest.mark.usefixtures("crowd")
def test_twenty_requests_of_a_cold_page_cost_one(register: Register, ask: Ask) -> None:
    site = Site(register, limit=5000)
    site.insert(range(3000))
    ledger.fill(site.source)
    with statements(Number._meta.db_table) as read:
        answers = set(at_once(20, lambda _: ask("/sitemap-site-1.xml")))
    ((body, tag),) = answers
    assert ids(body) == list(range(3000))
    assert tag == site.get(1).headers["ETag"]
    assert len(read) == 1


@pytest.mark.usefixtures("crowd")
def test_twenty_requests_of_a_cold_ledger_fill_it_once(
    register: Register, ask: Ask
) -> None:
    site = Site(register, limit=100)
    site.insert(range(1000))
    with statements(Number._meta.db_table) as read:
        answers = at_once(20, lambda turn: ask(f"/sitemap-site-{1 + turn % 2}.xml"))
    assert {tuple(ids(body)) for body, _ in answers} == {
        tuple(range(90)),
        tuple(range(90, 180)),
    }
    assert len(site.pages()) == 11
    hops = [sql for sql in read if "slug" not in sql]
    assert len(hops) == 13, "each bound was found once, and the tail measured"
    assert len(read) - len(hops) == 2, "each page was read once"


@pytest.mark.usefixtures("crowd")
def test_twenty_requests_of_the_object_path_call_each_method_once(
    register: Register, ask: Ask
) -> None:
    seen: Counter[int] = Counter()

    def lastmod(self: Any, item: Any) -> None:
        seen[item.pk] += 1

    site = Site(register, limit=500, lastmod=lastmod)
    site.insert(range(300))
    ((body, _),) = set(at_once(20, lambda _: ask("/sitemap-site-1.xml")))
    assert ids(body) == list(range(300))
    assert seen == Counter(range(300))


def test_who_waits_gets_what_the_other_makes(register: Register) -> None:
    """The second one asks again and again, until the first has made the page."""
    asked_again, inside = threading.Event(), threading.Event()
    calls: Counter[int] = Counter()
    claims: list[int] = []

    def lastmod(self: Any, item: Any) -> None:
        calls[item.pk] += 1
        inside.set()
        assert asked_again.wait(30)

    def execute(run: Any, sql: str, *args: Any) -> Any:
        if sql.startswith("UPDATE") and "making_by" in sql:
            claims.append(1)
            if len(claims) == 3:
                asked_again.set()
        return run(sql, *args)

    def one(number: int) -> list[int]:
        if number == 0:
            return site.shown(1)
        assert inside.wait(30)
        with connection.execute_wrapper(execute):
            return site.shown(1)

    site = Site(register, lastmod=lastmod)
    site.insert(range(4))
    assert at_once(2, one) == [[0, 1, 2, 3], [0, 1, 2, 3]]
    assert calls == Counter(range(4))


# Another connection between any two statements

#: A page of nine rows, from 90 to 170, between two others.
ROWS = range(0, 270, 10)
CROWD = range(101, 109)
MORE = range(131, 139)


def other_maker(site: Site) -> None:
    """Another process, whose claim came after this one's had run out."""
    if not Section.objects.exclude(lease_owner="").exists():
        # While the section is being divided it would wait.
        pages.make(site.source, site.page(2), place())


MEANWHILE: dict[str, Callable[[Site], Any]] = {
    "all rows go": lambda site: site.delete(site.rows()),
    "half of them go": lambda site: site.delete(site.rows()[::2]),
    "more come": lambda site: site.insert(MORE),
    "another makes it": other_maker,
    "more come and another makes it": lambda site: (
        site.insert(MORE),
        other_maker(site),
    ),
    "positions move": lambda site: ledger._spread(Section.objects.get(name="site")),
}


@pytest.mark.parametrize("overflows", [False, True], ids=["it fits", "it is split"])
@pytest.mark.parametrize("what", MEANWHILE)
def test_whatever_happens_between_two_statements(
    register: Register, what: str, overflows: bool, tmp_path: Path
) -> None:
    site = Site(register)
    possible = set(range(90, 180)) & {*ROWS, *CROWD, *MORE}
    for moment in moments(lambda: begin(site, tmp_path, overflows), site):
        begin(site, tmp_path, overflows)
        with interrupted(moment, lambda: MEANWHILE[what](site)):
            answer = site.get(2)
        assert answer.status_code == 200, (moment, answer.content)
        shown = ids(answer.content)
        assert shown == sorted(set(shown)), moment
        assert set(shown) <= possible, moment
        site.check_ranges()
        site.check()


def begin(site: Site, tmp_path: Path, overflows: bool) -> None:
    """Come to where a page must be made again, and split if it has too many rows."""
    forget(site, tmp_path)
    site.kind.empty()
    site.insert(ROWS)
    site.crawl()
    if overflows:
        site.insert(CROWD)
    age(verified=True)


def moments(begin: Callable[[], None], site: Site) -> Sequence[int]:
    """Return statements to interrupt a request before: some, or all of them."""
    begin()
    with CaptureQueriesContext(connection) as captured:
        site.get(2)
    everything = range(1, len(captured) + 1)
    if THOROUGH:
        return everything
    return sorted(random.sample(everything, min(4, len(everything))))


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


def test_a_table_emptied_while_its_page_is_being_made(register: Register) -> None:
    """On the object path, which reads in pieces: some were read, the rest is gone."""

    def lastmod(self: Any, item: Any) -> None:
        if item.pk == 2500 and site.rows():
            elsewhere(lambda: site.kind.empty())

    site = Site(register, limit=5000, lastmod=lastmod)
    site.insert(range(4500))
    shown = site.shown(1)
    assert shown == list(range(len(shown)))
    assert len(shown) in {4000, 4500}
    age(verified=True)
    assert site.shown(1) == []
    assert site.shown() == []


# Other processes


@pytest.fixture
def workers(tmp_path: Path, transactional_db: None) -> Iterator[Workers]:
    made = Workers(database_names(), tmp_path / "sitemaps", tmp_path / "log")
    yield made
    made.close()


@pytest.fixture
def shared(register: Register) -> Site:
    """The section that the other processes have too."""
    site = Site(register, limit=LIMIT, name=NAME)
    register_section()
    return site


def forget(site: Site, tmp_path: Path) -> None:
    """Put the site back to where nobody has ever asked for anything."""
    Section.objects.all().delete()
    shutil.rmtree(tmp_path / "sitemaps", ignore_errors=True)


def let_the_dead_rest(site: Site) -> None:
    """Let the time pass for which a dead process still holds what it held."""
    Section.objects.filter(lease_until__gt=0).update(lease_until=1)
    Page.objects.filter(making_until__gt=0).update(making_until=1)


def test_processes_at_a_cold_start_do_the_work_once(
    workers: Workers, shared: Site, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    for count in (2, 4):
        forget(shared, tmp_path)
        shared.kind.empty()
        shared.insert(range(25))
        log.write_text("")
        command = {"do": "get", "path": f"/sitemap-{NAME}-1.xml", "logged": True}
        answers = workers.together([command] * count)
        assert [answer.get("status") for answer in answers] == [200] * count, answers
        assert len({(answer["tag"], answer["body"]) for answer in answers}) == 1
        assert ids(answers[0]["body"].encode()) == list(range(9))
        assert sorted(map(int, log.read_text().split())) == list(range(9))
        assert [page.number for page in shared.pages()] == [1, 2, 3]


def test_processes_at_the_address_of_a_cold_section(
    workers: Workers, shared: Site, tmp_path: Path
) -> None:
    shared.insert(range(25))
    answers = workers.together([{"do": "get", "path": f"/sitemap-{NAME}.xml"}] * 4)
    assert len({answer["body"] for answer in answers}) == 1, answers
    assert answers[0]["body"].count("<sitemap>") == 3
    shared.check()


def cold(site: Site) -> str:
    return f"/sitemap-{NAME}-1.xml"


def changed(site: Site) -> str:
    site.crawl()
    site.kind.all().filter(id=100).update(slug="r100-1")
    age(verified=True)
    return f"/sitemap-{NAME}-2.xml"


def crowded(site: Site) -> str:
    site.crawl()
    site.insert(CROWD)
    age(verified=True)
    return f"/sitemap-{NAME}-2.xml"


def grown(site: Site) -> str:
    site.crawl()
    site.insert(range(300, 340))
    age(verified=True)
    return f"/sitemap-{NAME}-3.xml"


@pytest.mark.parametrize("state", [cold, changed, crowded, grown])
def test_a_process_killed_at_any_moment_leaves_nothing_broken(
    workers: Workers, shared: Site, state: Callable[[Site], str], tmp_path: Path
) -> None:
    """kill -9 before this or that statement of a request, then the next run."""
    moment, results = 0, list[dict[str, Any]]()
    while not results or "killed" in results[-1]:
        moment += 1 if THOROUGH else random.randrange(1, 8)  # noqa: S311
        forget(shared, tmp_path)
        shared.kind.empty()
        shared.insert(ROWS)
        path = state(shared)
        results.append(workers(do="get", path=path, die=moment))
        let_the_dead_rest(shared)
        again = workers(do="get", path=path)
        assert again["status"] == 200, (moment, again)
        assert again["body"] == shared.client.get(path).content.decode(), moment
        # Pages and their numbers come together or not at all.
        numbers = sorted(page.number for page in shared.pages())
        section = Section.objects.get(name=NAME)
        assert numbers == list(range(1, section.next_number)), moment
        shared.check()
    assert results[-1]["status"] == 200, results


@pytest.mark.parametrize("turn", range(40 if THOROUGH else 2))
def test_processes_killed_at_random_moments(
    workers: Workers, shared: Site, turn: int
) -> None:
    seed = random.SystemRandom().randrange(10**9)
    rng = random.Random(seed)  # noqa: S311 (nothing secret)
    shared.insert(range(0, 400, 9))
    numbers: dict[int, str | None] = {}
    for _ in range(4):
        commands = [
            {"do": "live", "seed": rng.random(), "after": rng.uniform(0.05, 0.4)}
            for _ in range(2)
        ]
        results = workers.together(commands)
        assert results == [{"killed": 9}, {"killed": 9}], (seed, results)
        let_the_dead_rest(shared)
        for page in shared.pages():
            # A page keeps its number and its bound for as long as it lives.
            assert numbers.setdefault(page.number, page.lower) == page.lower, seed
    shared.check()


# What the dead hold


def test_a_lease_is_one_owners_until_it_is_over(shared: Site) -> None:
    ledger.fill(shared.source)
    section = Section.objects.get(name=NAME)
    assert Section.objects.take_lease(section.pk, "dead", 60)
    assert not Section.objects.take_lease(section.pk, "next", 60)
    assert Section.objects.take_lease(section.pk, "dead", 60), "it may be renewed"
    Section.objects.drop_lease(section.pk, "next")
    assert not Section.objects.take_lease(section.pk, "next", 60)
    let_the_dead_rest(shared)
    assert Section.objects.take_lease(section.pk, "next", 60)
    Section.objects.drop_lease(section.pk, "dead")
    assert not Section.objects.take_lease(section.pk, "third", 60)


def test_a_claim_is_one_owners_until_it_is_over(shared: Site) -> None:
    ledger.fill(shared.source)
    (page,) = shared.pages()
    assert Page.objects.claim(page.pk, "dead", 60)
    assert not Page.objects.claim(page.pk, "next", 60)
    Page.objects.release(page.pk, "next")
    assert not Page.objects.claim(page.pk, "next", 60)
    let_the_dead_rest(shared)
    assert Page.objects.claim(page.pk, "next", 60)
    Page.objects.release(page.pk, "dead")
    assert not Page.objects.claim(page.pk, "third", 60)


def test_only_one_of_many_gets_a_lease_or_a_claim(shared: Site) -> None:
    ledger.fill(shared.source)
    section = Section.objects.get(name=NAME)
    (page,) = shared.pages()

    def take(number: int) -> tuple[bool, bool]:
        owner = f"owner {number}"
        lease = Section.objects.take_lease(section.pk, owner, 60)
        return lease, Page.objects.claim(page.pk, owner, 60)

    taken = at_once(8, take)
    assert [sum(column) for column in zip(*taken, strict=True)] == [1, 1]


def test_the_clock_of_leases_is_the_databases(shared: Site) -> None:
    """In whatever zone its session is, it is the time since 1970 in UTC."""
    ledger.fill(shared.source)
    section = Section.objects.get(name=NAME)
    with connection.cursor() as cursor:
        if connection.vendor == "mysql":
            cursor.execute("SET time_zone = '+05:00'")
        elif connection.vendor == "postgresql":
            cursor.execute("SET TIME ZONE 'Asia/Karachi'")
    before = pages.time.time()
    Section.objects.take_lease(section.pk, "me", 0)
    section.refresh_from_db()
    assert before - 2 < section.lease_until < pages.time.time() + 2
    connection.close()


def test_the_former_bytes_are_served_while_another_holds_the_page_or_the_section(
    register: Register,
) -> None:
    """Both waits go on at the same time; they are the longest a request takes."""
    claimed = Site(register, name="claimed")
    leased = Site(register, name="leased")
    claimed.insert(range(9))
    for site in (claimed, leased):
        site.get(1)
    claimed.insert(range(9, 15))
    age(verified=True)
    assert Page.objects.claim(claimed.page(1).pk, "alive", 60)
    section = Section.objects.get(name="leased")
    assert Section.objects.take_lease(section.pk, "alive", 60)
    answers = at_once(2, lambda number: [claimed, leased][number].shown(1))
    assert answers == [list(range(9)), list(range(9))]


def test_the_files_of_two_processes_never_mix(
    register: Register, tmp_path: Path
) -> None:
    """A file is put there whole, under a name that says what it holds."""
    site = Site(register)
    site.insert(range(5))
    bodies = set(at_once(8, lambda _: site.get(1).content))
    assert len(bodies) == 1
    names = [path.name for path in (tmp_path / "sitemaps").rglob("*") if path.is_file()]
    assert len(names) == 1
    assert storage.shelf().read(f"site/1/{names[0]}") is not None
    register("site", sitemap_class(site.kind, 10, "weekly"))
