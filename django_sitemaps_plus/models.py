"""All models, where Django looks for them; each is defined in its room."""

from __future__ import annotations

from django.db import connections

from .changes.models import Change as Change
from .changes.models import UrlChange as UrlChange
from .delivery.models import EngineState as EngineState
from .delivery.models import Submission as Submission
from .pagination.models import Page as Page
from .pagination.models import Section as Section


def tables_exist(using: str) -> bool:
    """Tell whether the ledger's tables are there (the migration was run)."""
    ours = (Section, Page, Change, UrlChange, Submission, EngineState)
    return {model._meta.db_table for model in ours} <= set(_tables(using))


def can_record(using: str) -> bool:
    """Tell whether changes of a database's objects can be written down beside them."""
    return Change._meta.db_table in _tables(using)


def _tables(using: str) -> list[str]:
    connection = connections[using]
    with connection.cursor() as cursor:
        return connection.introspection.table_names(cursor)
