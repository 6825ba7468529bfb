from __future__ import annotations

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any, TypeAlias

import pytest

#: Takes URL patterns.
UseUrls: TypeAlias = Callable[..., None]


@pytest.fixture
def urlconf(monkeypatch: pytest.MonkeyPatch, settings: Any) -> UseUrls:
    """Use some patterns as the project's URLconf."""

    def use(*patterns: Any) -> None:
        module = ModuleType("tests.urlconf_of_one_check")
        module.urlpatterns = list(patterns)
        monkeypatch.setitem(sys.modules, module.__name__, module)
        settings.ROOT_URLCONF = module.__name__

    return use
