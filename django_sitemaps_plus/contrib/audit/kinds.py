"""
What an audit can find: each kind with its id, its level and what to do.

Each module of ``rules`` declares its own. The ids stand in docs/audit.md, and can be
silenced as those of system checks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pkgutil import iter_modules
from typing import Final

from django.utils import translation

from django_sitemaps_plus.health.alerts import Alert
from django_sitemaps_plus.protocol.errors import page

#: The levels of what is found, the gravest first.
ERROR, WARNING = LEVELS = Alert.ERROR, Alert.WARNING
#: What every id begins with.
_PREFIX = "sitemaps_plus."


@dataclass(frozen=True, slots=True)
class FindingKind:
    """One kind of finding."""

    id: str
    level: str
    #: What is wrong, as a heading: in English, as commands print it.
    title: str
    #: What to do about it, in English.
    fix: str

    @property
    def number(self) -> str:
        """The id without what all have in common."""
        return self.id.removeprefix(_PREFIX)

    @property
    def see(self) -> str:
        """The sentence that names the place in the documentation."""
        return f"See {page('audit', self.number)}."

    @property
    def translated_title(self) -> str:
        """The title in the language that is active."""
        return translation.gettext(self.title)

    @property
    def translated_fix(self) -> str:
        """What to do about it, in the language that is active."""
        return translation.gettext(self.fix)


_declared: Final[dict[str, FindingKind]] = {}


def error(number: str, title: str, fix: str) -> str:
    """Declare a kind that keeps search engines from something; returns its id."""
    return _declare(FindingKind(f"{_PREFIX}{number}", ERROR, title, fix))


def warning(number: str, title: str, fix: str) -> str:
    """Declare a kind that may be meant; returns its id."""
    return _declare(FindingKind(f"{_PREFIX}{number}", WARNING, title, fix))


def _declare(kind: FindingKind) -> str:
    if kind.id in _declared:
        raise ValueError(f"{kind.id} is declared twice.")
    _declared[kind.id] = kind
    return kind.id


def _(text: str) -> str:
    """Mark a text for the catalogues: ``gettext_noop()`` would read the settings."""
    return text


@cache
def known() -> Mapping[str, FindingKind]:
    """Return all kinds by their ids: those that the modules of ``rules`` declare."""
    rules = import_module(f"{__package__}.rules")
    for module in iter_modules(rules.__path__, f"{rules.__name__}."):
        import_module(module.name)
    return dict(sorted(_declared.items()))


def number_of(level: str, counts: Mapping[str, Mapping[str, int]]) -> int:
    """Return how much of a level was found, of counts by kind and section."""
    of_level = (some for kind, some in counts.items() if known()[kind].level == level)
    return sum(sum(some.values()) for some in of_level)


@cache
def fetched() -> frozenset[str]:
    """Return the kinds that are found only where URLs are fetched."""
    return frozenset(one for one in known() if one >= f"{_PREFIX}A1")
