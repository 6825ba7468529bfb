"""
The admin: read-only lists of sections, pages, what waits, what happened to URLs, and
what engines were told of it.

Nothing is added, edited or deleted here. Who has the change permission may have
pages made again, confirm that what is held may be told, and have it told again.
"""

from __future__ import annotations

from .pages import ChangeAdmin, PageAdmin, SectionAdmin, UrlChangeAdmin
from .states import with_states
from .submissions import EngineStateAdmin, SubmissionAdmin

__all__ = [
    "ChangeAdmin",
    "EngineStateAdmin",
    "PageAdmin",
    "SectionAdmin",
    "SubmissionAdmin",
    "UrlChangeAdmin",
    "with_states",
]
