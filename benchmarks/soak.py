"""
A site for half an hour: crawlers, writers, and a worker that is killed each minute.

gunicorn with two workers on PostgreSQL. Twenty crawlers ask for sitemaps and for a view
with one SELECT by turns, five writers save, create and delete objects, each of them
once, and an engine on loopback notes when it is notified. The worker that was started
last is killed by SIGKILL once a minute, so that the other one shows what memory does in
the long run. What a killed worker did not answer is nobody's mistake.

In the end it waits for what the engine was not told yet: what a killed process had
claimed is submitted again after ten minutes.

    python -m benchmarks.soak --database postgres://…
    python -m benchmarks.soak --database postgres://… --minutes 2
"""

from __future__ import annotations

import http.client
import json
import os
import random
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import quantiles
from typing import Any

from . import bench, busy_site, data, listener, server, site
from .timing import shown

CRAWLERS, WRITERS = 20, 5
#: Seconds between two requests of a crawler, and of a writer.
CRAWL_EVERY, WRITE_EVERY = 0.5, 1.0
#: Seconds between two kills, and after which memory is measured for the first time.
KILL_EVERY, SETTLED = 60.0, 120.0
#: Seconds between two notifications of one URL, and those that all may take.
INTERVAL, LATEST = 600.0, 720.0


@dataclass
class Found:
    """What was measured."""

    sitemaps: list[float] = field(default_factory=list)
    shows: list[float] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    #: Requests that a killed worker did not answer.
    unanswered: int = 0
    #: The paths of what was saved, created or deleted.
    changed: set[str] = field(default_factory=set)
    kills: int = 0


def main() -> int:
    """Run it, and return the exit code."""
    parser = bench.parser(__doc__, rounds=1, rows=100_000)
    parser.add_argument(
        "--minutes", type=float, default=30, help="how long (default: %(default)s)"
    )
    with listener.listening() as port:
        options = bench.start(parser, "track", engine=port)
        from django.db import connection

        if connection.vendor != "postgresql":
            parser.error("this needs PostgreSQL: use --database postgres://…")
        data.load(track=options.rows)
        busy_site.start_afresh(port)
        return soak(options, port)


def soak(options: Any, port: int) -> int:
    """Let all of them run, and print what was found."""
    found, seconds = Found(), options.minutes * 60
    pages = len(site.lowers("track"))
    keys = random.sample(range(1, options.rows), int(WRITERS * seconds) + WRITERS)
    with busy_site.deletable(keys, options.rows), server.running(share=0.05) as asked:
        asked.warm_up()
        oldest = min(workers(asked.pid))
        end = time.monotonic() + seconds
        with ThreadPoolExecutor(CRAWLERS + WRITERS + 1) as pool:
            jobs = [
                *(
                    pool.submit(crawl, asked, found, end, pages)
                    for _ in range(CRAWLERS)
                ),
                *(
                    pool.submit(write, asked, found, end, keys[n::WRITERS], options)
                    for n in range(WRITERS)
                ),
                pool.submit(kill, asked, found, end, oldest),
            ]
            time.sleep(min(SETTLED, seconds / 2))
            settled = memory(oldest)
            for job in jobs:
                job.result()
        grown = memory(oldest)
        told = wait(port, found)
    report = bench.Report(
        f"{options.minutes:g} minutes, {found.kills} kills, {len(found.changed):,} "
        f"objects changed among {options.rows:,}"
    )
    untold = sorted(found.changed - told.urls.keys())
    report.check("URLs that no engine was told", untold)
    twice = [url for url, gap in told.gaps.items() if gap < INTERVAL]
    report.check("URLs told twice within the interval", twice)
    failed = [
        f"{n} × {status}" for status, n in found.statuses.items() if status == 500
    ]
    report.check("answers of 500", failed)
    report.at_most(
        "memory of the worker that lived, in the end",
        grown / settled,
        f"{grown / 2**20:.0f} MB / {settled / 2**20:.0f} MB",
        target=1.1,
    )
    of_sitemap, of_show = (late(times) for times in (found.sitemaps, found.shows))
    how = f"{shown(of_sitemap)} / {shown(of_show)}"
    report.at_most("p99 of a sitemap", of_sitemap / of_show, how, target=2)
    statuses = ", ".join(f"{n:,} × {one}" for one, n in sorted(found.statuses.items()))
    report.note("answers", f"{statuses}; {found.unanswered} without one")
    return report.finish()


def late(times: list[float]) -> float:
    """Return the 99th percentile."""
    return quantiles(times, n=100)[-1]


def crawl(asked: server.Server, found: Found, end: float, pages: int) -> None:
    """Be a crawler: a sitemap, then what a site shows, and so on."""
    chosen = random.Random()
    while time.monotonic() < end:
        number = chosen.randint(0, pages)
        page = f"-track-{number}" if number else ""
        ask(asked, found, "GET", f"/sitemap{page}.xml", found.sitemaps)
        ask(asked, found, "GET", f"/show/{chosen.randint(1, 1000)}/", found.shows)
        time.sleep(CRAWL_EVERY)


def write(
    asked: server.Server, found: Found, end: float, keys: list[int], options: Any
) -> None:
    """Be a writer: save most objects, create some, and delete some."""
    for number, key in enumerate(keys):
        if time.monotonic() >= end:
            return
        how = {8: "create", 9: "delete"}.get(number % 10, "save")
        wanted = key + options.rows if how == "create" else key
        done = ask(asked, found, "POST", f"/{how}/{wanted}/")
        if done:
            found.changed.add(f"{site.ORIGIN}{json.loads(done)['path']}")
        time.sleep(WRITE_EVERY)


def ask(
    asked: server.Server,
    found: Found,
    method: str,
    path: str,
    times: list[float] | None = None,
) -> bytes:
    """Ask for a path; return what a good answer says, else nothing."""
    begun = time.monotonic()
    connection = http.client.HTTPConnection("127.0.0.1", asked.port, timeout=60)
    try:
        connection.request(method, path, headers={"Host": "www.example.com"})
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, http.client.HTTPException):
        found.unanswered += 1
        return b""
    finally:
        connection.close()
    found.statuses[answer.status] += 1
    if times is not None:
        times.append(time.monotonic() - begun)
    return body if answer.status == 200 else b""


def kill(asked: server.Server, found: Found, end: float, oldest: int) -> None:
    """Kill the worker that was started last, once a minute."""
    while time.monotonic() + KILL_EVERY < end:
        time.sleep(KILL_EVERY)
        for pid in workers(asked.pid) - {oldest}:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
                found.kills += 1


def workers(pid: int) -> set[int]:
    """Return the processes that gunicorn's first one has started."""
    tasks = Path(f"/proc/{pid}/task").iterdir()
    return {
        int(one) for task in tasks for one in (task / "children").read_text().split()
    }


def memory(pid: int) -> int:
    """Return the bytes of memory that a process has."""
    resident = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return resident * os.sysconf("SC_PAGE_SIZE")


def wait(port: int, found: Found) -> listener.Received:
    """Wait until the engine was told of everything; return what it was told."""
    end = time.monotonic() + LATEST
    while True:
        told = listener.received(port)
        if found.changed <= told.urls.keys() or time.monotonic() > end:
            return told
        time.sleep(2)


if __name__ == "__main__":
    raise SystemExit(main())
