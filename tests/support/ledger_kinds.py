"""
The kinds of keys that divide a section into pages, a table for each.

Most tables are made for these tests alone, because their columns depend on the
database: collations have other names everywhere.
"""

from __future__ import annotations

import datetime as dt
import random
import uuid
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django.apps.registry import Apps
from django.conf import settings
from django.db import connections, models

from tests.testapp.models import Elsewhere, Story

Key = tuple[Any, ...]

#: Of the default database, read without connecting to it.
VENDOR = str(settings.DATABASES["default"]["ENGINE"]).rpartition(".")[2].strip("3")

#: Orders that are not Python's: by name, and only where letters' case does not count.
COLLATIONS = {
    "sqlite": {"case": "NOCASE", "language": "RTRIM"},
    "postgresql": {"case": "sitemaps_plus_nocase", "language": "sv-x-icu"},
    "mysql": {"case": "utf8mb4_general_ci", "language": "utf8mb4_swedish_ci"},
}[VENDOR]

_apps = Apps()


#: The models that are made here, by no app.
_made: list[type[models.Model]] = []


def _model(name: str, **keys: models.Field[Any, Any]) -> type[models.Model]:
    """Return a model with these key columns, and what entries are made of."""
    meta = type("Meta", (), {"app_label": "ledger", "apps": _apps})
    fields: dict[str, Any] = {
        **keys,
        "slug": models.CharField(max_length=200),
        "updated": models.DateTimeField(null=True),
        "live": models.BooleanField(default=True),
    }
    model = type(
        name, (models.Model,), {"__module__": __name__, "Meta": meta, **fields}
    )
    _made.append(model)
    return model


def _text(collation: str | None) -> models.Field[Any, Any]:
    return models.CharField(max_length=60, primary_key=True, db_collation=collation)


Number = _model("Number", id=models.BigIntegerField(primary_key=True))
Apart = _model("Apart", number=models.IntegerField(unique=True))
Uuid = _model("Uuid", id=models.UUIDField(primary_key=True))
Text = _model("Text", code=_text(None))
CaseText = _model("CaseText", code=_text(COLLATIONS["case"]))
LanguageText = _model("LanguageText", code=_text(COLLATIONS["language"]))
Day = _model("Day", day=models.DateField(primary_key=True))
Moment = _model("Moment", moment=models.DateTimeField(unique=True))
Amount = _model(
    "Amount", amount=models.DecimalField(max_digits=12, decimal_places=3, unique=True)
)
Pair = _model(
    "Pair",
    pk=models.CompositePrimaryKey("shop", "code"),
    shop=models.IntegerField(),
    code=models.CharField(max_length=20),
)
Triple = _model(
    "Triple",
    pk=models.CompositePrimaryKey("day", "code", "number"),
    day=models.DateField(),
    code=models.CharField(max_length=20, db_collation=COLLATIONS["case"]),
    number=models.IntegerField(),
)


@dataclass(frozen=True)
class Kind:
    """A model, the columns that order it, and keys to fill it with."""

    name: str
    model: type[models.Model]
    columns: tuple[str, ...]
    #: Gives keys, some of them equal to the column's eyes.
    candidates: Callable[[random.Random], Iterable[Key]]
    page_by: str = "pk"
    database: str = "default"
    #: Whether rows have a date, and can be taken out of the section.
    dated: bool = True

    def __str__(self) -> str:
        return self.name

    def all(self) -> models.QuerySet[Any]:
        """Return every row, listed or not."""
        return self.model._default_manager.using(self.database)

    def empty(self) -> None:
        """Delete every row, without asking for what hangs on it."""
        self.all()._raw_delete(self.database)
        for model in self.model._meta.all_parents:
            model._default_manager.using(self.database).all().delete()

    def insert(self, rows: Sequence[dict[str, Any]], *, ignore: bool = False) -> None:
        """Add rows; ``ignore`` leaves out those whose key is there."""
        objects = [self.model(**row) for row in rows]
        if not self.model._meta.all_parents:
            self.all().bulk_create(objects, ignore_conflicts=ignore)
            return
        for row in objects:
            row.save(force_insert=True)

    def universe(self, rng: random.Random) -> list[Key]:
        """
        Return some hundred keys in the order of their database.

        The database also says which of them are the same.
        """
        self.empty()
        keys = list(self.candidates(rng))
        rng.shuffle(keys)
        unused = iter(range(len(keys)))
        rows = [
            {**dict(zip(self.columns, key, strict=True)), "slug": str(next(unused))}
            for key in keys
        ]
        self.insert(rows, ignore=self.database == "default")
        ordered = list(self.all().order_by(*self.columns).values_list(*self.columns))
        self.empty()
        return ordered


def _numbers(rng: random.Random) -> Iterable[Key]:
    edges = {-(2**63), 2**63 - 1, 0, -1, 1}
    return [(key,) for key in edges | {rng.randrange(-900, 900) for _ in range(600)}]


def _small(rng: random.Random) -> Iterable[Key]:
    return [(key,) for key in {rng.randrange(-900, 900) for _ in range(400)}]


def _positive(rng: random.Random) -> Iterable[Key]:
    return [(key,) for key in {rng.randrange(1, 9_000) for _ in range(90)}]


def _uuids(rng: random.Random) -> Iterable[Key]:
    # Some share their first or last bytes: MariaDB compares the last ones first.
    halves = [rng.getrandbits(64) for _ in range(8)]
    return [
        (uuid.UUID(int=(rng.choice(halves) << 64) | rng.getrandbits(64)),)
        if rng.random() < 0.5
        else (uuid.UUID(int=(rng.getrandbits(64) << 64) | rng.choice(halves)),)
        for _ in range(300)
    ]


_LETTERS = "aAbBzZäÄåÅöÖßsSiIıİñéËøØœŒ20 -_.'\"%\\&<[{,§漢字😀"


def _texts(rng: random.Random) -> Iterable[Key]:
    # A space or NUL at an end is another question, which the ORM leaves open.
    texts = {
        "".join(rng.choices(_LETTERS, k=rng.randrange(1, 7))).strip() or "x"
        for _ in range(420)
    }
    return [(text,) for text in sorted(texts)]


def _days(rng: random.Random) -> Iterable[Key]:
    first = dt.date(1, 1, 1) if VENDOR != "mysql" else dt.date(1000, 1, 1)
    near = {dt.date(2024, 1, 1) + dt.timedelta(rng.randrange(600)) for _ in range(250)}
    return [(day,) for day in sorted(near | {first, dt.date(9999, 12, 31)})]


def _moments(rng: random.Random) -> Iterable[Key]:
    start = dt.datetime(2026, 3, 28, 22, tzinfo=dt.UTC)
    moments = {
        start + dt.timedelta(microseconds=rng.choice([1, 10**6]) * rng.randrange(900))
        for _ in range(300)
    }
    return [(moment,) for moment in sorted(moments)]


def _amounts(rng: random.Random) -> Iterable[Key]:
    amounts = {Decimal(rng.randrange(-(10**9), 10**9)).scaleb(-3) for _ in range(150)}
    amounts |= {Decimal(rng.randrange(-300, 300)).scaleb(-3) for _ in range(150)}
    return [(amount,) for amount in sorted(amounts)]


def _pairs(rng: random.Random) -> Iterable[Key]:
    codes = ["a", "B", "b0", "ä", "z", "10", "9", "é'%", "c d", "Ö"]
    return sorted({(rng.randrange(-3, 12), rng.choice(codes)) for _ in range(300)})


def _triples(rng: random.Random) -> Iterable[Key]:
    days = [dt.date(2024, 5, day) for day in (1, 2, 30)]
    return sorted(
        {
            (rng.choice(days), rng.choice("aAbBzZ09"), rng.randrange(-6, 9))
            for _ in range(300)
        }
    )


KINDS = {
    kind.name: kind
    for kind in (
        Kind("integers", Number, ("id",), _numbers),
        Kind("a unique column", Apart, ("number",), _small, page_by="number"),
        Kind("uuids", Uuid, ("id",), _uuids),
        Kind("texts", Text, ("code",), _texts),
        Kind("texts without case", CaseText, ("code",), _texts),
        Kind("texts of a language", LanguageText, ("code",), _texts),
        Kind("days", Day, ("day",), _days),
        Kind("moments", Moment, ("moment",), _moments, page_by="moment"),
        Kind("amounts", Amount, ("amount",), _amounts, page_by="amount"),
        Kind("pairs", Pair, ("shop", "code"), _pairs),
        Kind("triples", Triple, ("day", "code", "number"), _triples),
        Kind("children", Story, ("id",), _positive),
        Kind(
            "another database",
            Elsewhere,
            ("id",),
            _positive,
            database="other",
            dated=False,
        ),
    )
}


def create_tables() -> None:
    """Create the tables of this module in the test database, once."""
    connection = connections["default"]
    with connection.cursor() as cursor:
        there = connection.introspection.table_names(cursor)
        if VENDOR == "postgresql":
            cursor.execute(
                f"CREATE COLLATION IF NOT EXISTS {COLLATIONS['case']} "
                "(provider = icu, locale = 'und-u-ks-level2', deterministic = false)"
            )
    with connection.schema_editor() as editor:
        for model in _made:
            if model._meta.db_table not in there:
                editor.create_model(model)
