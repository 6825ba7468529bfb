"""What was changed behind Django's signals, said by the project itself."""

from __future__ import annotations

from typing import Any

from django.db.models import Model, QuerySet
from django.utils.asyncio import async_unsafe

from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import source

from .dependencies import family
from .gathering import MOST_KEYS, write_rows
from .recorder import Recorder
from .statements import Row


@async_unsafe
def touch(changed: QuerySet[Any] | type[Model] | Model) -> None:
    """
    Say that rows were changed behind Django's signals.

    After ``update()``, ``bulk_create()``, ``bulk_update()`` or raw SQL::

        articles = Article.objects.filter(pk__in=keys)
        articles.update(live=False)
        touch(articles)

    ``changed`` is a queryset of the rows as they are now, an object, or a model: all
    of its rows, those that were deleted too. Of a model that a section's expressions
    or filters traverse, it concerns the whole section. Raises ``TypeError`` for
    anything else, and ``SynchronousOnlyOperation`` in a coroutine, as the ORM does.
    """
    model = _model_of(changed)
    for name in registry.sources():
        key = source(name).key
        if key is None:
            continue
        recorder = Recorder(name)
        if model not in family(key.model):
            if recorder.depends_on(model):
                write_rows(recorder.database, [Row(name)])
        elif isinstance(changed, Model):
            value = recorder.key_of(changed, recorder.database)
            if value is not None:
                write_rows(recorder.database, [Row(name, key.dumps(value))])
        elif isinstance(changed, QuerySet):
            rows = _touched(recorder, changed.using(recorder.database))
            write_rows(recorder.database, rows)
        else:
            write_rows(recorder.database, [Row(name)])


def _model_of(changed: Any) -> type[Model]:
    if isinstance(changed, QuerySet):
        return changed.model
    if isinstance(changed, Model):
        return type(changed)
    if isinstance(changed, type) and issubclass(changed, Model):
        return changed
    raise TypeError(f"touch() takes a queryset, an object or a model, not {changed!r}.")


def _touched(recorder: Recorder, queryset: QuerySet[Any]) -> list[Row]:
    name, key = recorder.name, recorder.key
    names = key.names
    if not {known.model for known in key.fields} <= _lineage(queryset.model):
        if names != (key.model._meta.pk.attname,):
            return [Row(name)]
        # A parent's rows: the same primary keys.
        names = ("pk",)
    query = queryset.query
    plain = not (query.is_sliced or query.combinator or query.distinct_fields)
    rows = queryset.order_by() if plain else queryset
    some = list(rows.values_list(*names)[: MOST_KEYS + 1])
    if len(some) <= MOST_KEYS:
        return [Row(name, key.dumps(value)) for value in some]
    if not plain:
        return [Row(name)]
    ordered = queryset.order_by(*names)
    first = ordered.values_list(*names)[0]
    last = ordered.reverse().values_list(*names)[0]
    return [Row(name, key.dumps(first), upto=key.dumps(last))]


def _lineage(model: type[Model]) -> set[type[Model]]:
    return {known.model for known in model._meta.concrete_fields}
