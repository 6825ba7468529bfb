"""One model lives on the second database."""

from __future__ import annotations

from typing import Any


class OtherRouter:
    """Send ``Elsewhere`` to the database "other"."""

    def db_for_read(self, model: Any, **hints: Any) -> str | None:
        return "other" if model._meta.model_name == "elsewhere" else None

    db_for_write = db_for_read

    def allow_migrate(
        self, db: str, app_label: str, model_name: str | None = None, **hints: Any
    ) -> bool:
        return (db == "other") == (model_name == "elsewhere")


class ReplicaRouter:
    """A project that reads from a replica."""

    def db_for_read(self, model: Any, **hints: Any) -> str:
        return "other"

    def db_for_write(self, model: Any, **hints: Any) -> str:
        return "default"
