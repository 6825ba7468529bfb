"""What was changed behind Django's signals, said by the project itself."""

from __future__ import annotations

from typing import Any, NamedTuple

from django.db.models import Model, QuerySet
from django.utils.asyncio import async_unsafe

from django_sitemaps_plus.sitemaps.keys import Key, KeyValue
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import SectionSource, database_of, source
from django_sitemaps_plus.sitemaps.site import (
    declared_sites,
    named_site,
    working_for,
)

from .dependencies import dependencies, related_tables
from .receivers import key_of
from .recorder import MOST_KEYS, Bag, remembering


@async_unsafe
def touch(changed: QuerySet[Any] | type[Model] | Model) -> None:
    """Remember rows that were changed behind the signals: the root's ``touch()``."""
    model = _model_of(changed)
    found: dict[str, list[_Found]] = {}
    for site in declared_sites():
        with working_for(site):
            for name in registry.sources():
                section = source(name)
                if section.key is not None and _reads(section, section.key, model):
                    database = database_of(section.sitemap.items())
                    keys = _keys_of(section.key, changed, database)
                    own = _Found(named_site(), section, keys)
                    found.setdefault(database, []).append(own)
    for database, sections in found.items():
        with remembering(database) as bag:
            for one in sections:
                _remember(bag, one, database, changed)


class _Found(NamedTuple):
    """A section that lists or reads what was changed."""

    #: Which of ``SITES`` it belongs to; empty for the site without a name.
    site: str
    section: SectionSource
    #: None stands for any.
    keys: list[KeyValue] | None


def _reads(section: SectionSource, key: Key, model: type[Model]) -> bool:
    """Tell whether a section lists a model, or its entries read it."""
    if model in related_tables(key.model):
        return True
    known = dependencies(section.sitemap)
    related = known.related if known else {}
    return any(model in related_tables(other) for other in related)


def _keys_of(key: Key, changed: Any, database: str) -> list[KeyValue] | None:
    """Return the keys of what was changed; None stands for any."""
    if _model_of(changed) not in related_tables(key.model):
        return None
    if isinstance(changed, QuerySet):
        return _keys(key, changed.using(database))
    if isinstance(changed, Model):
        value = key_of(key, changed)
        return [] if value is None else [value]
    return None


def _remember(bag: Bag, found: _Found, database: str, changed: Any) -> None:
    section, keys = found.section, found.keys
    if section.key is None:
        return
    own = bag.keys(found.site, section.name, section.key, database)
    own.whole = own.whole or keys is None
    for value in keys or ():
        own.add(value)
    if keys == [] and isinstance(changed, Model) and changed.pk is not None:
        own.unloaded[changed.pk] = None


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
