"""Whether engines can show their figures by section: they show them by file."""

from __future__ import annotations

from collections.abc import Iterator

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.engines.base import CheckResult, Engine
from django_sitemaps_plus.pagination.queries import pages, sections
from django_sitemaps_plus.protocol.errors import page
from django_sitemaps_plus.sitemaps.registry import registry


def figures_by_section(engine: Engine) -> Iterator[CheckResult]:
    """Yield what keeps an engine from showing figures of each section, if it could."""
    if not engine.shows_files:
        return
    see = f"See {page('notifying', 'figures-by-section')}."
    names, row = list(registry.sources()), sections().filter(name="").first()
    is_index = get_settings().INDEX or (row is not None and row.is_index)
    if len(names) > 1 and not is_index:
        text = (
            f"{len(names)} sections are in one file, so {engine.name} shows no figures "
            "by section."
        )
        fix = f'Set SITEMAPS_PLUS["INDEX"] = True if you want them. {see}'
        yield CheckResult.warning(text, fix)
    children = pages().on_site(names).exclude(entries=0).count()
    if children > engine.shows_files:
        text = (
            f"The index lists {children:,} sitemaps. {engine.name} shows only "
            f"{engine.shows_files:,} of them, though it reads all."
        )
        fix = (
            "Set limit = 50_000 on the largest sitemap classes and divide their "
            f"sections anew, or submit single sitemaps by hand. {see}"
        )
        yield CheckResult.warning(text, fix)
