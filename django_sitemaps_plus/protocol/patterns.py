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
    searches: list[Callable[[str], object]] = [
        glob(quote(one)) if isinstance(one, str) else one.search
        for one in given
        if not isinstance(one, str) or "*" in one
    ]

    def matches(path: str) -> bool:
        return path.startswith(begins) or any(search(path) for search in searches)

    return matches


def glob(pattern: str) -> Callable[[str], bool]:
    """Return what tells whether a whole path is as a pattern: ``*`` is any characters.

    Each part is looked for where the one before ends. No other place can be better, so
    that nothing is looked for twice, as regular expressions do.
    """
    first, *parts = pattern.split("*")
    if not parts:
        return pattern.__eq__
    last = parts.pop()

    def matches(path: str) -> bool:
        if not (path.startswith(first) and path.endswith(last)):
            return False
        at, end = len(first), len(path) - len(last)
        for part in parts:
            at = path.find(part, at, end)
            if at < 0:
                return False
            at += len(part)
        return at <= end

    return matches


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
