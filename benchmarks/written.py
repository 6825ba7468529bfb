"""
What the database writes for one change: the save, its assignment and its page.

One object among 500,000 rows is saved, assigned, and its page asked for, with the
default ``limit`` and with 50,000. On PostgreSQL the bytes are those of the WAL, once
just after a CHECKPOINT, when whole pages of tables are logged, and once later; on
MariaDB those of InnoDB's log; on SQLite what the process hands to the operating system
(on Linux). The server must have nothing else to do. Then, on PostgreSQL, a thousand
such changes with the default ``limit``: how large the table of stored bytes is a minute
later, against what is in it.
"""

from __future__ import annotations

import random
import sys
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any

from django.utils import timezone

from . import bench, data, site

DEFAULT = "track"
SECTIONS = {DEFAULT: "default limit", "full-track": "limit = 50,000"}
#: Bytes that one change may write, and how many times its content the table may have.
MOST, SWOLLEN = 200_000, 3
#: Seconds for which PostgreSQL is left alone after the changes.
PAUSE = 60
#: Changes before those that are measured: what they write is not logged as a whole page
#: again until the next checkpoint.
WARM = 250
PARTS = "save", "assignment", "page"


def main() -> int:
    """Run it, and return the exit code."""
    parser = bench.parser(__doc__, rounds=9, rows=500_000)
    parser.add_argument("--changes", type=int, default=1_000, help="(%(default)s)")
    options = bench.start(parser, *SECTIONS)
    from django.db import connection

    data.load(track=options.rows)
    report = bench.Report(f"What one change among {options.rows:,} rows writes")
    for section, kind in SECTIONS.items():
        data.forget()
        site.register_only(section)
        site.build(section)
        compare(report, section, kind, options)
        if connection.vendor == "postgresql" and section == DEFAULT:
            swell(report, section, kind, options)
    return report.finish()


def compare(report: bench.Report, section: str, kind: str, options: Any) -> None:
    """Measure single changes, each of a row anywhere."""
    from django.db import connection

    moments = ["later"]
    if connection.vendor == "postgresql":
        moments = ["just after a checkpoint", "later"]
    written: dict[str, list[list[int]]] = {moment: [] for moment in moments}
    wrong = []
    for moment in moments:
        for turn in range(-WARM if moment == "later" else -1, options.rounds):
            if moment != "later":
                execute("CHECKPOINT")
            taken, found = change(section, random.randint(1, options.rows))
            wrong += found
            if turn >= 0:
                written[moment].append(taken)
    report.check(f"{kind}: other pages than that of the row", wrong)
    for moment, each in written.items():
        parts = [median(part) for part in zip(*each, strict=True)]
        total = median(sum(parts) for parts in each)
        how = ", ".join(
            f"{name} {part / 1e3:.0f}" for name, part in zip(PARTS, parts, strict=True)
        )
        what = f"{kind}: KB of one change, {moment}"
        if section == DEFAULT and moment == "later":
            report.at_most(what, total / 1e3, how, target=MOST / 1e3)
        else:
            report.note(what, f"{bench.shown(total / 1e3)} ({how})")


def change(section: str, pk: int) -> tuple[list[int], list[str]]:
    """Save an object; return what each part of the change wrote, and what is wrong."""
    (own,) = site.page_of(section, [pk])
    before = site.versions(section)
    meter, path = METERS[vendor()], f"/sitemap-{section}-{own}.xml"
    marks = [meter()]
    for step in (lambda: save(pk), site.notify, lambda: site.page(path, **site.GZIP)):
        step()
        marks.append(meter())
    after = site.versions(section)
    built = [number for number in after if after[number] != before[number]]
    wrong = [] if built == [own] else [f"row {pk} of page {own}: {built} were built"]
    return [b - a for a, b in pairwise(marks)], wrong


def save(pk: int) -> None:
    """Save an object as a view would."""
    from .shop.models import Track

    track = Track.objects.get(pk=pk)
    track.updated = timezone.now()
    track.save()


def swell(report: bench.Report, section: str, kind: str, options: Any) -> None:
    """Make many changes, and compare the size of the table with its content."""
    # What others have left in it does not count.
    execute(f"VACUUM FULL {table()}")
    begun, wrong = time.monotonic(), []
    for pk in random.sample(range(1, options.rows + 1), options.changes):
        wrong += change(section, pk)[1]
    taken = time.monotonic() - begun
    at_once = size()[0]
    time.sleep(PAUSE)
    whole, live = size()
    report.check(f"{kind}, {options.changes:,} changes: other pages", wrong)
    report.at_most(
        f"{kind}: size of the table of bytes / its content, "
        f"{PAUSE} s after {options.changes:,} changes in {taken:.0f} s",
        whole / live,
        f"{whole / 1e6:.0f} / {live / 1e6:.1f} MB; at once {at_once / 1e6:.0f} MB",
        target=SWOLLEN,
    )


def size() -> tuple[int, int]:
    """Return the bytes of the table of stored bytes, and of what is stored in it."""
    return int(execute(f"SELECT pg_total_relation_size('{table()}')")), int(
        execute(f"SELECT sum(octet_length(data)) FROM {table()}")
    )


def table() -> str:
    """Return the name of the table of stored bytes."""
    from django_sitemaps_plus.models import PageFile

    return PageFile._meta.db_table


def execute(sql: str, column: int = 0) -> str:
    """Run a statement; return a column of its first row."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(sql)
        return str(cursor.fetchone()[column]) if cursor.description else ""


def vendor() -> str:
    """Return which database it is."""
    from django.db import connection

    return connection.vendor


def wal() -> int:
    """Return how much PostgreSQL has logged so far."""
    return int(execute("SELECT pg_current_wal_insert_lsn() - '0/0'::pg_lsn"))


def redo() -> int:
    """Return how much InnoDB has logged so far."""
    return int(execute("SHOW GLOBAL STATUS LIKE 'Innodb_os_log_written'", 1))


def output() -> int:
    """Return how much this process has written so far, to files of any kind."""
    lines = Path("/proc/self/io").read_text().splitlines()
    (written,) = (line.split()[1] for line in lines if line.startswith("wchar:"))
    return int(written)


#: By vendor.
METERS: dict[str, Callable[[], int]] = {
    "postgresql": wal,
    "mysql": redo,
    "sqlite": output,
}


if __name__ == "__main__":
    sys.exit(main())
