"""The ids of all kinds of findings by their names, for tests of several rules."""

from __future__ import annotations

import sys
from functools import cache

from django_sitemaps_plus.contrib.audit import rules
from django_sitemaps_plus.contrib.audit.kinds import known


@cache
def _names() -> dict[str, str]:
    ids = known()
    modules = [one for name, one in sys.modules.items() if rules.__name__ in name]
    return {
        name: value
        for module in modules
        for name, value in vars(module).items()
        if isinstance(value, str) and value in ids
    }


def __getattr__(name: str) -> str:
    if name not in _names():
        raise AttributeError(name)
    return _names()[name]
