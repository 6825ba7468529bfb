"""
The sitemaps of this site; django_sitemaps_plus finds this file by itself.

Every location and date is an ORM expression, so a page of 50,000 characters is one
query, without a model instance or a ``reverse()`` per row.
"""

from __future__ import annotations

from django.conf import settings
from django.db.models import F
from django.utils.translation import get_language

from django_sitemaps_plus import Route, Sitemap, StaticSitemap, register

from .faults import FaultSitemap
from .models import Block, Character, Note


@register
class CharacterSitemap(Sitemap):
    """One entry for each named character: more than one page holds."""

    model = Character
    location = Route("character", slug=F("slug"))
    lastmod = F("updated")
    item_title = F("name")


@register
class BlockSitemap(Sitemap):
    """One entry for each block."""

    model = Block
    location = Route("block", slug=F("slug"))
    lastmod = F("updated")


@register
class NoteSitemap(Sitemap):
    """One entry for each note in each language, each naming all the others."""

    model = Note
    location = Route("note", slug=F("slug"))
    lastmod = F("updated")
    i18n = True
    alternates = True
    x_default = True
    languages = ("en", "de")

    def item_title(self, note: Note) -> str:
        """Return the title in the language of the entry."""
        return note.title(get_language() or "en")


@register(name="pages")
class PagesSitemap(StaticSitemap):
    """The pages that are not in the database: no date is known, so none is said."""

    names = ("home", "about", "search", "block-list")


@register(name="note-lists")
class NoteListSitemap(StaticSitemap):
    """The list of notes, in each language."""

    names = ("note-list",)
    i18n = True
    alternates = True
    x_default = True
    languages = ("en", "de")


if settings.FAULTS:
    register(FaultSitemap, name="faults")
