"""
Two hundred writers at once, with recording and without: with a pause, and without one.

Threads of a few processes, each with a connection of its own, save objects that
nobody else saves, for some seconds. Half of the turns save a model that no section
lists. PostgreSQL only; a server allows a hundred connections unless max_connections
says more: without --writers there are as many as it allows, up to two hundred.
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
#: Seconds between two saves of a writer, and the share of the transactions.
PAUSES = {0.3: 0.98, 0.0: 0.6}
_HIDDEN = "for the processes that this one starts"


def main() -> int:
    """Run it, and return the exit code."""
    parser = bench.parser(__doc__, rounds=5)
    parser.add_argument("--writers", type=int, help="(default: as said above)")
    parser.add_argument("--seconds", type=float, default=5, help="(%(default)s)")
    parser.add_argument("--part", type=int, help=_HIDDEN)
    parser.add_argument("--pause", type=float, help=_HIDDEN)
    parser.add_argument("--model", help=_HIDDEN)
    options = bench.start(parser, "article")
    if options.part is not None:
        return work(options)
    from django.db import connection

    if connection.vendor != "postgresql":
        parser.error("two hundred writers need PostgreSQL: use --database postgres://…")
    data.load(article=50_000, draft=50_000)
    options.writers = options.writers or min(MOST, allowed())
    report = bench.Report(f"{options.writers} writers")
    for pause, target in PAUSES.items():
        compare(report, options, pause, target)
    recorded.empty()
    return report.finish()


def allowed() -> int:
    """Return how many connections the server has for us."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT current_setting('max_connections')::int - count(*) "
            "FROM pg_stat_activity"
        )
        return int(cursor.fetchone()[0]) - SPARE


def compare(report: bench.Report, options: Any, pause: float, target: float) -> None:
    """Let the writers of both models take turns."""
    from django_sitemaps_plus.models import Change

    what = f"{pause:g} s between two saves"
    taken: dict[str, list[float]] = {"article": [], "draft": []}
    for turn in range(options.rounds):
        for model in sorted(taken, reverse=turn % 2 == 0):
            recorded.empty()
            saved = race(options, model, pause)
            taken[model].append(saved / options.seconds)
            found, wanted = Change.objects.count(), saved if model == "article" else 0
            wrong = [] if found == wanted else [f"{found} changes of {wanted} saves"]
            report.check(f"{what}, {model}, round {turn + 1}: changes", wrong)
    ours, bare = median(taken["article"]), median(taken["draft"])
    best = f"{max(taken['article']):,.0f} / {max(taken['draft']):,.0f}"
    report.at_least(
        f"{what}: transactions a second, with recording / without",
        ours / bare,
        f"{ours:,.0f} / {bare:,.0f}; best {best}",
        target=target,
    )


def race(options: Any, model: str, pause: float) -> int:
    """Let all write at once; return how many objects they saved."""
    command = [sys.executable, "-m", "benchmarks.writers"]
    command += ["--database", options.database, "--writers", str(options.writers)]
    command += ["--seconds", str(options.seconds), "--pause", str(pause)]
    parts = [
        subprocess.Popen(
            [*command, "--model", model, "--part", str(part)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for part in range(PROCESSES)
    ]
    # Each says when it is ready, and waits until all are.
    for part in parts:
        assert part.stdout is not None
        part.stdout.readline()
    return sum(int(part.communicate("\n")[0]) for part in parts)


def work(options: Any) -> int:
    """Be one of the processes: print how many objects its threads saved."""
    from django.apps import apps

    model = apps.get_model("shop", options.model)
    mine = range(options.part, options.writers, PROCESSES)
    counts = dict.fromkeys(mine, 0)
    begin, ready = threading.Event(), threading.Barrier(len(mine) + 1)

    def write(writer: int) -> None:
        from django.db import connection

        # Rows that no other writer has.
        rows = model._default_manager.filter(pk__gt=writer * 100).order_by("pk")
        own = list(rows[:100])
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
