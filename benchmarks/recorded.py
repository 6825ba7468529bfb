"""The changes that saving and deleting left behind."""

from __future__ import annotations

import json
from collections.abc import Iterable


def empty() -> None:
    """Delete the changes recorded so far."""
    from django.db import connection

    from django_sitemaps_plus.models import Change

    with connection.cursor() as cursor:
        table = connection.ops.quote_name(Change._meta.db_table)
        statement = "DELETE FROM" if connection.vendor == "sqlite" else "TRUNCATE"
        cursor.execute(f"{statement} {table}")


def differences(section: str, wanted: Iterable[int]) -> list[str]:
    """Compare the keys that were recorded with those that had to be."""
    from django_sitemaps_plus.models import Change

    keys, others = set[int](), []
    for name, key, upto in Change.objects.values_list("section", "key", "upto"):
        if name != section or not key:
            others.append(f"section {name!r}, key {key!r} was recorded")
            continue
        first, last = _number(key), _number(upto or key)
        keys.update(range(first, last + 1))
    missing, wrong = set(wanted) - keys, keys - set(wanted)
    return [
        *others,
        *(f"{section} {key} was not recorded" for key in sorted(missing)),
        *(f"{section} {key} was recorded" for key in sorted(wrong)),
    ]


def _number(key: str) -> int:
    return int(json.loads(key)[0])
