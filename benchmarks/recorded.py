"""What is recorded, and the same models without it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from django.db import connection

from . import bench


def on() -> None:
    """Listen to the models, with nothing recorded yet."""
    from django_sitemaps_plus.changes import receivers

    empty()
    receivers.connect()


def off() -> None:
    """Listen to nothing, with nothing recorded yet."""
    empty()
    stop()


def stop() -> None:
    """Listen to nothing: what a project without this package has."""
    from django_sitemaps_plus.changes import receivers

    receivers.disconnect()


def empty() -> None:
    """Delete the changes recorded so far, as delivering them does."""
    from django_sitemaps_plus.models import Change

    with connection.cursor() as cursor:
        table = connection.ops.quote_name(Change._meta.db_table)
        statement = "DELETE FROM" if connection.vendor == "sqlite" else "TRUNCATE"
        cursor.execute(f"{statement} {table}")


def compare(
    report: bench.Report,
    what: str,
    wanted: Iterable[tuple[str, str | None]],
    run: Callable[[], object],
) -> None:
    """Compare what ``run`` records, keys and former paths, with what is wanted."""
    from django_sitemaps_plus.changes.assignment import former_paths
    from django_sitemaps_plus.models import Change

    on()
    run()
    rows = list(Change.objects.order_by("pk"))
    paths = former_paths(rows[0].section, rows) if rows else []
    found = sorted(
        (
            (change.key, None if old is None else json.dumps(old))
            for change, old in zip(rows, paths, strict=True)
        ),
        key=str,
    )
    expected = set(wanted)
    missing, other = expected - set(found), set(found) - expected
    differences = [
        *(f"{what}: {row} is missing" for row in sorted(missing, key=str)),
        *(f"{what}: {row} is wrong" for row in sorted(other, key=str)),
    ]
    if len(set(found)) < len(found):
        differences.append(f"{what}: {len(found)} changes, some of them the same")
    report.check(f"{what}: changes that are missing or wrong", differences)
