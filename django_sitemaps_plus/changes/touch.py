"""What was changed behind Django's signals, said by the project itself."""

from __future__ import annotations

from typing import Any

from django.db.models import Model, QuerySet
from django.utils.asyncio import async_unsafe

from django_sitemaps_plus.sitemaps.keys import KeyValue
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import database_of, source

from .dependencies import dependencies, related_tables
from .receivers import key_of
from .recorder import MOST_KEYS, bag_of


@async_unsafe
def touch(changed: QuerySet[Any] | type[Model] | Model) -> None:
    """Remember rows that were changed behind the signals: the root's ``touch()``."""
    model = _model_of(changed)
    for name in registry.sources():
        section = source(name)
        if section.key is None:
            continue
        database = database_of(section.sitemap.items())
        if model not in related_tables(section.key.model):
            known = dependencies(section.sitemap)
            related = known.related if known else {}
            if not any(model in related_tables(other) for other in related):
                continue
            found: list[KeyValue] | None = None
        elif isinstance(changed, Model):
            value = key_of(section.key, changed)
            found = [] if value is None else [value]
        elif isinstance(changed, QuerySet):
            found = _keys(section.key, changed.using(database))
        else:
            found = None
        bag, is_due = bag_of(database)
        keys = bag.keys(name, section.key, database)
        if found is None:
            keys.whole = True
        elif isinstance(changed, Model) and not found and changed.pk is not None:
            keys.unloaded[changed.pk] = None
        for value in found or ():
            keys.add(value)
        if is_due:
            bag()


def _model_of(changed: Any) -> type[Model]:
    if isinstance(changed, QuerySet):
        return changed.model
    if isinstance(changed, Model):
        return type(changed)
    if isinstance(changed, type) and issubclass(changed, Model):
        return changed
    raise TypeError(f"touch() takes a queryset, an object or a model, not {changed!r}.")


def _keys(key: Any, queryset: QuerySet[Any]) -> list[KeyValue] | None:
    """
    Return the keys of the rows of a queryset; None stands for any.

    Of very many the first and the last: a range is as good.
    """
    names = key.names
    if not {known.model for known in key.fields} <= _lineage(queryset.model):
        if names != (key.model._meta.pk.attname,):
            return None
        # A parent's rows: the same primary keys.
        names = ("pk",)
    query = queryset.query
    plain = not (query.is_sliced or query.combinator or query.distinct_fields)
    rows = queryset.order_by() if plain else queryset
    found = list(rows.values_list(*names)[: MOST_KEYS + 1])
    if len(found) <= MOST_KEYS:
        return found
    if not plain or not key.is_whole:
        return None
    ordered = queryset.order_by(*names).values_list(*names)
    # So many become a range, from the first to the last.
    return [*found, *ordered[:1], *ordered.reverse()[:1]]


def _lineage(model: type[Model]) -> set[type[Model]]:
    return {known.model for known in model._meta.concrete_fields}
