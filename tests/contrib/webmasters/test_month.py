"""
A month of inspections: 400,000 URLs in 12 sections, or some of these, and a small one.

The clock is moved by hours at a time. What counts is what the fake has counted. A
quarter of the URLs, unless ``SITEMAPS_PLUS_THOROUGH=1``.
"""

from __future__ import annotations

import datetime as dt
import json
import random
import time
import zlib
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from django_sitemaps_plus.contrib.webmasters import coverage, quota, shares
from django_sitemaps_plus.contrib.webmasters.models import Inspection
from django_sitemaps_plus.engines import http
from tests.contrib.webmasters.inspected import BASE, options, store, urls_of
from tests.support.fakes.inspection import INDEXED, UNKNOWN, FakeInspection
from tests.support.fakes.server import Request
from tests.support.helpers import ArticleSitemap, later
from tests.support.processes import THOROUGH, at_once, in_a_process, within

pytestmark = pytest.mark.django_db(transaction=True)

SECTIONS = {f"kind-{number}": 33_000 + 55 * number for number in range(12)}
#: A section that is inspected whole, and then grows: how many URLs it has.
BEFORE, AFTER = 900, 4_000
#: One that is always inspected whole.
SMALL = 60
#: What another process does until it is killed, or has asked for what may be asked.
WORKER = """
import json, os, time
from tests import settings
settings.use_given(json.loads(os.environ["GIVEN"]))
import django
django.setup()
now, moved = time.time, {moved!r}
time.time = lambda: now() + moved
from django_sitemaps_plus.contrib.webmasters import coverage
from django_sitemaps_plus.sitemaps.registry import registry
from tests.support.helpers import ArticleSitemap
for name in {names!r}:
    registry.add(name, ArticleSitemap)
while coverage.inspect(lambda: False, most=500) is None:
    time.sleep(0.05)
"""


def is_indexed(url: str) -> bool:
    """Return what is true of a URL: of each section another share."""
    name, number, _ = url.removeprefix(f"{BASE}/").split("/")
    percent = 40 + 5 * int(name.partition("-")[2] or 0)
    if name == "grows" and int(number) < BEFORE:
        percent = 100
    return zlib.crc32(url.encode()) % 100 < percent


@pytest.fixture
def google(monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeInspection]:
    """Give a Google that this process asks without a socket: fifteen thousand times."""
    with FakeInspection() as server:
        server.says = lambda url: INDEXED if is_indexed(url) else UNKNOWN
        monkeypatch.setattr(http, "send", partial(sent, server))
        yield server


def sent(server: FakeInspection, method: str, url: str, **given: Any) -> http.Response:
    """Return the answer to a request that is as ``http.send`` would send it."""
    body = given.get("body") or json.dumps(given["document"]).encode()
    path = url.removeprefix(server.origin)
    headers = {name.lower(): value for name, value in given["headers"].items()}
    reply = server.answer(Request(method=method, path=path, headers=headers, body=body))
    said = {name.lower(): value for name, value in reply.headers.items()}
    return http.Response(status=reply.status, headers=said, body=reply.body)


class Clock:
    """A clock that is moved, and tells the fake which day it is."""

    def __init__(self, google: FakeInspection, patch: pytest.MonkeyPatch) -> None:
        self._now, self._google, self.moved = time.time, google, 0.0
        # Two hours after a day of Google's has begun.
        start = quota.tomorrow(time.time()) + 7_200
        self.move(start - time.time())
        patch.setattr(time, "time", lambda: self._now() + self.moved)

    def move(self, seconds: float) -> None:
        self.moved += seconds
        # What the dead hold is over by the database's own clock, which is not moved.
        later(seconds, "claimed_until")
        self._google.day = quota.midnight(self._now() + self.moved).date()


@pytest.mark.parametrize(
    ("kinds", "most_of_them", "part", "every", "days"),
    [(1, 1, 8, 6, 14), (12, 10, 1 if THOROUGH else 4, 2, 28)],
)
@pytest.mark.costly
def test_a_month_of_a_large_site(
    google: FakeInspection,
    settings: Any,
    register: Any,
    monkeypatch: Any,
    kinds: int,
    most_of_them: int,
    part: int,
    every: int,
    days: int,
) -> None:
    given: dict[str, Any] = {"BASE_URL": BASE, "ENGINES": options(google)}
    settings.SITEMAPS_PLUS = given
    random.seed(33)
    sizes = {name: SECTIONS[name] // part for name in list(SECTIONS)[:kinds]}
    sizes |= {"grows": BEFORE, "small": SMALL}
    for name, size in sizes.items():
        register(name, ArticleSitemap)
        store(name, urls_of(name, size))
    clock = Clock(google, monkeypatch)

    def in_two_threads() -> None:
        at_once(2, lambda _: coverage.inspect(lambda: False, most=100))

    def in_two_processes() -> None:
        """One of them is killed while it waits for Google."""
        google.seconds, before = 0.05, google.used[google.day]
        code = WORKER.format(moved=clock.moved, names=[*sizes])
        workers = [in_a_process(code, **given) for _ in range(2)]
        is_at_it = within(60, lambda: google.used[google.day] >= before + 20)
        for worker in workers:
            worker.kill()
        said = [worker.communicate() for worker in workers]
        assert is_at_it, said
        google.seconds = 0.0

    def grow() -> None:
        assert Inspection.objects.filter(section="grows").count() > 200
        store("grows", urls_of("grows", AFTER))

    # While there is much to ask: later it is 36 URLs a day of each section.
    special = {6: in_two_processes, 96: grow}
    special |= dict.fromkeys([28, 80, 84, 394], in_two_threads)
    special = {hour // every: do for hour, do in special.items()}
    for step in range(24 // every * days):
        special.get(step, lambda: coverage.inspect_in_turn(lambda: False))()
        clock.move(every * 3_600)
    assert max(google.used.values()) <= 500
    assert sum(google.used.values()) > 0.75 * days * 36 * (kinds + 1)
    held = 0
    for share in shares.shares():
        urls = urls_of(share.section, share.urls)
        true, (low, high) = sum(map(is_indexed, urls)) / len(urls), share.bounds
        if share.section == "small":
            assert (share.inspected, low, high) == (SMALL, true, true), "no interval"
            continue
        held += low <= true <= high
        # If what was inspected whole still counted, the one that grew were at 0.8.
        assert share.counts["indexed"] / share.inspected == pytest.approx(true, abs=0.1)
        assert 25 * days <= share.inspected <= 36 * days + 92, share
    assert held >= most_of_them, "by intervals that hold 19 of 20"
    times = sum("/small/" in url for url in google.asked) / SMALL
    assert days / 7 - 1 < times <= days / 7 + 1, "each once a week"
    oldest = Inspection.objects.filter(section="small").order_by("inspected_at")[0]
    assert oldest.inspected_at > time.time() - 9 * 86_400


def test_the_day_is_that_of_california() -> None:
    noon = dt.datetime(2026, 11, 1, 20, tzinfo=dt.UTC).timestamp()
    start, end = quota.midnight(noon).timestamp(), quota.tomorrow(noon)
    assert end - start == 25 * 3_600, "the clock is set back"
    assert start == dt.datetime(2026, 11, 1, 7, tzinfo=dt.UTC).timestamp()
