"""All tables of the app, gathered from the rooms where Django looks for them."""

from __future__ import annotations

from .changes.models import Change, RelatedState, UrlChange
from .delivery.models import EngineState, Submission
from .pagination.models import Page, Section
from .storing.models import PageFile

__all__ = [
    "Change",
    "EngineState",
    "Page",
    "PageFile",
    "RelatedState",
    "Section",
    "Submission",
    "UrlChange",
]
