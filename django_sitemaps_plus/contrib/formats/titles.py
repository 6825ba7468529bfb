"""What people call a section."""

from __future__ import annotations

from django_sitemaps_plus.sitemaps.attributes import is_expression


def section_title(sitemap: object) -> str:
    """Return what people call a section, if its class says it; else ""."""
    title = getattr(sitemap, "title", None)
    # A method or a column, of an item, is another package's or the project's own.
    is_none = title is None or callable(title) or is_expression(title)
    return "" if is_none else str(title)
