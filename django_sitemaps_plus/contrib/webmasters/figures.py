"""Whether Search Console can show figures by section: it shows them by file."""

from __future__ import annotations

from collections.abc import Iterator

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.engines.base import CheckResult
from django_sitemaps_plus.pagination.queries import of_sections, pages, sections
from django_sitemaps_plus.protocol.errors import page
from django_sitemaps_plus.sitemaps.registry import registry

from .google import SearchConsole

#: Search Console lists no more children of an index.
MOST = 1_000


def check() -> Iterator[CheckResult]:
    """Yield what keeps Search Console from showing each section; nothing without it."""
    if not any(isinstance(engine, SearchConsole) for engine in engines().values()):
        return
    see = f"See {page('notifying', 'figures-by-section')}."
    names, row = list(registry.sources()), sections().filter(name="").first()
    is_index = get_settings().INDEX or (row is not None and row.is_index)
    if len(names) > 1 and not is_index:
        text = (
            f"{len(names)} sections are in one file, so Search Console shows no "
            "figures by section."
        )
        fix = f'Set SITEMAPS_PLUS["INDEX"] = True if you want them. {see}'
        yield CheckResult.warning(text, fix)
    children = pages().filter(of_sections(names)).exclude(entries=0).count()
    if children > MOST:
        text = (
            f"The index lists {children:,} sitemaps. Search Console shows only "
            f"{MOST:,} of them, though it reads all."
        )
        fix = (
            "Set limit = 50_000 on the largest sitemap classes and divide their "
            f"sections anew, or submit single sitemaps by hand. {see}"
        )
        yield CheckResult.warning(text, fix)
