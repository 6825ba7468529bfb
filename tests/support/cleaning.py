"""Databases emptied after a test that commits, sooner than ``flush`` does it."""

from __future__ import annotations

from typing import Any

from django.contrib.sites.management import create_default_site
from django.core.management.color import no_style
from django.db import connections, transaction
from django.test import TransactionTestCase

#: Tables whose rows come from migrating, and no test changes them.
FIXED = ("auth_permission", "django_content_type")
#: Bytes of a table above which PostgreSQL truncates: what is deleted leaves its room.
LARGE = 256 * 1024


def clean_quickly() -> None:
    """
    Have tests empty only tables that have rows, and leave permissions as they are.

    Django truncates all tables, which takes PostgreSQL half a second, and then emits
    ``post_migrate``, which creates every permission again.
    """
    TransactionTestCase._fixture_teardown = _clean


def _clean(test: Any) -> None:
    for alias in test._databases_names(include_mirrors=False):
        _empty(connections[alias])


def _empty(connection: Any) -> None:
    tables = connection.introspection.django_table_names(
        only_existing=True, include_views=False
    )
    quote, is_postgres = connection.ops.quote_name, connection.vendor == "postgresql"
    rows = []
    for table in tables:
        if table not in FIXED:
            size = f"pg_relation_size('{quote(table)}')" if is_postgres else "0"
            rows.append(
                f"SELECT * FROM (SELECT '{table}', {size} "  # noqa: S608 (names of our own)
                f"FROM {quote(table)} LIMIT 1) found"
            )
    with (
        connection.constraint_checks_disabled(),
        transaction.atomic(using=connection.alias),
        connection.cursor() as cursor,
    ):
        cursor.execute(" UNION ALL ".join(rows))
        filled = dict(cursor.fetchall())
        statements = [f"DELETE FROM {quote(table)}" for table in filled]  # noqa: S608 (names of our own)
        if max(filled.values(), default=0) > LARGE:
            statements = connection.ops.sql_flush(
                no_style(), filled, allow_cascade=True
            )
        for statement in statements:
            cursor.execute(statement)
    create_default_site(None, verbosity=0, using=connection.alias)
