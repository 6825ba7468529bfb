"""All tables of the app, gathered from the rooms where Django looks for them."""

from __future__ import annotations

from .audit.models import Audit, Finding
from .changes.models import Change, RelatedState, UrlChange
from .delivery.models import EngineState, Submission
from .pagination.models import Page, Section
from .publishing.models import PageFile

__all__ = [
    "Audit",
    "Change",
    "EngineState",
    "Finding",
    "Page",
    "PageFile",
    "RelatedState",
    "Section",
    "Submission",
    "UrlChange",
]
