"""
Reads rows, to find which of them lists a URL, and whether its lastmod moves by itself.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import time
from collections.abc import Iterable, Mapping
from itertools import islice
from typing import Any

from django.db import models
from django.db.models import F
from django.db.models.expressions import BaseExpression
from django.utils import timezone

from django_sitemaps_plus.protocol.dates import parse_w3c
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.serving.documents import rows_of_page
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import SiteAddress

from .listed import ListedDocument
from .models import Finding
from .rules.lastmods import ENOUGH_LASTMODS, LENGTH_OF_DAY

#: Pages whose rows are read again to name those that list a URL.
_MOST_PAGES = 20
#: Rows of a section whose lastmods the next audit looks at again.
REMEMBERED = 100
#: Rows of a page that are read again to see whether their lastmods move.
_AGAIN = 100
#: Seconds in which the clock shows another second.
_TICK = 1.1

#: By its key, a row's lastmod, what stands for each of its columns, and the columns
#: that are the lastmod's date.
_Rows = dict[str, tuple[str, dict[str, str], list[str]]]


def set_places(
    findings: Iterable[Finding],
    documents: Iterable[ListedDocument],
    sources: Mapping[str, SectionSource],
    site: SiteAddress,
) -> None:
    """
    Say which row lists the URL of each finding, for those of some pages.

    Of a row that is listed without a tag, say its URL. A row that is left out has none.
    """
    pages = {one.name: one for one in documents if one.page is not None}
    wanted: dict[str, dict[str, list[Finding]]] = {}
    for one in findings:
        if one.page in pages and bool(one.url) != bool(one.row):
            by = wanted.setdefault(one.page, {})
            by.setdefault(one.url or one.row, []).append(one)
    for name, some in islice(wanted.items(), _MOST_PAGES):
        source, page = sources[pages[name].section], pages[name].page
        for label, lastmods in rows_of_page(source, page, site) if page else ():
            row = str(label)[:255]
            for one in (one for url in lastmods for one in some.get(url, ())):
                one.row = row
            for one in some.get(row, ()):
                one.url = next(iter(lastmods), "")


def moves(document: ListedDocument, source: SectionSource, site: SiteAddress) -> bool:
    """Return whether the lastmods of a page differ when its rows are read again."""
    page = document.page
    if page is None:
        return False
    before = {one.location: one.lastmod for one in document.listed()}
    time.sleep(max(0.0, document.read_at + _TICK - time.time()))
    after: dict[str, str] = {}
    for _, lastmods in rows_of_page(source, page, site, _AGAIN):
        after |= lastmods
    both = before.keys() & after.keys()
    return bool(both) and all(before[url] != after[url] for url in both)


# What moves from audit to audit


def rows_to_compare(source: SectionSource, site: SiteAddress) -> dict[str, Any]:
    """Return what the next audit compares with: the first rows of a section."""
    key = source.key
    if key is None:
        return {}
    items = source.sitemap.items()
    ordered = key.order(items.using(source.database))
    reader = Reader(source, site)
    objects = list(reader.annotated(ordered)[:REMEMBERED])
    labels = [key.dumps(key.of(one)) for one in objects]
    by_label = dict(zip(labels, objects, strict=True))
    dates = _dates(getattr(source.sitemap, "lastmod", None))
    rows: _Rows = {}
    with site.rendering():
        for label, lastmods in reader.lastmods(reader.objects(objects, labels)):
            lastmod = next(filter(None, lastmods.values()), "")
            rows[label] = (lastmod, *_columns(by_label[label], dates, lastmod))
    return {"definition": reader.definition, "rows": rows}


def moved_alone(before: Mapping[str, Any], now: Mapping[str, Any]) -> str:
    """Return how many lastmods moved while the row did not; empty if few did."""
    if not before or not now or before["definition"] != now["definition"]:
        return ""
    both = before["rows"].keys() & now["rows"].keys()
    alone = with_others = 0
    for label in both:
        former, old, was = before["rows"][label]
        lastmod, new, now_is = now["rows"][label]
        if former != lastmod:
            others = {name for name in old | new if old.get(name) != new.get(name)}
            moves_alone = others <= {*was} & {*now_is}
            alone += moves_alone
            with_others += not moves_alone
    if alone < ENOUGH_LASTMODS or alone <= with_others:
        return ""
    return (
        f"{alone} of {len(both)} rows have another lastmod than at the audit before, "
        "and the same columns"
    )


def _dates(lastmod: Any) -> set[str]:
    """Return the columns that a declared lastmod is made of; none of a method's."""
    is_composed = isinstance(lastmod, BaseExpression)
    parts: list[Any] = [*lastmod.flatten()] if is_composed else [lastmod]
    fields: list[Any] = [part for part in parts if isinstance(part, F)]
    return {field.name for field in fields}


def _columns(
    item: models.Model, dates: set[str], lastmod: str
) -> tuple[dict[str, str], list[str]]:
    """
    Return what stands for a row's columns, and those that may be the lastmod.

    Columns that the lastmod is made of are left out; a method may read any column.
    """
    columns, same = {}, []
    for field in item._meta.concrete_fields:
        if field.name in dates or getattr(field, "auto_now", False):
            continue
        value = getattr(item, field.attname)
        text = repr(value).encode()
        columns[field.attname] = hashlib.blake2b(text, digest_size=4).hexdigest()
        if not dates and isinstance(field, models.DateField) and _is(value, lastmod):
            same.append(field.attname)
    return columns, same


def _is(value: dt.date | None, lastmod: str) -> bool:
    """Return whether a date is the one that a lastmod says."""
    if not isinstance(value, dt.datetime):
        return value is not None and value.isoformat() == lastmod[:LENGTH_OF_DAY]
    zone = timezone.get_default_timezone()
    if timezone.is_naive(value):
        value = timezone.make_aware(value, zone)
    if len(lastmod) <= LENGTH_OF_DAY:
        return value.astimezone(zone).date().isoformat() == lastmod
    return abs(parse_w3c(lastmod) - value) < dt.timedelta(seconds=1)
