"""Patterns of paths: what a project may say is not to be listed."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import TypeAlias

from .locations import quote

#: A path's beginning; with ``*``, a whole path in which it stands for any characters;
#: or a compiled regular expression, which is looked for anywhere in the path.
Pattern: TypeAlias = str | re.Pattern[str]


def matcher(given: Iterable[Pattern]) -> Callable[[str], bool]:
    """Return what tells whether one of the patterns matches a path.

    The path has its query, and is percent-encoded as sitemaps have it. In a text what
    has to be encoded is; a regular expression is taken as it is.
    """
    return _matcher(tuple(given))


@lru_cache(maxsize=256)
def _matcher(given: tuple[Pattern, ...]) -> Callable[[str], bool]:
    texts = [one for one in given if isinstance(one, str)]
    begins = tuple(quote(one) for one in texts if "*" not in one)
    searches = [one.search for one in given if not isinstance(one, str)]
    globs = "|".join(_glob(one) for one in texts if "*" in one)
    if globs:
        searches.append(re.compile(globs, re.DOTALL).match)

    def matches(path: str) -> bool:
        return path.startswith(begins) or any(search(path) for search in searches)

    return matches


def _glob(pattern: str) -> str:
    parts = (re.escape(quote(part)) for part in pattern.split("*"))
    return rf"(?:{'.*'.join(parts)})\Z"


def problem_of(pattern: object) -> str:
    """Return why something is not a pattern of paths; empty if it is one."""
    if isinstance(pattern, re.Pattern):
        return "" if isinstance(pattern.pattern, str) else "is a pattern of bytes"
    if not isinstance(pattern, str):
        return "is neither a text nor a compiled regular expression"
    if not pattern.startswith(("/", "*")):
        return f"begins with neither / nor *: write {f'/{pattern}'!r}"
    return ""


def start_of(pattern: Pattern) -> str | None:
    """Return what every path begins with that a pattern matches; None if not known."""
    if not isinstance(pattern, str):
        return None
    return quote(pattern.partition("*")[0])
