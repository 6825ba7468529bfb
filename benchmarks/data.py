"""The rows, made by the database itself and kept between runs."""

from __future__ import annotations

import sys
from contextlib import suppress

from django.apps import apps
from django.core.management import call_command
from django.core.management.color import no_style
from django.db import OperationalError, connection, models

from django_sitemaps_plus import hooks

#: Numbers from 1 to N, as each database counts fastest.
SERIES = {
    "postgresql": "SELECT generate_series(1::bigint, {rows}) AS n",
    "sqlite": (
        "WITH RECURSIVE counted(n) AS "
        "(SELECT 1 UNION ALL SELECT n + 1 FROM counted WHERE n < {rows}) "
        "SELECT n FROM counted"
    ),
    "mysql": (
        "SELECT 1 + a.d + 10*b.d + 100*c.d + 1000*e.d + 10000*f.d + 100000*g.d "
        "+ 1000000*h.d AS n FROM digits a, digits b, digits c, digits e, digits f, "
        "digits g, digits h WHERE a.d + 10*b.d + 100*c.d + 1000*e.d + 10000*f.d "
        "+ 100000*g.d + 1000000*h.d < {rows} ORDER BY n"
    ),
}
#: What MySQL and MariaDB need for that, and for || to mean what it does elsewhere.
MYSQL_FIRST = (
    "SET SESSION sql_mode = CONCAT(@@sql_mode, ',PIPES_AS_CONCAT')",
    "CREATE TABLE IF NOT EXISTS digits (d INT)",
    "TRUNCATE digits",
    "INSERT INTO digits VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9)",
)
#: A moment of the years 2020 to 2024, with microseconds as saved rows have them.
_SECONDS = "(n * 61) % 157000000"
_MICROSECONDS = "(n * 104729) % 999983 + 1"
_UPDATED = {
    "postgresql": (
        f"to_timestamp(1577836800 + {_SECONDS}) "
        f"+ ({_MICROSECONDS}) * interval '1 microsecond'"
    ),
    "sqlite": (
        f"strftime('%Y-%m-%d %H:%M:%S', 1577836800 + {_SECONDS}, 'unixepoch') "
        f"|| '.' || substr('00000' || ({_MICROSECONDS}), -6)"
    ),
    "mysql": (
        f"TIMESTAMP('2020-01-01 00:00:00') + INTERVAL {_SECONDS} SECOND "
        f"+ INTERVAL {_MICROSECONDS} MICROSECOND"
    ),
}


def _one_of(words: str) -> str:
    """Return SQL that takes the words in turn, one for each n."""
    given = words.split()
    cases = (f"WHEN {index} THEN '{word}'" for index, word in enumerate(given))
    return f"CASE n % {len(given)} {' '.join(cases)} END"


#: Words that do not repeat row by row (11 by 9 by 10 of them), or pages would be
#: gzipped faster than real ones are.
_ASCII = " || '-' || ".join(
    (
        _one_of("red green blue silver black yellow white orange purple golden grey"),
        _one_of("garden kitchen winter travel camping office children studio boat"),
        _one_of("chair lamp hose kettle table jacket blanket bottle ladder tent"),
        "n",
    )
)
_NOT_ASCII = " || '-' || ".join(
    (
        _one_of("käsespätzle борщ 海鮮焼きそば crème-brûlée żurek フォー"),
        _one_of("mit-röstzwiebeln со-сметаной 大盛り à-la-façon wiśniowy"),
        "n",
    )
)


def load(**tables: int) -> None:
    """
    Make sure that each table, by its model's name, has that many rows.

    All that this package stored in an earlier run is deleted.
    """
    _create_database()
    call_command("migrate", run_syncdb=True, verbosity=0)
    forget()
    for name, rows in tables.items():
        model = apps.get_model("shop", name)
        if _count(model) != rows:
            print(f"Loading {rows:,} rows of {name} …", file=sys.stderr)
            _fill(model, rows)


def forget() -> None:
    """Delete all that this package has stored: pages, changes, submissions, counts."""
    own = [one for one in apps.get_app_configs() if hasattr(one, hooks.ATTRIBUTE)]
    for config in [apps.get_app_config("sitemaps_plus"), *own]:
        for model in config.get_models():
            model._base_manager.all().delete()


def insert(model: type[models.Model], rows: str, **columns: str) -> None:
    """
    Insert a row for each of ``rows``, SQL behind FROM; columns are SQL expressions.

    The others have their defaults, whatever columns a table has by now.
    """
    quote = connection.ops.quote_name
    for field in model._meta.concrete_fields:
        if field.has_default():
            columns.setdefault(field.column, _literal(field.get_default()))
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO {quote(model._meta.db_table)} "
            f"({', '.join(map(quote, columns))}) "
            f"SELECT {', '.join(columns.values())} FROM {rows}"
        )


def _literal(value: object) -> str:
    """Return a default as SQL, of text, numbers and booleans."""
    if isinstance(value, bool):
        return "1 = 1" if value else "1 = 0"
    return f"'{value}'" if isinstance(value, str) else str(value)


def analyze(*found: type[models.Model]) -> None:
    """
    Have the database count the rows, which it does itself within minutes.

    On PostgreSQL also the visibility map that index-only scans need.
    """
    how = {"postgresql": "VACUUM ANALYZE", "mysql": "ANALYZE TABLE"}
    with connection.cursor() as cursor:
        for model in found:
            table = connection.ops.quote_name(model._meta.db_table)
            cursor.execute(f"{how.get(connection.vendor, 'ANALYZE')} {table}")
            if cursor.description:
                cursor.fetchall()


def _count(model: type[models.Model]) -> int:
    """Return the number of rows, which are numbered from 1 and never deleted."""
    newest = model._default_manager.order_by("-pk").values_list("pk", flat=True).first()
    return newest or 0


def _fill(model: type[models.Model], rows: int) -> None:
    vendor = connection.vendor
    table = connection.ops.quote_name(model._meta.db_table)
    slug = _NOT_ASCII if model._meta.model_name == "dish" else _ASCII
    with connection.cursor() as cursor:
        if vendor == "mysql":
            for statement in MYSQL_FIRST:
                cursor.execute(statement)
        empty = "DELETE FROM" if vendor == "sqlite" else "TRUNCATE"
        cursor.execute(f"{empty} {table}")
        cursor.execute(
            f"INSERT INTO {table} (id, slug, name, price, listed, updated) "
            f"SELECT n, {slug}, 'Number ' || n || ' of what the shop has', "
            f"(n % 10000) / 100.0, n % 10 <> 0, {_UPDATED[vendor]} "
            f"FROM ({SERIES[vendor].format(rows=rows)}) series"
        )
        for statement in connection.ops.sequence_reset_sql(no_style(), [model]):
            cursor.execute(statement)
    analyze(model)


def _create_database() -> None:
    """Create the database if its server does not have it."""
    settings = connection.settings_dict
    if connection.vendor == "sqlite":
        return
    with suppress(OperationalError):
        connection.ensure_connection()
        return
    name = connection.ops.quote_name(settings["NAME"])
    charset = "" if connection.vendor == "postgresql" else " CHARACTER SET utf8mb4"
    with connection._nodb_cursor() as cursor:
        cursor.execute(f"CREATE DATABASE {name}{charset}")
