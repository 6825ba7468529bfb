"""
A site that saves all day: what the background costs it, and how soon engines know.

gunicorn with two workers on PostgreSQL. Clients save objects, create, delete or rename
some, and show others, at fixed rates; turns with the background thread and with
BACKGROUND = False alternate. An engine on loopback notes when it is notified. Writing
ends some time before a turn does, so that the engine can be notified of all: two
minutes, or half of a short turn. With --quiet there is no load: one object at a time is
deleted, then one is saved.

    python -m benchmarks.busy_site --database postgres://… --rows 10000000
    python -m benchmarks.busy_site --database postgres://… --saves 100
    python -m benchmarks.busy_site --database postgres://… --seconds 120 --rounds 1
    python -m benchmarks.busy_site --database postgres://… --quiet
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from statistics import median, quantiles
from typing import Any

from . import bench, data, listener, server, site
from .timing import shown

#: Clients of each kind: a slow answer must not keep the others waiting.
CLIENTS = 4
#: How long ago all pages were built: longer than a page rests between two builds.
AGE = 1_200
#: Seconds within which the engine has to be notified of what was created, of what was
#: saved, deleted or renamed while the site is busy, and on a quiet one.
CREATED, OTHERS, QUIETLY = 15, 60, 15
#: Seconds for which nothing is written at the end of a turn.
LAST = 120


def main() -> int:
    """Run it, and return the exit code."""
    parser = bench.parser(__doc__, rounds=2, rows=500_000)
    for name, kind, default, text in (
        ("--saves", float, 10, "saves a second"),
        ("--creates", float, 0.2, "objects created a second"),
        ("--deletes", float, 0.2, "objects deleted or renamed a second, by turns"),
        ("--share", float, 0.05, "BACKGROUND_SHARE"),
        ("--reads", float, 50, "other requests a second"),
        ("--seconds", float, 900, "of each turn"),
    ):
        parser.add_argument(
            name, type=kind, default=default, help=f"{text} (default: %(default)s)"
        )
    parser.add_argument("--quiet", action="store_true", help="a site without load")
    with listener.listening() as port:
        options = bench.start(parser, "track", engine=port)
        from django.db import connection

        if connection.vendor != "postgresql":
            parser.error("this needs PostgreSQL: use --database postgres://…")
        data.load(track=options.rows)
        return quiet(options, port) if options.quiet else busy(options, port)


# A busy site


@dataclass
class Turn:
    """What was measured in one turn."""

    server_seconds: float = 0
    database_seconds: float = 0
    reads: list[float] = field(default_factory=list)
    saves: list[float] = field(default_factory=list)
    indexes: list[float] = field(default_factory=list)
    #: When each path was committed.
    saved: dict[str, float] = field(default_factory=dict)
    created: dict[str, float] = field(default_factory=dict)
    deleted: dict[str, float] = field(default_factory=dict)
    #: By their new paths, and by their former ones.
    renamed: dict[str, float] = field(default_factory=dict)
    former: dict[str, float] = field(default_factory=dict)
    #: When the engine was notified of each path.
    notified: dict[str, float] = field(default_factory=dict)
    ended: float = 0


def busy(options: Any, port: int) -> int:
    """Let turns with the background and without it alternate."""
    turns: dict[bool, list[Turn]] = {True: [], False: []}
    for number in range(options.rounds):
        for background in (number % 2 == 0, number % 2 != 0):
            print(f"Round {number + 1}, BACKGROUND = {background} …", file=sys.stderr)
            turns[background].append(run(options, port, background=background))
    report = bench.Report(
        f"{options.saves:g} saves a second among {options.rows:,} rows, "
        f"{options.share:.0%} of a core, {options.seconds:g} s a turn"
    )
    compare_load(report, turns, options.seconds)
    for turn in turns[True]:
        tell_notified(report, turn)
    wrong = [path for turn in turns[False] for path in turn.notified]
    report.check("BACKGROUND = False: URLs that were submitted", wrong)
    return report.finish()


def run(options: Any, port: int, *, background: bool) -> Turn:
    """Run one turn."""
    start_afresh(port)
    found = Turn()
    writing = max(options.seconds - LAST, options.seconds / 2)
    keys = random.sample(
        range(1, options.rows),
        int((options.saves + options.deletes) * writing) + 2,
    )
    doomed = keys[: int(options.deletes * writing) + 1]
    share = options.share if background else 0
    with deletable(doomed, options.rows), server.running(share=share) as asked:
        asked.warm_up()
        load(options, asked, found, keys[len(doomed) :], doomed, writing)
        # What was saved in the last seconds is on its way.
        found.notified = wait_for(port, found.saved if background else (), OTHERS)
        found.ended = time.time()
    return found


def start_afresh(port: int) -> None:
    """Have all pages built some time ago, and nothing else stored or submitted."""
    data.forget()
    site.build("track")
    site.age(AGE)
    listener.forget(port)


def load(
    options: Any,
    asked: server.Server,
    found: Turn,
    saved: list[int],
    deleted: list[int],
    writing: float,
) -> None:
    """Have all clients ask at their rates until the turn ends."""
    random_key = random.Random(0)

    def show(step: int) -> None:
        asked.get(f"/show/{random_key.randint(1, options.rows)}/")

    def save(step: int) -> None:
        done = asked.post(f"/save/{saved[step]}/")
        found.saved[done["path"]] = done["at"]

    def create(step: int) -> None:
        done = asked.post(f"/create/{options.rows + 1 + step}/")
        found.created[done["path"]] = done["at"]

    def delete(step: int) -> None:
        # Each client has every fourth step, so it does the one and then the other.
        if step // CLIENTS % 2:
            done = asked.post(f"/rename/{deleted[step]}/")
            found.former[done["former"]] = found.renamed[done["path"]] = done["at"]
        else:
            done = asked.post(f"/delete/{deleted[step]}/")
            found.deleted[done["path"]] = done["at"]

    start = time.monotonic()
    end = start + options.seconds
    before = asked.processor_seconds(), server.database_seconds()
    with ThreadPoolExecutor(5 * CLIENTS) as pool:

        def paced(rate: float, run: Callable[[int], object], until: float = end) -> Any:
            return [
                pool.submit(pace, start, until, rate, run, client)
                for client in range(CLIENTS)
            ]

        reads, stop = paced(options.reads, show), start + writing
        saves = paced(options.saves, save, stop)
        others = paced(options.deletes, delete, stop)
        others += paced(options.creates, create, stop)
        indexes = paced(0.2, lambda step: asked.get("/sitemap.xml"))
        found.reads, found.saves = flat(reads), flat(saves)
        found.indexes = flat(indexes)
        flat(others)
    found.server_seconds = asked.processor_seconds() - before[0]
    found.database_seconds = server.database_seconds() - before[1]


def pace(
    start: float, end: float, rate: float, run: Callable[[int], object], client: int
) -> list[float]:
    """
    Be one of the clients that ask ``rate`` times a second together.

    Returns how long each answer took, from when it was to be asked for.
    """
    taken = list[float]()
    if not rate:
        return taken
    for step in count(client, CLIENTS):
        at = start + step / rate
        if at >= end:
            break
        time.sleep(max(0.0, at - time.monotonic()))
        run(step)
        taken.append(time.monotonic() - at)
    return taken


def flat(clients: list[Future[list[float]]]) -> list[float]:
    """Return what all clients measured."""
    return [seconds for client in clients for seconds in client.result()]


@contextmanager
def deletable(keys: list[int], last: int) -> Iterator[None]:
    """Let objects be deleted, renamed and created; all is as before in the end."""
    from .shop.models import Track

    rows = Track.objects.in_bulk(keys)
    try:
        yield
    finally:
        # No signal is sent: it is as if nothing had happened.
        Track.objects.filter(pk__in=keys)._raw_delete("default")
        Track.objects.filter(pk__gt=last)._raw_delete("default")
        Track.objects.bulk_create(rows.values())


def wait_for(port: int, paths: Iterable[str], seconds: float) -> dict[str, float]:
    """Wait until the engine was notified of some paths; return when it was."""
    wanted = {f"{site.ORIGIN}{path}" for path in paths}
    end = time.monotonic() + seconds
    while True:
        found = listener.received(port).urls
        if wanted <= found.keys() or time.monotonic() > end:
            return {url.removeprefix(site.ORIGIN): at for url, at in found.items()}
        time.sleep(0.5)


def compare_load(
    report: bench.Report, turns: dict[bool, list[Turn]], seconds: float
) -> None:
    """Compare what the two kinds of turns took."""

    def cores(name: str) -> list[float]:
        return [
            median(getattr(turn, name) for turn in turns[background]) / seconds
            for background in (True, False)
        ]

    def late(name: str) -> tuple[float, str]:
        on, off = (
            quantiles((one for turn in found for one in getattr(turn, name)), n=20)[-1]
            for found in (turns[True], turns[False])
        )
        return on / off, f"{shown(on)} / {shown(off)}"

    on, off = cores("server_seconds")
    report.at_most(
        "the server's processes: share of a core that the background adds",
        on - off,
        f"{on:.3f} / {off:.3f}",
        target=0.07,
    )
    report.note("PostgreSQL's", "{:.3f} / {:.3f}".format(*cores("database_seconds")))
    report.at_most("the site's own requests: p95", *late("reads"), target=1.4)
    for name, what in (("saves", "requests that save"), ("indexes", "the index")):
        factor, how = late(name)
        report.note(f"{what}: p95", f"{bench.shown(factor)} ({how})")


def tell_notified(report: bench.Report, turn: Turn) -> None:
    """Add how soon the engine was notified of each kind of change."""
    kinds = {
        "created": (turn.created, CREATED),
        "saved": (turn.saved, OTHERS),
        "deleted": (turn.deleted, OTHERS),
        "renamed": (turn.renamed, OTHERS),
        "former addresses of renamed": (turn.former, OTHERS),
    }
    known = {path for committed, _ in kinds.values() for path in committed}
    report.check("URLs submitted for nothing", sorted(turn.notified.keys() - known))
    missing = sorted(known - turn.notified.keys())
    report.check("URLs that were not submitted", missing)
    for what, (committed, target) in kinds.items():
        add_waits(report, turn, what, committed, target)


def add_waits(
    report: bench.Report,
    turn: Turn,
    what: str,
    committed: dict[str, float],
    target: float,
) -> None:
    """Add how long some paths waited, or have waited so far."""
    if not committed:
        report.note(f"{what}: none", "the turn was too short")
        return
    waits = [turn.notified.get(path, turn.ended) - at for path, at in committed.items()]
    longest, left = max(waits), len(committed.keys() - turn.notified.keys())
    how = f"of {len(waits):,}, median {shown(median(waits))}"
    if left and longest <= target:
        # The turn was too short to say more.
        report.note(f"{what}: {left} wait, for {longest:.0f} s at most", how)
        return
    report.at_most(f"{what}: longest wait, in s", longest, how, target=target)


# A quiet site


def quiet(options: Any, port: int) -> int:
    """Delete an object, and save one, each on a page where nothing else happened."""
    report = bench.Report(f"A quiet site of {options.rows:,} rows")
    start_afresh(port)
    keys = [
        (2 * number + 1) * options.rows // (4 * options.rounds)
        for number in range(2 * options.rounds)
    ]
    pages = set(site.page_of("track", keys))
    wrong = [] if len(pages) == len(keys) else ["too few pages for so many rounds"]
    report.check("pages with more than one key", wrong)
    found = Turn()
    with deletable(keys, options.rows), server.running(share=0.05) as asked:
        asked.warm_up()
        for turn, key in enumerate(keys):
            action, paths = (
                ("save", found.saved) if turn % 2 else ("delete", found.deleted)
            )
            done = asked.post(f"/{action}/{key}/")
            paths[done["path"]] = done["at"]
            found.notified = wait_for(port, [done["path"]], 4 * QUIETLY)
        found.ended = time.time()
    add_waits(report, found, "saved", found.saved, QUIETLY)
    add_waits(report, found, "deleted", found.deleted, QUIETLY)
    wrong = found.notified.keys() ^ (found.saved.keys() | found.deleted.keys())
    report.check("URLs submitted for nothing, or not at all", sorted(wrong))
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
