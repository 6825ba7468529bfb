"""Records changes that send no signals: the project calls ``touch()``."""

from __future__ import annotations

import logging
from typing import Any

from django.db.models import Model, QuerySet
from django.utils.asyncio import async_unsafe

from django_sitemaps_plus.db import refusing_queries
from django_sitemaps_plus.sitemaps.keys import Key, KeyValue, plain
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import SectionSource, source
from django_sitemaps_plus.sitemaps.site import Site, working_for

from .dependencies import dependencies, related_tables
from .hints import MOST_KEYS
from .recorder import remembering

logger = logging.getLogger("django_sitemaps_plus")


@async_unsafe
def touch(changed: QuerySet[Any] | type[Model] | Model) -> None:
    """Remember rows that were changed behind the signals: the root's ``touch()``."""
    model = _model_of(changed)
    for site in Site.all():
        with working_for(site):
            for name in registry.sources():
                try:
                    # One of items() that fails would end the user's transaction.
                    with refusing_queries():
                        section = source(name)
                        key = section.key
                        if key is None or not _reads(section, key, model):
                            continue
                except Exception:
                    # Another section's, and the user's own work goes on.
                    text = "A change of %s could not be recorded for the section %r."
                    logger.exception(text, model._meta.label, name)
                    continue
                _remember(section, key, changed)


def _reads(section: SectionSource, key: Key, model: type[Model]) -> bool:
    """Return whether a section lists a model, or its entries read it."""
    if model in related_tables(key.model):
        return True
    return any(model in related_tables(other) for other in dependencies(section))


def _remember(section: SectionSource, key: Key, changed: Any) -> None:
    is_own = _model_of(changed) in related_tables(key.model)
    values = None
    if is_own and isinstance(changed, QuerySet):
        values = _keys(key, changed.using(section.database))
    with remembering(section.database) as bag:
        keys = bag.keys(Site.current().name, section.name, key)
        if is_own and isinstance(changed, Model):
            keys.add_instance(changed)
            return
        keys.whole = keys.whole or values is None
        for value in values or ():
            keys.add(value)


def _model_of(changed: Any) -> type[Model]:
    if isinstance(changed, QuerySet):
        return changed.model
    if isinstance(changed, Model):
        return type(changed)
    if isinstance(changed, type) and issubclass(changed, Model):
        return changed
    raise TypeError(f"touch() takes a queryset, an object or a model, not {changed!r}.")


def _keys(key: Key, queryset: QuerySet[Any]) -> list[KeyValue] | None:
    """
    Return the keys of the rows of a queryset; None stands for any.

    Of very many the first and the last: a range is as good.
    """
    names = key.names
    lineage = {known.model for known in queryset.model._meta.concrete_fields}
    if not {known.model for known in key.fields} <= lineage:
        if names != (key.model._meta.pk.attname,):
            return None
        # A parent's rows: the same primary keys.
        names = ("pk",)
    query = queryset.query
    is_whole = not (query.is_sliced or query.combinator or query.distinct_fields)
    rows = queryset.order_by() if is_whole else queryset
    found = list(plain(rows).values_list(*names)[: MOST_KEYS + 1])
    if len(found) <= MOST_KEYS:
        return found
    if not is_whole or not key.is_whole:
        return None
    ordered = plain(queryset).order_by(*names).values_list(*names)
    # So many become a range, from the first to the last.
    return [*found, *ordered[:1], *ordered.reverse()[:1]]
