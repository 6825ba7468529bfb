"""What a stored site does with this app: see ``tests/support/stored``."""

from __future__ import annotations

from typing import Any

SETTINGS: dict[str, Any] = {"PUBLISH": {"STORAGE": "sitemaps"}}


def begin() -> None:
    """Have somebody hear of each document."""
    from django_sitemaps_plus.contrib.edge.signals import documents_changed

    def listen(**given: Any) -> None: ...

    documents_changed.connect(listen, weak=False)
