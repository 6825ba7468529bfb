"""
The story of one URL: where it is listed, what happened to it, who was notified.

By look-ups on indexes: of the digest of the URL, and of the row that its path names.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from django.contrib.admin.sites import AdminSite
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.http import urlencode
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.contrib.insight import asked
from django_sitemaps_plus.contrib.insight.lookup import (
    FoundPlaces,
    RowPlace,
    listed_among,
    places,
    view_of,
)
from django_sitemaps_plus.contrib.insight.models import Read
from django_sitemaps_plus.contrib.insight.readers import reads
from django_sitemaps_plus.contrib.insight.retrying import with_pause
from django_sitemaps_plus.contrib.insight.unlisted import Why, rowless, unlisted
from django_sitemaps_plus.db import digest_of
from django_sitemaps_plus.models import Change, Page, Submission, UrlChange
from django_sitemaps_plus.protocol.errors import LocationError
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress

from . import display
from .base import ShownPage, page_of, said
from .entered import alike, stored_location

#: Events, submissions and readers that are shown, the newest first.
_SHOWN = 20
_KEPT_DAYS = UrlChange.KEEP // 86_400
#: Why a row is not listed, in words.
_REASONS = {
    Why.NOT_IN_ITEMS: _("items() of section %(section)s does not return it"),
    Why.NOT_NEWS: _(
        "too old for section %(section)s, which lists the news of two days"
    ),
    Why.BAD: _("it is left out of section %(section)s: %(detail)s"),
}


class Fact(NamedTuple):
    """A label and its value, in one or several lines."""

    label: Any
    lines: list[Any]


def story_page(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Show the search box and, if a URL was entered, its story."""
    entered = request.GET.get("url", "").strip()
    site = Site.current().address_for(request)
    story, problem = None, ""
    if entered:
        try:
            story = _Teller(request, admin_site, site).story(entered)
        except LocationError as error:
            problem = str(error)
    example = f"{site.origin}{site.prefix}…"
    search = {"sitemaps_url": entered, "sitemaps_example": example}
    shown = {"title": gettext("The story of a URL"), "story": story, **search}
    return page_of(request, admin_site, "story", problem=problem, **shown)


class _Teller:
    """Finds out what a user may know of a URL."""

    def __init__(
        self, request: HttpRequest, admin_site: AdminSite, site: SiteAddress
    ) -> None:
        self.page, self.admin_site, self.site = ShownPage(request), admin_site, site

    def story(self, entered: str) -> dict[str, Any]:
        """
        Return what is shown, without what the user may not view.

        Raises ``LocationError`` if it is not a URL of the site.
        """
        location = stored_location(entered, self.site)
        url = self.site.url(location)
        events = self._events(location)
        sent = self._submissions(url)
        hints = {row.section for row in events} | {row.section for row in sent}
        found = places(location, self.site, hints)
        reasons = list(self._reasons(location, found, events))
        is_unknown = not (found.found or events or sent or reasons)
        meant = self._alike(location) if is_unknown else []
        if not (found.found or reasons or meant):
            reasons = list(self._rowless(location, is_searched=not found.left))
        sections = _added({place.section for place in _listed(found)}, events)
        story = {
            "shown": display.link(location, display.decoded(url)),
            "facts": [*self._listed(found, events, reasons), *self._rows(found)],
            "alike": meant,
            "events": list(map(_event, events)),
            "parts": [said(one) for one in asked.stories(self.page, url, sections)],
        }
        if self.page.may(Submission):
            story["submissions"] = list(map(_submission, sent))
        if self.page.may(Read):
            story["readers"] = list(_readers(found))
        return story

    def _events(self, location: str) -> list[UrlChange]:
        rows = UrlChange.objects.on_site().filter(digest=digest_of(location))
        return list(rows.order_by("-at")[:_SHOWN])

    def _submissions(self, url: str) -> list[Any]:
        rows = with_pause(Submission.objects.on_site().filter(digest=digest_of(url)))
        return list(rows.order_by("-created_at")[:_SHOWN])

    def _alike(self, location: str) -> list[tuple[str, str]]:
        """Return what somebody may have meant: URLs, and their stories' addresses."""
        return [
            (display.decoded(self.site.url(one)), urlencode({"url": one}))
            for one in listed_among(alike(location), self.site)
        ]

    def _reasons(
        self, location: str, found: FoundPlaces, events: list[UrlChange]
    ) -> Iterator[str]:
        """Yield why the URL is not listed, as far as that can be found out."""
        for one in () if _listed(found) else unlisted(location, self.site):
            values = {"section": one.section, "detail": one.detail}
            yield format_html(
                "{}: {}", self._row(one.row), str(_REASONS[one.why]) % values
            )
        if any(place.is_left for place in found.found):
            yield gettext("no row has it any more: its page will be built again")
        if events and events[0].on_hold:
            yield gettext("its removal is on hold: confirm it")
        for place in found.found:
            page = place.page if self.page.may(Page) else None
            if page is not None and page.error:
                yield gettext("its page cannot be built: %s") % page.error

    def _rowless(self, location: str, *, is_searched: bool) -> Iterator[str]:
        """Yield why no row has the URL: there is none, or none is looked for."""
        missing = list(rowless(location, self.site))
        for name, value in missing:
            text = gettext("no row of section %(section)s has %(value)s")
            yield text % {"section": name, "value": value}
        if missing or not is_searched or not location.startswith("/"):
            return
        if view := view_of(location, self.site):
            text = gettext(
                "no section has it. The view %s answers it: if it is a page to be "
                "found, return it from items() of a sitemap"
            )
            yield text % view
        else:
            yield gettext("no section has it, and the URLconf has no such path either")

    def _listed(
        self, found: FoundPlaces, events: list[UrlChange], reasons: list[str]
    ) -> Iterator[Fact]:
        listed = _listed(found)
        pages = [self._page(place) for place in listed]
        yield Fact(_("Listed on"), pages or [self._not_listed(found)])
        if reasons:
            yield Fact(_("But") if listed else _("Why not"), reasons)
        if listed:
            # Of pages by position nothing is stored or reported.
            names = {place.section for place in listed if place.page}
            if since := _since(names, events):
                yield Fact(_("Listed since"), [since])
            dates = [place.lastmod or gettext("none") for place in listed]
            yield Fact(_("Its lastmod"), dates)

    def _page(self, place: RowPlace) -> str:
        page = place.page
        if page is None:
            return gettext("%s, built for each request") % place.page_name
        name = "admin:sitemaps_plus_page_change"
        path = reverse(name, args=[page.pk], current_app=self.admin_site.name)
        text = gettext('<a href="{}">{}</a>, last changed {}')
        return format_html(text, path, page, display.when(page.changed_at))

    def _not_listed(self, found: FoundPlaces) -> str:
        if any(place.page for place in found.found):
            return gettext(
                "not yet: it qualifies, and is listed once its page is built: at the "
                "next request, or in the background"
            )
        if found.left:
            text = gettext(
                "not found. %(searched)s pages were searched, %(left)s more were not"
            )
            return text % {
                "searched": display.number(found.searched),
                "left": display.number(found.left),
            }
        return gettext("no page")

    def _rows(self, found: FoundPlaces) -> Iterator[Fact]:
        rows = [place.row for place in found.found if place.row is not None]
        if rows:
            yield Fact(_("Its row"), list(map(self._row, rows)))
        waiting = [
            display.when(change.at)
            for place in found.found
            if place.page is not None and place.key
            for change in Change.objects.on_site().filter(
                section=place.section, page=place.page.number, key=place.key
            )[:1]
        ]
        if waiting:
            yield Fact(_("Saved, and its page not built since"), waiting)

    def _row(self, row: Model) -> str:
        text = f"{row._meta.verbose_name} {row.pk}: {row}"
        path = self._row_path(row)
        if not path:
            return text
        return format_html('<a href="{}">{}</a>', path, text)

    def _row_path(self, row: Model) -> str:
        """Return where the object is edited, if the user may see it there."""
        known = self.admin_site._registry.get(type(row))
        request = self.page.request
        if known is None or not known.has_view_or_change_permission(request, row):
            return ""
        name = f"admin:{row._meta.app_label}_{row._meta.model_name}_change"
        try:
            return reverse(name, args=[row.pk], current_app=self.admin_site.name)
        except NoReverseMatch:
            return ""


def _listed(found: FoundPlaces) -> list[RowPlace]:
    return [place for place in found.found if place.is_listed]


def _since(names: set[str], events: list[UrlChange]) -> str:
    """
    Return since when some sections list a URL; empty if that is unknown.

    Who has seen it removed, or in another section, does not know since when it is here.
    """
    others = any(row.section not in names for row in events)
    if not names or others or len(events) == _SHOWN:
        return ""
    for row in events:
        if row.kind == UrlChange.Kind.ADDED:
            return display.when(row.at)
        if row.kind == UrlChange.Kind.REMOVED:
            return ""
    return gettext("more than %d days ago, or since its page was first built") % (
        _KEPT_DAYS
    )


def _added(names: set[str], events: list[UrlChange]) -> dict[str, float]:
    """Return when a URL was last added to some sections; 0 if that is not known."""
    added = [row.at for row in events if row.kind == UrlChange.Kind.ADDED]
    return dict.fromkeys(names, max(added, default=0.0))


def _event(row: UrlChange) -> dict[str, Any]:
    return {
        "kind": row.get_kind_display(),
        "when": display.when(row.at),
        "section": row.section,
        "note": gettext("on hold: confirm it") if row.on_hold else "",
    }


def _submission(row: Any) -> dict[str, Any]:
    is_waiting = row.state == Submission.State.PENDING and row.due_at is not None
    due = display.due(row) if is_waiting else ""
    return {
        "engine": row.engine,
        "kind": row.get_kind_display(),
        "state": display.state(row.get_state_display(), row.state, due),
        "sent": display.when(row.sent_at),
        "answer": " ".join(filter(None, [str(row.status or ""), row.message])) or "–",
    }


def _readers(found: FoundPlaces) -> Iterator[dict[str, Any]]:
    """Yield who has read the pages on which the URL is listed."""
    names = {f"sitemap-{place.page_name}.xml" for place in _listed(found)}
    rows = reads().filter(document__in=names).order_by("-last_at")[:_SHOWN]
    for row in rows:
        yield {
            "crawler": row.crawler or gettext("other clients"),
            "document": row.document,
            "last": display.when(row.last_at),
            "full": display.number(row.full),
            "unchanged": display.number(row.unchanged),
        }
