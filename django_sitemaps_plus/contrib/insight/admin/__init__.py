"""
The admin: the page of the search manager, and read-only lists of all that it sums up.

Nothing is added, edited or deleted here. Who has the change permission may have pages
rebuilt, confirm what is on hold, and retry what engines rejected.
"""

from __future__ import annotations

from django.contrib import admin

from django_sitemaps_plus.contrib.insight import asked

from . import base, display
from .pages import ChangeAdmin, PageAdmin, SectionAdmin, UrlChangeAdmin
from .readers import ReadAdmin
from .submissions import EngineStateAdmin, SubmissionAdmin

__all__ = [
    "ChangeAdmin",
    "EngineStateAdmin",
    "PageAdmin",
    "ReadAdmin",
    "SectionAdmin",
    "SubmissionAdmin",
    "UrlChangeAdmin",
]

for _model, _list in asked.admin_lists(base, display):
    admin.site.register(_model, _list)
