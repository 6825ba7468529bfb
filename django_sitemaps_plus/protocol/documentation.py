"""Where the documentation of this package is, for messages that name a page."""

from __future__ import annotations

from typing import Final

#: A page of it, here as a file of the repository.
_PAGE: Final = "docs/{}.md"


def page(name: str, anchor: str = "") -> str:
    """Return where a page is, or a place on it."""
    return _PAGE.format(name) + (anchor and f"#{anchor}")
