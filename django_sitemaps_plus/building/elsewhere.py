"""
Whether another section still lists a URL that a page lost, if that is quick to see.

Their events are asked for by ``changes.events``. Here their stored pages are searched,
before the transaction of a build begins.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

from django.db.models import Sum

from django_sitemaps_plus.changes.events import Comparison
from django_sitemaps_plus.pagination.models import Page, Section
from django_sitemaps_plus.pagination.queries import of_sections, pages
from django_sitemaps_plus.rendering.listing import listed_of
from django_sitemaps_plus.sitemaps.news import NewsSitemap
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.storing import storage

#: Bytes, not compressed, of pages that are searched: half a million URLs.
MOST = 50_000_000


def with_others(comparison: Comparison) -> Comparison:
    """Return a comparison that knows which missing URLs other sections list."""
    if not comparison.missing:
        return comparison
    section = comparison.page.section
    names = [name for name in registry.sources() if _counts(name, section)]
    found = set[str]()
    for _, stored in storage.read_each(_searched(names, section)):
        if stored is not None:
            left = comparison.missing.keys() - found
            found |= listed_of(stored.segment.text(), left, stored.start)
    return replace(comparison, others=names, elsewhere=found)


def _counts(name: str, section: Section) -> bool:
    """Return whether a section is another one, and reports the URLs that it removes."""
    if name == section.name:
        return False
    try:
        return not isinstance(registry.get(name), NewsSitemap)
    except Exception:
        # It cannot be used now, and its pages are served as they are.
        return True


def _searched(names: Collection[str], section: Section) -> list[Page]:
    """
    Return the pages of whole sections, up to ``MOST`` bytes together.

    First those of the same model, then those with the fewest bytes.
    """
    rows = pages().filter(of_sections(names)).exclude(checksum="")
    sizes = rows.values_list("section", "section__key").annotate(size=Sum("size"))
    wanted, left = list[int](), MOST
    for pk, _, size in sorted(
        sizes.order_by(), key=lambda row: (row[1] != section.key, row[2])
    ):
        left -= size
        if left >= 0:
            wanted.append(pk)
    return list(rows.filter(section__in=wanted).order_by("section", "number"))
