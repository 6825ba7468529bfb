"""
The admin: read-only lists of sections, pages, changes, URLs, submissions and engines.

Nothing is added, edited or deleted here. Who has the change permission may have pages
rebuilt, confirm what is on hold, and retry what engines rejected.
"""

from __future__ import annotations

from .pages import ChangeAdmin, PageAdmin, SectionAdmin, UrlChangeAdmin
from .submissions import EngineStateAdmin, SubmissionAdmin

__all__ = [
    "ChangeAdmin",
    "EngineStateAdmin",
    "PageAdmin",
    "SectionAdmin",
    "SubmissionAdmin",
    "UrlChangeAdmin",
]
