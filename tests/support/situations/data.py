"""What every situation starts with."""

from __future__ import annotations

import datetime as dt
from functools import cache
from typing import Any

from django.db import connections, transaction
from django.db.models import Model

from django_sitemaps_plus.changes import hints
from tests.support.alike import TABLE
from tests.testapp.models import (
    Article,
    Bond,
    Category,
    Elsewhere,
    Label,
    Note,
    Region,
    Spot,
    Story,
    Tag,
)

DAY = dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
#: Keys that the databases give begin above this one.
HIGHEST = 100
#: All tables that situations write to: those that refer to others are last.
TABLES: list[type[Model]] = [
    *(Category, Label, Region, Note, Elsewhere),
    *(Article, Story, Tag, Spot, Spot.labels.through, Bond),
]


def database(model: type[Model]) -> str:
    """Return where a model's rows are."""
    return "other" if model is Elsewhere else "default"


def fill() -> None:
    """Put the same rows into the tables, whatever is in them."""
    with transaction.atomic(), transaction.atomic(using="other"):
        empty()
        for rows in _rows():
            model = type(rows[0])
            if model is Story:
                # Of the child's own table; the other row is an article's.
                own = model._meta.local_concrete_fields
                model._base_manager.all()._insert(rows, fields=own, using="default")
            else:
                model._base_manager.using(database(model)).bulk_create(rows)
    for alias in connections:
        _count_on(alias)


def empty() -> None:
    """Take all rows away, and changes that were recorded or are still to be."""
    hints._late.clear()
    for alias in connections:
        names = [m._meta.db_table for m in reversed(TABLES) if database(m) == alias]
        if _has_changes(alias):
            names.append(TABLE)
        statements = [f"DELETE FROM {name}" for name in names]  # noqa: S608 (names of our own)
        if connections[alias].vendor == "postgresql":
            statements = ["; ".join(statements)]
        with transaction.atomic(using=alias), connections[alias].cursor() as cursor:
            for sql in statements:
                cursor.execute(sql)


@cache
def _has_changes(using: str) -> bool:
    return TABLE in connections[using].introspection.table_names()


def _rows() -> list[list[Any]]:
    labelled = Spot.labels.through
    return [
        [Category(pk=n, slug=slug) for n, slug in enumerate(("news", "top", "no"), 1)],
        [Label(pk=n, name=f"label{n}") for n in (1, 2, 3)],
        [Region(pk=1, name="north"), Region(pk=2, name="south")],
        [Note(pk=n, number=n) for n in (1, 2, 3)],
        [Elsewhere(pk=1, slug="far")],
        [
            Article(
                pk=n,
                slug=f"a{n}",
                title=f"Article {n}",
                category_id=category,
                updated=DAY,
                live=n != 6,
                weight=1,
            )
            for n, category in enumerate((1, 1, 2, None, 3, 2, 1), 1)
        ],
        [Story(article_ptr_id=7, source="wire")],
        [Tag(pk=1, article_id=1, name="x"), Tag(pk=2, article_id=1, name="y")],
        [Spot(pk=1, name="one", region_id=1), Spot(pk=2, name="two", guarded_id=2)],
        [labelled(pk=1, spot_id=1, label_id=1), labelled(pk=2, spot_id=1, label_id=2)],
        [Bond(pk=1, spot_id=1, region_id=2)],
    ]


def _count_on(using: str) -> None:
    """Have a database give the same keys in each run."""
    models = [m for m in TABLES if database(m) == using and m is not Story]
    names = [model._meta.db_table for model in models]
    with connections[using].cursor() as cursor:
        if connections[using].vendor == "mysql":
            # Each takes as long as all the rest; few tables need it.
            cursor.execute(_COUNTED, [HIGHEST + 1])
            for name in {name for (name,) in cursor.fetchall()} & {*names}:
                cursor.execute(f"ALTER TABLE {name} AUTO_INCREMENT = {HIGHEST + 1}")
        elif connections[using].vendor == "postgresql":
            calls = [f"setval('{name}_id_seq', {HIGHEST})" for name in names]
            cursor.execute(f"SELECT {', '.join(calls)}")
        else:
            cursor.execute(f"UPDATE sqlite_sequence SET seq = {HIGHEST}")  # noqa: S608 (names of our own)


_COUNTED = (
    "SELECT table_name FROM information_schema.tables "
    "WHERE table_schema = DATABASE() AND auto_increment <> %s"
)
