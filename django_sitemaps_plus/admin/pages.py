"""Sections, pages, what waits for them, and what happened to URLs."""

from __future__ import annotations

import json
import time
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.db.models import (
    Count,
    QuerySet,
    Sum,
)
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat
from django.urls import NoReverseMatch, reverse
from django.utils.html import format_html, format_html_join
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.changes import queries as change_queries
from django_sitemaps_plus.changes import url_changes
from django_sitemaps_plus.exceptions import Busy, ConfigurationError, SitemapsPlusError
from django_sitemaps_plus.models import Change, Page, Section, UrlChange
from django_sitemaps_plus.pagination import queries
from django_sitemaps_plus.publishing import pages
from django_sitemaps_plus.rendering.serializer import describe
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import source
from django_sitemaps_plus.sitemaps.site import of_request

from .base import (
    PageSectionFilter,
    ProblemsFilter,
    ReadOnly,
    SectionFilter,
    StateFilter,
    TimeFilter,
)
from .display import ago, link, registered, when
from .states import STATES, health, problem_of, with_states, without_pages

#: Pages that one click makes while somebody waits.
AT_ONCE = 5


@admin.register(Section)
class SectionAdmin(ReadOnly):
    """The sections, and how the site's pages stand."""

    change_list_template = "django_sitemaps_plus/admin/section_list.html"
    list_display = ("__str__", "page_count", "entry_count", "filled", "problem")
    fields = ("name", "problem", "key", "filled", "is_index", "next_number", "digest")
    readonly_fields = ("problem",)
    ordering = ("name",)

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return the sections with the number of their pages and entries."""
        found = queries.sections().exclude(name="")
        return found.annotate(page_n=Count("pages"), entry_n=Sum("pages__entries"))

    @admin.display(description=_("pages"))
    def page_count(self, section: Any) -> int:
        """Return the number of pages."""
        return int(section.page_n)

    @admin.display(description=_("entries"))
    def entry_count(self, section: Any) -> int:
        """Return the number of entries that are known."""
        return section.entry_n or 0

    @admin.display(description=_("problem"), empty_value="–")
    def problem(self, section: Section) -> str:
        """Return why the running code cannot use the section, if it cannot."""
        names, problem = registered()
        if not problem and section.name not in names:
            return gettext("not registered")
        return problem or problem_of(section.name)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the health line above, and the sections without pages below."""
        more = {
            "sitemaps_health": health(),
            "sitemaps_without_pages": list(without_pages()),
        }
        return super().changelist_view(request, {**more, **(extra_context or {})})


@admin.register(Page)
class PageAdmin(ReadOnly):
    """The pages: what each holds, whether it is fresh, what is wrong with it."""

    list_display = (
        "__str__",
        "opened",
        "state_shown",
        "bad",
        "entries",
        "size_shown",
        "changed_ago",
        "compared_ago",
    )
    list_filter = (PageSectionFilter, StateFilter, ProblemsFilter)
    list_select_related = ("section",)
    ordering = ("section", "position")
    actions = ("make_again", "rebuild")
    fields: ClassVar[Any] = (
        "section",
        "number",
        "address",
        "state_shown",
        "entries",
        "items",
        "size_shown",
        "lastmod_shown",
        "changed",
        "compared",
        "error",
        "bad",
        "problem_table",
        "lower_bound",
        "upper_bound",
        "version",
        "checksum",
        "digest",
    )
    readonly_fields = (
        "address",
        "state_shown",
        "size_shown",
        "lastmod_shown",
        "changed",
        "compared",
        "problem_table",
        "lower_bound",
        "upper_bound",
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return the pages with their states."""
        found = queries.pages().select_related("section")
        return with_states(found, time.time())

    @admin.display(description=_("address"))
    def address(self, page: Page) -> str:
        """Return a link to the page, which shows the path."""
        return _page_link(page)

    @admin.display(description=_("address"))
    def opened(self, page: Page) -> str:
        """Return a link to the page in a word, for the list."""
        return _page_link(page, gettext("open"))

    @admin.display(description=_("state"))
    def state_shown(self, page: Any) -> str:
        """Return the state in a word, coloured, and what is wrong with the section."""
        word, colour = STATES[page.state]
        return format_html(
            '<strong class="sitemaps-{}" style="color:{};background:#fff;'
            'padding:1px 4px">{}</strong> '
            '<span style="overflow-wrap:anywhere">{}</span>',
            page.state,
            colour,
            word,
            page.problem,
        )

    @admin.display(description=_("size"))
    def size_shown(self, page: Page) -> str:
        """Return the uncompressed size."""
        return filesizeformat(page.size)

    @admin.display(description=_("changed"))
    def changed_ago(self, page: Page) -> str:
        """Return when the bytes last changed."""
        return ago(page.changed_at)

    @admin.display(description=_("compared"))
    def compared_ago(self, page: Page) -> str:
        """Return when the page was last compared with its rows."""
        return ago(page.verified_at)

    @admin.display(description=_("lastmod"))
    def lastmod_shown(self, page: Page) -> str:
        """Return the page's lastmod, in full."""
        return when(page.lastmod)

    @admin.display(description=_("changed"))
    def changed(self, page: Page) -> str:
        """Return when the bytes last changed, in full."""
        return when(page.changed_at)

    @admin.display(description=_("compared"))
    def compared(self, page: Page) -> str:
        """Return when the page was last compared with its rows, in full."""
        return when(page.verified_at)

    @admin.display(description=_("problems"))
    def problem_table(self, page: Page) -> str:
        """Return the first bad rows as a table."""
        if not page.problems:
            return "–"
        rows = format_html_join("", "<tr><td>{}</td><td>{}</td></tr>", page.problems)
        return format_html(
            "<table><thead><tr><th>{}</th><th>{}</th></tr></thead><tbody>{}</tbody>"
            "</table>",
            _("Key"),
            _("Reason"),
            rows,
        )

    @admin.display(description=_("first key"))
    def lower_bound(self, page: Page) -> str:
        """Return the first key that belongs to the page."""
        return "−∞" if page.lower is None else page.lower

    @admin.display(description=_("up to, without it"))
    def upper_bound(self, page: Page) -> str:
        """Return the first key that belongs to the next page."""
        upper = queries.upper_of(page)
        return "∞" if upper is None else upper

    @admin.action(
        description=_("Make these pages again, when next asked for"),
        permissions=["act"],
    )
    def make_again(self, request: HttpRequest, queryset: QuerySet[Page]) -> None:
        """Have pages compared with their rows at their next request."""
        numbers = list(queryset.values_list("pk", flat=True))
        done = queries.pages().filter(pk__in=numbers).update(verified_at=0)
        text = ngettext(
            "%d page is compared with its rows when it is next asked for.",
            "%d pages are compared with their rows when they are next asked for.",
            done,
        )
        self.message_user(request, text % done)

    @admin.action(description=_("Rebuild these pages now"), permissions=["act"])
    def rebuild(self, request: HttpRequest, queryset: QuerySet[Page]) -> None:
        """Make a few pages now, and say what came out."""
        chosen = list(queryset[: AT_ONCE + 1])
        if len(chosen) > AT_ONCE:
            text = gettext(
                "Nothing was made: choose %d pages at most, or type "
                "python manage.py build_sitemaps --reconcile"
            )
            self.message_user(request, text % AT_ONCE, messages.ERROR)
            return
        changed = same = 0
        for page in chosen:
            try:
                is_new = _rebuilt(request, page)
            except SitemapsPlusError as error:
                self._tell(request, page, str(error))
            except Exception as error:  # rows may raise whatever they like
                self._tell(request, page, describe(error))
            else:
                changed, same = changed + is_new, same + (not is_new)
        text = gettext(
            "Of the pages, %(changed)d changed and %(same)d stayed the same."
        )
        self.message_user(request, text % {"changed": changed, "same": same})

    def _tell(self, request: HttpRequest, page: Page, problem: str) -> None:
        text = gettext("Page %(page)s: %(problem)s")
        told = text % {"page": page, "problem": problem}
        self.message_user(request, told, messages.ERROR)


def _page_link(page: Any, text: str = "") -> str:
    """Return a link to a page; none where nobody would answer."""
    if page.state == "unregistered":
        return "–"
    try:
        path = reverse(
            "django_sitemaps_plus:page", args=[f"{page.section.name}-{page.number}"]
        )
    except NoReverseMatch:
        # The project does not include the URLs.
        return "–"
    return link(path, text)


def _rebuilt(request: HttpRequest, page: Page) -> bool:
    """Make a page now; tell whether its bytes are other ones."""
    name = page.section.name
    if name not in registry.sources():
        raise ConfigurationError(gettext("its section is not registered."))
    found = source(name)
    pages.expire(page)
    served = pages.serve(found, page, of_request(request))
    if served.problem or served.page.error:
        raise Busy(served.problem or served.page.error)
    return served.page.checksum != page.checksum


@admin.register(Change)
class ChangeAdmin(ReadOnly):
    """What was saved or deleted, and waits for its page to be rebuilt."""

    list_display = ("section", "keys", "page", "recorded_ago", "reported_shown")
    list_display_links = None
    list_filter = (SectionFilter,)
    ordering = ("pk",)
    fields = ("section", "keys", "page", "recorded", "reported_shown", "reported_when")
    readonly_fields = ("keys", "recorded", "reported_shown", "reported_when")

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return the changes."""
        return change_queries.changes()

    @admin.display(description=_("keys"))
    def keys(self, change: Change) -> str:
        """Return the key or the range, or that all of the section is concerned."""
        if change.related:
            return f"{change.related} {change.key}"
        if change.upto is not None:
            return f"{change.key} … {change.upto}"
        return change.key or gettext("the whole section")

    @admin.display(description=_("recorded"))
    def recorded_ago(self, change: Change) -> str:
        """Return since when it waits."""
        return ago(change.at)

    @admin.display(description=_("recorded"))
    def recorded(self, change: Change) -> str:
        """Return since when it waits, in full."""
        return when(change.at)

    @admin.display(description=_("reported"))
    def reported_shown(self, change: Change) -> str:
        """Return the locations that were reported, if it was."""
        if change.reported_at is None:
            return gettext("not yet")
        locations = [
            location for location, *_rest in json.loads(change.reported or "[]")
        ]
        return ", ".join(locations) or gettext("not listed")

    @admin.display(description=_("reported at"))
    def reported_when(self, change: Change) -> str:
        """Return when it was reported, in full."""
        return when(change.reported_at)


@admin.register(UrlChange)
class UrlChangeAdmin(ReadOnly):
    """What happened to URLs, the newest first."""

    list_display = (
        "kind",
        "address",
        "section",
        "happened_ago",
        "on_hold_shown",
    )
    list_display_links = None
    list_filter = (SectionFilter, "kind", "on_hold", TimeFilter)
    ordering = ("-pk",)
    actions = ("confirm",)
    fields = ("kind", "address", "section", "happened", "on_hold_shown")
    readonly_fields = ("address", "happened", "on_hold_shown")

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return the stream."""
        return change_queries.url_changes()

    @admin.display(description=_("location"))
    def address(self, change: UrlChange) -> str:
        """Return a link to the location."""
        return link(change.location)

    @admin.display(description=_("when"))
    def happened_ago(self, change: UrlChange) -> str:
        """Return when it was noticed."""
        return ago(change.at)

    @admin.display(description=_("when"))
    def happened(self, change: UrlChange) -> str:
        """Return when it was noticed, in full."""
        return when(change.at)

    @admin.display(description=_("on hold"))
    def on_hold_shown(self, change: UrlChange) -> str:
        """Return what is to be done, where it waits for somebody."""
        return gettext("on hold: confirm it") if change.on_hold else "–"

    @admin.action(
        description=_("Confirm: what is held of these sections may be told"),
        permissions=["act"],
    )
    def confirm(self, request: HttpRequest, queryset: QuerySet[UrlChange]) -> None:
        """Let all that is held of the chosen rows' sections be told."""
        waiting = queryset.filter(on_hold=True).order_by()
        names = list(waiting.values_list("section", flat=True).distinct())
        told = sum(url_changes.confirm(name, time.time()) for name in names)
        text = ngettext(
            "%(n)d URL of the sections %(names)s may be told.",
            "%(n)d URLs of the sections %(names)s may be told.",
            told,
        )
        shown = ", ".join(names) or "–"
        self.message_user(request, text % {"n": told, "names": shown})
