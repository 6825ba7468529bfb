"""What people call a section."""

from __future__ import annotations


def section_title(sitemap: object) -> str:
    """Return what people call a section, if its class says it; else ""."""
    title = getattr(sitemap, "title", None)
    # A method or a column, of an item, is another package's or the project's own.
    is_of_item = callable(title) or hasattr(title, "resolve_expression")
    return "" if title is None or is_of_item else str(title)
