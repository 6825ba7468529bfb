"""
``llms.txt``: what a site has, in Markdown for language models.

A proposal, not a standard: https://llmstxt.org.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_SPECIAL = re.compile(r"([\\\[\]])")
_SPACES = re.compile(r"\s+")


#: The title, the address and the description of a link, which may be empty.
Link = tuple[str, str, str]


def section_title(sitemap: object) -> str:
    """Return what people call a section, if its class says it; else ""."""
    title = getattr(sitemap, "title", None)
    # A method or a column, of an item, is another package's or the project's own.
    is_of_item = callable(title) or hasattr(title, "resolve_expression")
    return "" if title is None or is_of_item else str(title)


def llms_txt(title: str, description: str, links: Iterable[Link]) -> str:
    """Write the file: a title, a summary if there is one, and a list of links."""
    parts = [f"# {_line(title)}\n"]
    if description:
        parts.append(f"> {_line(description)}\n")
    lines = [_listed(*link) for link in links]
    if lines:
        parts.append("".join(["## Sitemaps\n\n", *lines]))
    return "\n".join(parts)


def _listed(title: str, url: str, description: str) -> str:
    shown = _SPECIAL.sub(r"\\\1", _line(title))
    url = url.replace("(", "%28").replace(")", "%29")
    notes = f": {_line(description)}" if description else ""
    return f"- [{shown}]({url}){notes}\n"


def _line(text: str) -> str:
    """Return a text as one line."""
    return _SPACES.sub(" ", text).strip()
