"""
The story of one URL: where it is listed, what happened to it, who was notified.

By look-ups on indexes: of the digest of the URL, and of the row that its path names.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from django.contrib.admin.sites import AdminSite
from django.db.models import Model
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.audit.queries import findings_of
from django_sitemaps_plus.changes.queries import changes, location_digest, url_changes
from django_sitemaps_plus.changes.url_changes import KEEP
from django_sitemaps_plus.delivery.models import digest_of
from django_sitemaps_plus.delivery.queries import submissions
from django_sitemaps_plus.models import Page, Submission, UrlChange
from django_sitemaps_plus.protocol.errors import LocationError
from django_sitemaps_plus.protocol.locations import local_path
from django_sitemaps_plus.publishing.lookup import Places, places
from django_sitemaps_plus.publishing.readers import reads
from django_sitemaps_plus.sitemaps.site import SiteAddress, of_request

from . import display
from .base import may_view

#: Events, submissions and readers that are shown, the newest first.
SHOWN = 20
_KEPT_DAYS = KEEP // 86_400


class Fact(NamedTuple):
    """A label and what is said of it, in one or several lines."""

    label: Any
    lines: list[Any]


@dataclass
class Story:
    """What is known of a URL; each list is None if the user may not view it."""

    #: The URL as people read it, linked.
    shown: str
    facts: list[Fact] = field(default_factory=list)
    events: list[dict[str, Any]] | None = None
    submissions: list[dict[str, Any]] | None = None
    findings: list[dict[str, Any]] | None = None
    readers: list[dict[str, Any]] | None = None


def story_page(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Show the search box and, if a URL was entered, its story."""
    # Somebody may have copied it out of the sitemap.
    entered = request.GET.get("url", "").strip().replace("&amp;", "&")
    site = of_request(request)
    story, problem = None, ""
    if entered:
        try:
            story = _Teller(request, admin_site, site).story(entered)
        except LocationError as error:
            problem = str(error)
    context = {
        **admin_site.each_context(request),
        "title": gettext("The story of a URL"),
        "subtitle": None,
        "story": story,
        "problem": problem,
        "sitemaps_url": entered,
        "sitemaps_example": f"{site.origin}{site.prefix}…",
    }
    template = "django_sitemaps_plus/admin/story.html"
    return TemplateResponse(request, template, context)


class _Teller:
    """Finds out what a user may know of a URL."""

    def __init__(
        self, request: HttpRequest, admin_site: AdminSite, site: SiteAddress
    ) -> None:
        self.request, self.admin_site, self.site = request, admin_site, site

    def story(self, entered: str) -> Story:
        """Return the story; raises ``LocationError`` for what is no URL of the site."""
        location = self._location(entered)
        url = self.site.url(location)
        story = Story(display.link(location, display.decoded(url)))
        events = self._events(location)
        sent = self._submissions(url)
        hints = {row.section for row in events} | {row.section for row in sent}
        found = places(location, self.site, hints)
        story.facts = [*self._listed(found, events), *self._rows(found)]
        story.events = list(map(_event, events))
        if may_view(self.request, "submission"):
            story.submissions = list(map(_submission, sent))
        if may_view(self.request, "audit"):
            story.findings = list(_findings(url))
        if may_view(self.request, "read"):
            story.readers = list(_readers(found))
        return story

    def _location(self, entered: str) -> str:
        """Return what rows store of a URL: its path, or all of it on another host."""
        for scheme in ("http", "https"):
            with suppress(LocationError):
                return local_path(entered, self.site.with_scheme(scheme).origin)
        if url_changes().filter(digest=location_digest(entered)).exists():
            return entered
        # It says what is wrong.
        return local_path(entered, self.site.origin)

    def _events(self, location: str) -> list[UrlChange]:
        rows = url_changes().filter(digest=location_digest(location))
        return list(rows.order_by("-at")[:SHOWN])

    def _submissions(self, url: str) -> list[Submission]:
        rows = submissions().filter(digest=digest_of(url))
        return list(rows.order_by("-created_at")[:SHOWN])

    def _listed(self, found: Places, events: list[UrlChange]) -> Iterator[Fact]:
        listed = [place for place in found.found if place.is_listed]
        pages = [self._page(place.page) for place in listed if place.page]
        yield Fact(_("Listed on"), pages or [self._not_listed(found)])
        if listed:
            added = [row.at for row in events if row.kind == UrlChange.Kind.ADDED]
            since = display.when(added[0]) if added else _before()
            yield Fact(_("Listed since"), [since])
            dates = [place.lastmod or gettext("none") for place in listed]
            yield Fact(_("Its lastmod"), dates)

    def _page(self, page: Page) -> str:
        name = "admin:sitemaps_plus_page_change"
        path = reverse(name, args=[page.pk], current_app=self.admin_site.name)
        return format_html(
            gettext('<a href="{}">{}</a>, last changed {}'),
            path,
            page,
            display.when(page.changed_at),
        )

    def _not_listed(self, found: Places) -> str:
        if any(place.page for place in found.found):
            return gettext(
                "not yet: its row is to be listed, and its page will be built when it "
                "is requested, or in the background"
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

    def _rows(self, found: Places) -> Iterator[Fact]:
        rows = [place.row for place in found.found if place.row is not None]
        if rows:
            yield Fact(_("Its row"), list(map(self._row, rows)))
        waiting = [
            display.when(change.at)
            for place in found.found
            if place.page is not None and place.key
            for change in changes(place.section).filter(
                page=place.page.number, key=place.key
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
        if known is None or not known.has_view_or_change_permission(self.request, row):
            return ""
        name = f"admin:{row._meta.app_label}_{row._meta.model_name}_change"
        try:
            return reverse(name, args=[row.pk], current_app=self.admin_site.name)
        except NoReverseMatch:
            return ""


def _before() -> str:
    return gettext("more than %d days ago, or since its page was first built") % (
        _KEPT_DAYS
    )


def _event(row: UrlChange) -> dict[str, Any]:
    return {
        "kind": row.get_kind_display(),
        "when": display.when(row.at),
        "section": row.section,
        "note": gettext("on hold: confirm it") if row.on_hold else "",
    }


def _submission(row: Submission) -> dict[str, Any]:
    return {
        "engine": row.engine,
        "kind": row.get_kind_display(),
        "state": display.state(row.get_state_display(), row.state),
        "sent": display.when(row.sent_at),
        "answer": " ".join(filter(None, [str(row.status or ""), row.message])) or "–",
    }


def _findings(url: str) -> Iterator[dict[str, Any]]:
    for finding in findings_of(url):
        yield {
            "level": display.state(display.LEVELS[finding.level], finding.level),
            "title": finding.about.translated_title,
            "text": finding.text,
            "id": finding.kind,
            "fix": finding.about.translated_fix,
        }


def _readers(found: Places) -> Iterator[dict[str, Any]]:
    """Yield who has read the pages on which the URL is listed."""
    numbers = {
        f"sitemap-{place.page}.xml"
        for place in found.found
        if place.is_listed and place.page
    }
    rows = reads().filter(document__in=numbers).order_by("-last_at")[:SHOWN]
    for row in rows:
        yield {
            "crawler": row.crawler or gettext("other clients"),
            "document": row.document,
            "last": display.when(row.last_at),
            "full": display.number(row.full),
            "unchanged": display.number(row.unchanged),
        }
