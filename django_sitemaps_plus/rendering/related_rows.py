"""
The values of related rows: one query for some hundreds of items.

By the raw cursor, as on the row path, whichever path the items are read on.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import nullcontext
from itertools import count
from typing import Any

from django.core.exceptions import FieldError
from django.db import connections
from django.db.models import FileField, Q, QuerySet
from django.utils import translation

from django_sitemaps_plus.protocol.extensions import MEDIA, MediaKind
from django_sitemaps_plus.sitemaps.attributes import (
    attribute_of,
    declared_expressions,
    declared_related,
    in_language,
    is_alias,
    tags,
)
from django_sitemaps_plus.sitemaps.keys import Key, key_of
from django_sitemaps_plus.sitemaps.media import FileUrl, Related, filler, is_slot
from django_sitemaps_plus.sitemaps.registry import AnySitemap
from django_sitemaps_plus.sitemaps.sections import SectionSource, database_of

from .statements import Attempt, Statement, compiled, converted, rows_of, transposed

#: How many times as many keys a range may have as are wanted.
_SPARSE = 4


def related_values(
    related: Related,
    kind: MediaKind,
    key: Key,
    labels: Sequence[Any],
    using: str,
    attempt: Attempt,
    language: str | None = None,
) -> list[list[Any]]:
    """
    Return what ``related`` declares for each of the items whose keys are ``labels``.

    These are the ORM's values, tuples for a key of several columns. Of a ``language``,
    where one is given.
    """
    width = len(key.names)
    with translation.override(language) if language else nullcontext():
        items = key.model._base_manager.using(using)
        query = related.rows(items, key.names, _among(key, labels))
        statement, converters = compiled(query)
    with connections[using].cursor() as cursor:
        cursor.execute(*statement)
        rows = cursor.fetchall()
    if not rows:
        return [[]] * len(labels)
    columns = transposed(rows)
    for index, convert in converters.items():
        columns[index] = converted(convert, columns[index], attempt, None)
    owners = rows_of(columns[:width])
    values = filled(related.value, kind, columns[width:], attempt)
    # The rows of an item follow one another.
    groups, start = {}, 0
    for owner, number in Counter(owners).items():
        groups[owner] = values[start : start + number]
        start += number
    if not all(values):
        groups = {owner: [one for one in some if one] for owner, some in groups.items()}
    return [groups.get(label, []) for label in labels]


def _among(key: Key, labels: Sequence[Any]) -> Q:
    """
    Return the condition for the items of some keys.

    As a range, which databases read in half the time, where it has few others in it.
    """
    if key.is_whole:
        first, last = min(labels), max(labels)
        if last - first < _SPARSE * len(labels):
            name = key.names[0]
            return Q(**{f"{name}__gte": first, f"{name}__lte": last})
    width = len(key.names)
    return key.among([(label,) for label in labels] if width == 1 else labels)


def filled(
    declared: Any, kind: MediaKind, columns: Sequence[Sequence[Any]], attempt: Attempt
) -> list[Any]:
    """Return each row's media of a kind, from the columns of its slots."""
    if is_slot(kind.address(declared)):
        return list(columns[0])
    fill = filler(declared, count(), kind)
    return attempt(fill, list(zip(*columns, strict=True)), None)


def statements_of(sitemap: AnySitemap, key: Key) -> list[Statement]:
    """
    Return the statements that read all related rows of a section.

    Raises Django's ``FieldError`` for what cannot be resolved.
    """
    items = key.model._base_manager.all()
    return [
        compiled(slot.rows(items, key.names))[0]
        for slot in declared_related(sitemap).values()
    ]


def other_statements(sitemap: AnySitemap, key: Key) -> dict[str, list[Statement]]:
    """Return what ``statements_of`` does in each language where that is another."""
    found: dict[str, list[Statement]] = {}
    if sitemap.i18n and (usual := statements_of(sitemap, key)):
        for language in sitemap._languages():
            with translation.override(language):
                found[language] = statements_of(sitemap, key)
        found = {language: own for language, own in found.items() if own != usual}
    return found


def attach(
    source: SectionSource, items: list[Any], attempt: Attempt, faults: dict[int, str]
) -> None:
    """
    Give each item what expressions alone do not: related rows, files' addresses.

    On the object path, under the names that the values of expressions have.
    """
    expressions = declared_expressions(source.sitemap)
    related = declared_related(source.sitemap)
    if not items or not (expressions or related):
        return
    queryset = source.items()
    columns: dict[str, Sequence[Any]] = {}
    for name in filter(is_alias, queryset.query.annotation_select):
        convert = _file_url(queryset, name)
        if convert is not None:
            names = [getattr(item, name) for item in items]
            given = None if attribute_of(name) in tags() else faults
            columns[name] = converted(convert, names, attempt, given)
    key, using = key_of(queryset, "pk"), database_of(queryset)
    languages = (None, *other_statements(source.sitemap, key))
    for name, slot in related.items():
        kind, labels = MEDIA[attribute_of(name)], key.labels(items)
        for language in languages:
            columns[in_language(name, language) if language else name] = related_values(
                slot, kind, key, labels, using, attempt, language
            )
    for name, column in columns.items():
        for item, value in zip(items, column, strict=True):
            setattr(item, name, value)


def _file_url(queryset: QuerySet[Any], name: str) -> FileUrl | None:
    """Return what gives the addresses of an annotation's files, if it has files."""
    try:
        output = queryset.query.annotations[name].output_field
    except FieldError:
        return None
    return FileUrl(output) if isinstance(output, FileField) else None
