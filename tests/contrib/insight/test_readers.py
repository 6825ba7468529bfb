"""Who reads the sitemaps is counted: in memory by requests, stored once a minute."""

from __future__ import annotations

import datetime as dt
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from urllib.request import Request, urlopen

import pytest
from django.db import DatabaseError, connection
from django.test import Client

from django_sitemaps_plus.contrib.insight import history, readers
from django_sitemaps_plus.contrib.insight.models import DailyCount, Read
from django_sitemaps_plus.contrib.insight.readers import ReaderCounts, reader_counts
from django_sitemaps_plus.delivery import upkeep
from django_sitemaps_plus.delivery.thread import BackgroundThread
from django_sitemaps_plus.pagination import lately
from tests.conftest import Register
from tests.delivery.conftest import keys, serve  # noqa: F401 (fixtures)
from tests.storing.test_freshness import News
from tests.support.helpers import later
from tests.support.processes import at_once, within
from tests.support.servers import SOON
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])

GOOGLE = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
BING = "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)"
PAGE = "/sitemap-news-1.xml"


@pytest.fixture(autouse=True)
def counted() -> Any:
    """Forget what other tests have counted in this process."""
    reader_counts.arm()
    yield reader_counts
    reader_counts.arm()


def rows() -> dict[tuple[str, str], tuple[int, int]]:
    """Return how often each crawler read each sitemap: whole, and unchanged."""
    columns = "crawler", "document", "full", "unchanged"
    return {row[:2]: row[2:] for row in Read.objects.values_list(*columns)}


def days() -> dict[tuple[str, str], int]:
    found = DailyCount.objects.filter(topic="reads")
    return {row[:2]: row[2] for row in found.values_list("name", "outcome", "number")}


def test_crawlers_and_other_clients_are_counted(register: Any, client: Client) -> None:
    register("news", News)
    Article.objects.create(slug="a")
    first = client.get(PAGE, HTTP_USER_AGENT=GOOGLE)
    seen = {"HTTP_IF_NONE_MATCH": first.headers["ETag"]}
    assert client.get(PAGE, HTTP_USER_AGENT=GOOGLE, **seen).status_code == 304
    client.get(f"{PAGE}.gz", HTTP_USER_AGENT=GOOGLE)
    client.get("/sitemap.xml", HTTP_USER_AGENT=BING)
    client.get(PAGE, HTTP_USER_AGENT="curl/8.0")
    # These are no reads.
    client.head(PAGE, HTTP_USER_AGENT=BING)
    client.get("/sitemap-news-99.xml", HTTP_USER_AGENT=BING)
    client.get("/robots.txt", HTTP_USER_AGENT=BING)
    assert not Read.objects.exists(), "no request writes"
    reader_counts.store(at_once=True)
    name = "sitemap-news-1.xml"
    assert rows() == {
        ("Googlebot", name): (2, 1),
        ("bingbot", "sitemap.xml"): (1, 0),
        ("", name): (1, 0),
    }
    client.get(PAGE, HTTP_USER_AGENT=GOOGLE)
    reader_counts.store(at_once=True)
    assert rows()["Googlebot", name] == (3, 1)
    assert days()["Googlebot", "200"] == 3
    assert days()["Googlebot", "304"] == 1
    row = Read.objects.get(crawler="Googlebot")
    assert time.time() - 60 < row.first_at < row.last_at <= time.time()


def test_it_is_stored_once_a_minute_at_most_and_not_by_a_process_without_a_thread(
    monkeypatch: pytest.MonkeyPatch, django_assert_num_queries: Any
) -> None:
    """As that of a project's tests, which ends when these are over."""
    counts, own = ReaderCounts(), BackgroundThread()
    own.request_started()
    for each in (counts, reader_counts):
        each.count("/sitemap.xml", GOOGLE, 200)
    with django_assert_num_queries(0):
        counts.store()
        own.stop()
    monkeypatch.setattr(readers, "STORED_EVERY", 0.0)
    counts.store()
    assert rows() == {("Googlebot", "sitemap.xml"): (1, 0)}
    with django_assert_num_queries(0):
        counts.store()  # nothing was counted since


def test_many_threads_and_processes_lose_no_count() -> None:
    """Each thread counts and stores as a process of its own does."""
    threads, turns, files = 6, 4, 10

    def work(thread: int) -> None:
        counts = ReaderCounts()
        for _ in range(turns):
            for number in range(files):
                # Each in another order.
                page = (number * 7 + thread * 11) % files
                counts.count(f"/sitemap-a-{page}.xml", GOOGLE, 304)
                reader_counts.count(f"/sitemap-a-{page}.xml", GOOGLE, 200)
            counts.store(at_once=True)
            reader_counts.store(at_once=True)

    at_once(threads, work)
    reader_counts.store(at_once=True)
    each = threads * turns
    pages = [("Googlebot", f"sitemap-a-{page}.xml") for page in range(files)]
    assert rows() == dict.fromkeys(pages, (each, each))
    assert days() == {("Googlebot", code): each * files for code in ("200", "304")}


def test_what_the_database_refuses_is_stored_later(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    reader_counts.count("/sitemap.xml", GOOGLE, 200)

    def fail(execute: Any, *args: Any) -> Any:
        raise DatabaseError("it is down")

    with connection.execute_wrapper(fail):
        reader_counts.store(at_once=True)
    assert "it is down" in caplog.text
    reader_counts.count("/sitemap.xml", GOOGLE, 304)
    reader_counts.store(at_once=True)
    assert rows() == {("Googlebot", "sitemap.xml"): (1, 1)}
    assert days() == {("Googlebot", "200"): 1, ("Googlebot", "304"): 1}


def test_neither_memory_nor_the_table_grows_without_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(readers, "MOST_WAITING", 5)
    for number in range(9):
        reader_counts.count(f"/sitemap-a-{number}.xml", GOOGLE, 200)
    reader_counts.count("/sitemap-a-0.xml", GOOGLE, 200)
    reader_counts.store(at_once=True)
    assert len(rows()) == 5
    assert rows()["Googlebot", "sitemap-a-0.xml"] == (2, 0)
    old = Read.objects.order_by("pk").first()
    assert old is not None
    Read.objects.filter(pk=old.pk).update(last_at=time.time() - 93 * 86_400)
    assert readers.prune_reads() == 1
    monkeypatch.setattr(readers, "MOST_STORED", 3)
    assert readers.prune_reads() == 1
    assert len(rows()) == 3


def test_entries_are_counted_once_an_hour_and_old_counts_deleted(
    register: Register, client: Client
) -> None:
    register("news", News)
    Article.objects.bulk_create(Article(slug=f"a{n}") for n in range(12))
    client.get(PAGE)
    client.get("/sitemap-news-2.xml")
    long_ago = lately.today() - dt.timedelta(days=93)
    DailyCount.objects.create(day=long_ago, topic="entries", name="news", number=1)
    upkeep.tend()
    today = history.counts(1).get(topic="entries", name="news")
    assert today.number == 12
    assert not DailyCount.objects.filter(day=long_ago).exists()
    DailyCount.objects.all().delete()
    upkeep.tend()
    assert not DailyCount.objects.exists(), "not twice within an hour"
    later(upkeep.TENDED_EVERY, "tended_at")
    upkeep.tend()
    Article.objects.all().delete()
    client.get(PAGE)
    history.count_entries()
    assert history.counts(1).get(topic="entries", name="news").number == 3


def read(port: int, path: str, agent: str) -> int:
    """Read a page from a real server."""
    request = Request(f"http://127.0.0.1:{port}{path}", headers={"User-Agent": agent})
    with urlopen(request, timeout=60) as answer:  # noqa: S310 (it is http)
        answer.read()
        return int(answer.status)


def test_servers_store_what_they_counted_also_when_they_end(
    serve: Any,  # noqa: F811 (the fixture)
) -> None:
    command = "-m gunicorn tests.support.server_app --bind 127.0.0.1:{port}"
    every = {"contrib.insight.readers.STORED_EVERY": 0.5}
    server = serve(f"{command} --workers 2 --threads 4".split(), every)
    agents = (GOOGLE, BING)
    asked = [(f"/sitemap-news-{n % 5 + 1}.xml", agents[n % 2]) for n in range(60)]
    with ThreadPoolExecutor(8) as pool:
        statuses = pool.map(lambda one: read(server.port, *one), asked)
        assert set(statuses) == {200}
    assert within(SOON, Read.objects.exists), server.log.read_text()
    read(server.port, asked[0][0], GOOGLE)
    server.close()
    total: Counter[str] = Counter()
    for (crawler, _document), (full, _unchanged) in rows().items():
        total[crawler] += full
    assert total == {"Googlebot": 31, "bingbot": 30}
