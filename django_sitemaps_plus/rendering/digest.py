"""
A section's definition: what its bytes depend on besides its rows.

Pages of another definition are rebuilt, so that a deploy which declares something
else shows at once.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from typing import Any

from django.conf import settings as django_settings
from django.core.signals import setting_changed
from django.utils import timezone

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.sitemaps import tenants
from django_sitemaps_plus.sitemaps.attributes import declared, is_method, moments
from django_sitemaps_plus.sitemaps.media import is_expression
from django_sitemaps_plus.sitemaps.routes import Route
from django_sitemaps_plus.sitemaps.sections import SectionSource, items_of, source
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE, Site

from .related_rows import other_statements, statements_of
from .row_path import RowPlan

#: How rows become bytes, counted up when that changes.
_VERSION = 1


def version() -> str:
    """
    Return what the digest of every section begins with.

    With another version every page is rebuilt, and none counts as changed: its entries
    say the same, and so do its URLs' dates.
    """
    return f"{_VERSION}{'s' if get_settings().STYLESHEET else ''}-"


_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")
#: How a query asks a database for the time, as Django's functions write it.
_CLOCKS = ("CURRENT_TIMESTAMP", "STATEMENT_TIMESTAMP", "NOW()", "'NOW'", "CURRENT_DATE")


@dataclass(frozen=True)
class Definition:
    """What a section's bytes depend on besides its rows."""

    digest: str
    #: Whether the query depends on the time at which it runs.
    clock: bool
    #: Whether the section declares when its items appear or expire.
    ticks: bool


@lru_cache(maxsize=16_384)
@PLACEHOLDER_SITE.rendering()
def _definition(
    name: str, registered: object, site: str, tenant: str, base_url: str | None
) -> Definition:
    section = source(name)
    # Twice: what the query takes from the clock is another value the second time.
    first, second = _description(section), _description(section)
    clock = first != second or _mentions_today(first)
    if clock:
        first = [part for part in first if not _is_time(part)]
    # The address of an object differs from process to process.
    text = _ADDRESS.sub("", ", ".join(map(_written, [base_url, *first])))
    digest = hashlib.blake2b(text.encode(), digest_size=16).hexdigest()
    ticks = bool(moments(section.sitemap))
    return Definition(f"{version()}{digest}", clock, ticks)


def definition(section: SectionSource) -> Definition:
    """
    Return the digest of the running code's definition of a registered section.

    Another query, expression, route, constant or list of languages has another
    digest. The body of a Python method does not count: such a change shows after
    ``VERIFY_AFTER``.
    """
    return _definition(
        section.name,
        section.registered,
        section.site,
        tenants.current_tenant_key(),
        Site.current().base_url,
    )


def _description(section: SectionSource) -> list[Any]:
    """Return everything that defines a section, with the parameters of its query."""
    sitemap = section.sitemap
    parts: list[Any] = [
        type(sitemap).__module__,
        type(sitemap).__qualname__,
        section.limit,
        section.languages,
        sitemap.protocol,
        sitemap.i18n,
        sitemap.alternates,
        sitemap.x_default,
        section.by_position or section.object_path,
        Site.current().default_language,
        django_settings.TIME_ZONE,
        django_settings.USE_TZ,
    ]
    for name, value in declared(sitemap).items():
        if isinstance(value, Route):
            parts += [name, *_route_parts(value, section)]
        elif not is_method(value) and not is_expression(value):
            parts += [name, _written(value)]
    if section.key is not None:
        queryset = section.key.order(items_of(sitemap))
        plan = RowPlan(sitemap, queryset, section.key)
        related = [statements_of(sitemap, section.key)]
        related += other_statements(sitemap, section.key).values()
        for statement, params in [plan.statement, *chain(*related)]:
            # Sorted: the order of a set of texts differs from process to process.
            parts += [statement, *sorted(params, key=_written)]
    return parts


def _route_parts(route: Route, section: SectionSource) -> list[Any]:
    parts: list[Any] = [repr(route)]
    for language in section.languages:
        with PLACEHOLDER_SITE.rendering(language):
            compiled = route.compile()
        parts += [language, compiled.pieces, compiled.slots]
    return parts


def _written(value: object) -> str:
    """Return what tells a value from others, if it can be told."""
    try:
        return repr(value)
    except Exception:  # the project's own type, or an int too long for Python
        return type(value).__qualname__


def _is_time(part: Any) -> bool:
    """Return whether a parameter is a time, or a text that begins as one: "2026-"."""
    if isinstance(part, (dt.date, dt.time)):
        return True
    # SQLite and MySQL take times as text.
    return isinstance(part, str) and part[:4].isdigit() and part[4:5] == "-"


def _mentions_today(parts: Sequence[Any]) -> bool:
    """Return whether a parameter is today's date, or a statement asks the time."""
    now = dt.datetime.now(dt.UTC)
    today = {str(now.date()), str(timezone.localdate(now))}
    if any(_is_time(part) and str(part)[:10] in today for part in parts):
        return True
    statements = [part.upper() for part in parts if isinstance(part, str)]
    return any(clock in statement for statement in statements for clock in _CLOCKS)


# Describe the sections again after a test has overridden a setting.
setting_changed.connect(lambda **kwargs: _definition.cache_clear(), weak=False)
