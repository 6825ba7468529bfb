"""
Two hundred writers saving at once, with recording and without it.

Threads of a few processes, each with a connection of its own, save objects that
nobody else saves, one transaction after the other, for some seconds. PostgreSQL only;
a server allows a hundred connections unless max_connections says more: without
--writers there are as many as it allows, up to two hundred, and the table says so.
"""

from __future__ import annotations

import subprocess
import sys
import threading
import time
from statistics import median
from typing import Any

from . import bench, data, recorded

#: Connections left for others, and for the server's own superuser.
SPARE = 10
MOST = 200
PROCESSES = 4


def main() -> int:
    """Run it, and return the exit code."""
    parser = bench.parser(__doc__, rounds=5)
    parser.add_argument("--writers", type=int, help="(default: as said above)")
    parser.add_argument("--seconds", type=float, default=5, help="(%(default)s)")
    parser.add_argument(
        "--pause",
        type=float,
        default=0,
        help="seconds between two saves of a writer (%(default)s)",
    )
    parser.add_argument("--part", type=int, help=_HIDDEN)
    parser.add_argument("--off", action="store_true", help=_HIDDEN)
    options = bench.start(parser)
    if options.part is not None:
        return work(options)
    from django.db import connection

    if connection.vendor != "postgresql":
        parser.error("two hundred writers want PostgreSQL: use --database postgres://…")
    data.load(article=50_000)
    options.writers = options.writers or min(MOST, allowed())
    title = f"{options.writers} writers"
    report = bench.Report(f"{title}, {options.pause:g} s between their saves")
    taken: dict[bool, list[float]] = {True: [], False: []}
    for turn in range(options.rounds):
        for off in (turn % 2 == 0, turn % 2 != 0):
            recorded.empty()
            saved = race(options, off=off)
            taken[off].append(saved / options.seconds)
            report.check(f"round {turn + 1}: changes", differences(saved, off=off))
    recorded.empty()
    bare, ours = median(taken[True]), median(taken[False])
    report.at_least(
        "transactions a second, with recording / without",
        ours / bare,
        f"{ours:,.0f} / {bare:,.0f}; best {max(taken[False]):,.0f} / "
        f"{max(taken[True]):,.0f}",
        target=0.9,
    )
    return report.finish()


_HIDDEN = "of the processes that this one starts"


def allowed() -> int:
    """Return how many connections the server has for us."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('max_connections')::int - count(*) "
            "FROM pg_stat_activity"
        )
        return int(cursor.fetchone()[0]) - SPARE


def race(options: Any, *, off: bool) -> int:
    """Let all write at once; returns how many objects they saved."""
    command = [sys.executable, "-m", "benchmarks.writers"]
    command += ["--database", options.database, "--writers", str(options.writers)]
    command += ["--seconds", str(options.seconds), "--pause", str(options.pause)]
    command += ["--off"] if off else []
    parts = [
        subprocess.Popen(
            [*command, "--part", str(part)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for part in range(PROCESSES)
    ]
    # Each tells when it is ready, and waits to be told that all are.
    for part in parts:
        assert part.stdout is not None
        part.stdout.readline()
    return sum(int(part.communicate("\n")[0]) for part in parts)


def differences(saved: int, *, off: bool) -> list[str]:
    """Compare the number of changes with the number of saves."""
    from django_sitemaps_plus.models import Change

    found, wanted = Change.objects.count(), 0 if off else saved
    return [] if found == wanted else [f"{found} changes, {wanted} expected"]


def work(options: Any) -> int:
    """Be one of the processes: print how many objects its threads saved."""
    from .shop.models import Article

    if options.off:
        recorded.stop()
    mine = range(options.part, options.writers, PROCESSES)
    counts = dict.fromkeys(mine, 0)
    begin, ready = threading.Event(), threading.Barrier(len(mine) + 1)

    def write(writer: int) -> None:
        from django.db import connection

        # Rows that no other writer has.
        own = list(Article.objects.filter(pk__gt=writer * 100)[:100])
        ready.wait()
        begin.wait()
        end = time.monotonic() + options.seconds
        while time.monotonic() < end:
            found = own[counts[writer] % len(own)]
            found.price = 5 if found.price == 4 else 4
            found.save()
            counts[writer] += 1
            time.sleep(options.pause)
        connection.close()

    threads = [threading.Thread(target=write, args=(writer,)) for writer in mine]
    for thread in threads:
        thread.start()
    ready.wait()
    print("ready", flush=True)
    sys.stdin.readline()
    begin.set()
    for thread in threads:
        thread.join()
    print(sum(counts.values()))
    return 0


if __name__ == "__main__":
    sys.exit(main())
