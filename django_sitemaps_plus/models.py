"""All tables of the app, gathered from the rooms where Django looks for them."""

from __future__ import annotations

from .audit.models import Audit, Finding
from .changes.models import Change, RelatedState, UrlChange
from .delivery.models import (
    AnnouncedDocument,
    EngineState,
    SitemapReport,
    Submission,
)
from .pagination.models import Page, Section
from .publishing.models import DailyCount, PageFile, PublishedFile, Read

__all__ = [
    "AnnouncedDocument",
    "Audit",
    "Change",
    "DailyCount",
    "EngineState",
    "Finding",
    "Page",
    "PageFile",
    "PublishedFile",
    "Read",
    "RelatedState",
    "Section",
    "SitemapReport",
    "Submission",
    "UrlChange",
]
