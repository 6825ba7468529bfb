from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from django_sitemaps_plus import kept
from django_sitemaps_plus.registry import registry

Register = Callable[..., Any]


@pytest.fixture(autouse=True)
def shelf(tmp_path: Path, settings: Any) -> kept.Folder:
    """Keep each test's files in a folder of its own."""
    settings.STORAGES = {
        **settings.STORAGES,
        "sitemaps": {
            "BACKEND": "django.core.files.storage.FileSystemStorage",
            "OPTIONS": {"location": str(tmp_path / "sitemaps")},
        },
    }
    return kept.Folder(tmp_path / "sitemaps")


@pytest.fixture
def register() -> Iterator[Register]:
    """Register sections for one test: ``register(name, sitemap class)``."""
    added: list[str] = []

    def add(name: str, source: Any) -> Any:
        if name in added:
            added.remove(name)
            registry.remove(name)
        registry.add(name, source)
        added.append(name)
        return source

    yield add
    for name in added:
        registry.remove(name)
