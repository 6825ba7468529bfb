"""
``llms.txt``: what a site has, in Markdown for language models.

A proposal, not a standard: https://llmstxt.org.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

_SPECIAL = re.compile(r"([\\\[\]])")
_SPACES = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Link:
    """A link of the file, with a description or without."""

    title: str
    url: str
    description: str = ""


def llms_txt(title: str, description: str, links: Iterable[Link]) -> str:
    """Write the file: a title, a summary if there is one, and a list of links."""
    parts = [f"# {_line(title)}\n"]
    if description:
        parts.append(f"> {_line(description)}\n")
    lines = [_listed(link) for link in links]
    if lines:
        parts.append("".join(["## Sitemaps\n\n", *lines]))
    return "\n".join(parts)


def _listed(link: Link) -> str:
    title = _SPECIAL.sub(r"\\\1", _line(link.title))
    url = link.url.replace("(", "%28").replace(")", "%29")
    notes = f": {_line(link.description)}" if link.description else ""
    return f"- [{title}]({url}){notes}\n"


def _line(text: str) -> str:
    """Return a text as one line."""
    return _SPACES.sub(" ", text).strip()
