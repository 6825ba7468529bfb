"""Sections, pages, the changes that wait for them, and what happened to URLs."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from operator import attrgetter, methodcaller
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Count, QuerySet, Sum
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.contrib.insight.readers import reads
from django_sitemaps_plus.db import digest_of
from django_sitemaps_plus.delivery import gate
from django_sitemaps_plus.exceptions import (
    ConfigurationError,
    SitemapsPlusError,
    describe,
)
from django_sitemaps_plus.health.alerts import late_changes
from django_sitemaps_plus.models import Change, Page, Section, UrlChange
from django_sitemaps_plus.pagination.queries import upper_of
from django_sitemaps_plus.serving.documents import rebuild
from django_sitemaps_plus.serving.index import why_unusable
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import source
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress
from django_sitemaps_plus.storing import storage
from django_sitemaps_plus.storing.freshness import page_rows

from . import base, display
from .definitions import definitions
from .display import page_state
from .export import Columns, time_of
from .story import story_page

#: Each state of a page, in words.
_STATES: dict[str, Any] = {
    "broken": _("section in error"),
    "error": _("in error"),
    "never": _("not built yet"),
    "waits": _("changes waiting"),
    "due": _("due for a routine check"),
    "unregistered": _("not registered"),
    "fresh": _("up to date"),
}
#: Pages that one click rebuilds while somebody waits.
_AT_ONCE = 5


class StateFilter(base.FieldFilter):
    """By state."""

    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """Return the states."""
        return list(_STATES.items())

    def narrowed(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        """Return the pages in a state, which no column says."""
        return rows.filter(pk__in=[pk for pk, state in _states(rows) if state == value])


def _states(pages: QuerySet[Any]) -> Iterator[tuple[int, str]]:
    """Yield the primary key and the state of each page of ``page_rows``."""
    problems, now = display.problems(), time.time()
    for page in pages.defer("problems").iterator():
        yield page.pk, page_state(page, problems, now)


@admin.register(Section)
class SectionAdmin(base.ReadOnly):
    """The sections, and how the site's pages stand."""

    change_list_template = "django_sitemaps_plus/admin/section_list.html"
    list_display = ("__str__", "page_count", "entry_count", "problem")
    fields = ("name", "problem", "page_count", "entry_count", "address_shows")
    ordering = ("name",)

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return the sections with the number of their pages and entries."""
        found = Section.objects.on_site().exclude(name="")
        return found.annotate(page_n=Count("pages"), entry_n=Sum("pages__entries"))

    page_count = display.column("page_n", _("pages"), display.number)
    entry_count = display.column(
        "entry_n", _("URLs"), lambda count: display.number(count or 0)
    )

    @admin.display(description=_("its address shows"))
    def address_shows(self, section: Section) -> str:
        """Return what the section's address shows: its entries, or their index."""
        return gettext("an index") if section.is_index else gettext("the URLs")

    @admin.display(description=_("problem"), empty_value="–")
    def problem(self, section: Section) -> str:
        """Return why the running code cannot use the section, if it cannot."""
        names, problem = display.registered()
        if not problem and section.name not in names:
            return gettext("not registered")
        return problem or why_unusable(section.name)

    def more_context(self) -> dict[str, Any]:
        """Say how the pages stand above, and the sections without pages below."""
        return {
            "sitemaps_health": _health(),
            "sitemaps_without_pages": list(_without_pages()),
        }


def _health() -> str:
    """Return in one line how the site's pages stand."""
    if problem := display.registered()[1]:
        return problem
    rows = page_rows().on_site()
    counts = Counter(state for _, state in _states(rows))
    counts["pages"] = total = counts.total()
    counts["error"] += counts["broken"]
    shown = ngettext(
        "%(pages)s page: %(waits)s with waiting changes, %(due)s due for a routine "
        "check, %(never)s not built yet, %(error)s in error.",
        "%(pages)s pages: %(waits)s with waiting changes, %(due)s due for a routine "
        "check, %(never)s not built yet, %(error)s in error.",
        total,
    ) % {
        name: display.number(counts[name])
        for name in ("pages", "waits", "due", "never", "error")
    }
    return f"{shown} {late_changes()}"


def _without_pages() -> Iterator[tuple[str, str]]:
    """Yield the registered sections that have no pages in the ledger, and why."""
    rows = Section.objects.on_site().filter(filled=True)
    filled = set(rows.values_list("name", flat=True))
    for name, problem in display.problems().items():
        if name not in filled:
            yield name, problem or display.why_no_pages(name)


@admin.register(Page)
class PageAdmin(base.ReadOnly):
    """The pages: what each lists, whether it is fresh, what is wrong with it."""

    list_display = (
        "__str__",
        "state_shown",
        "changed_ago",
        "compared_ago",
        "entries_shown",
        "size_shown",
        "opened",
    )
    list_filter = (base.PageSectionFilter, StateFilter, base.ProblemsFilter)
    list_select_related = ("section",)
    ordering = ("section", "position")
    actions = ("compare", "rebuild")
    fields: ClassVar[Any] = (
        "section",
        "number",
        "address",
        "state_shown",
        "entries_shown",
        "items_shown",
        "repeated_shown",
        "size_shown",
        "lastmod_shown",
        "changed",
        "compared",
        "lost",
        "error",
        "bad_shown",
        "problem_table",
        "reader_table",
        "lower_bound",
        "upper_bound",
        "version",
        "checksum",
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return the pages with their states."""
        return page_rows().on_site()

    entries_shown = display.column("entries", _("URLs"), display.number)
    items_shown = display.column("items", _("rows"), display.number)
    bad_shown = display.column("bad", _("rows left out"), display.number)
    size_shown = display.column("size", _("size"), display.size)
    changed_ago, changed = display.times("changed_at", _("changed"))
    compared_ago, compared = display.times("verified_at", _("checked"))
    lost = display.column(
        "lost_at", _("stored bytes found missing or damaged"), display.when
    )
    lastmod_shown = display.column("lastmod", _("lastmod"), display.when)
    lower_bound = display.column(
        "lower", _("first key"), lambda lower: display.key(lower) or "−∞"
    )

    @admin.display(description=_("entries with the URL of another one"))
    def repeated_shown(self, page: Page) -> str:
        """Return how many entries of the page repeat a URL."""
        [(_, stored)] = storage.read_each([page])
        return display.number(None if stored is None else stored.repeated)

    @admin.display(description=_("up to, without it"))
    def upper_bound(self, page: Page) -> str:
        """Return the first key that belongs to the next page."""
        return display.key(upper_of(page)) or "∞"

    @admin.display(description=_("address"))
    def address(self, page: Page) -> str:
        """Return a link to the page, which shows the path."""
        return _page_link(page)

    @admin.display(description=_("file"))
    def opened(self, page: Page) -> str:
        """Return a link to the page in a word, for the list."""
        return _page_link(page, gettext("open"))

    @admin.display(description=_("state"))
    def state_shown(self, page: Any) -> str:
        """Return the state in words, and what is wrong with the section."""
        state, rest = display.state_of(page)
        if page.bad and not rest:
            text = ngettext("%s row left out", "%s rows left out", page.bad)
            rest = text % display.number(page.bad)
        return display.state(_STATES[state], state, rest)

    @admin.display(description=_("problems"))
    def problem_table(self, page: Page) -> str:
        """Return the first bad rows as a table, and how many more there are."""
        rows = page.left_out
        shown = display.table((_("Key"), _("Reason")), rows)
        if more := page.bad - len(rows):
            text = gettext("and %s more") % display.number(more)
            return format_html("{}<p>{}</p>", shown, text)
        return shown

    @admin.display(description=_("who read it"))
    def reader_table(self, page: Page) -> str:
        """Return which crawlers read the page, when last and how often."""
        heads = (
            _("Crawler"),
            _("Last read"),
            _("Whole file (200)"),
            _("Unchanged (304)"),
        )
        cells = []
        rows = reads().filter(document=f"sitemap-{page}.xml")
        for row in rows.order_by("-last_at"):
            who = row.crawler or gettext("other clients")
            counts = display.number(row.full), display.number(row.unchanged)
            cells.append((who, display.ago(row.last_at), *counts))
        return display.table(heads, cells)

    @admin.action(
        description=_("Compare these pages with their rows, when next requested"),
        permissions=["act"],
    )
    def compare(self, request: HttpRequest, queryset: QuerySet[Page]) -> None:
        """Have pages compared with their rows: by a request, or in the background."""
        pks = list(queryset.values_list("pk", flat=True))
        done = Page.objects.filter(pk__in=pks).mark()
        text = ngettext(
            "%d page will be compared with its rows, when it is next requested.",
            "%d pages will be compared with their rows, when they are next requested.",
            done,
        )
        self.message_user(request, text % done)

    @admin.action(description=_("Rebuild these pages now"), permissions=["act"])
    def rebuild(self, request: HttpRequest, queryset: QuerySet[Page]) -> None:
        """Rebuild a few pages now, and say what came of it."""
        chosen = list(queryset[: _AT_ONCE + 1])
        if len(chosen) > _AT_ONCE:
            text = gettext(
                "Nothing was rebuilt: choose at most %d pages, or run "
                "python manage.py build_sitemaps --reconcile"
            )
            self.message_user(request, text % _AT_ONCE, messages.ERROR)
            return
        done = Counter[bool]()
        for page in chosen:
            try:
                is_new = _rebuilt(request, page)
            except Exception as error:  # rows may raise whatever they like
                is_ours = isinstance(error, SitemapsPlusError)
                said = {"page": page, "problem": error if is_ours else describe(error)}
                text = gettext("Page %(page)s: %(problem)s")
                self.message_user(request, text % said, messages.ERROR)
            else:
                done[is_new] += 1
        text = gettext("%(changed)d of the pages changed, %(same)d stayed the same.")
        self.message_user(request, text % {"changed": done[True], "same": done[False]})


def _page_link(page: Any, text: str = "") -> str:
    """Return a link to a page; empty if its section is not registered."""
    if page.section.name not in display.registered()[0]:
        return "–"
    path = display.path_of("page", str(page))
    return display.link(path, text) if path else "–"


def _rebuilt(request: HttpRequest, page: Page) -> bool:
    """Rebuild a page; return whether its bytes changed."""
    name = page.section.name
    if name not in registry.sources():
        raise ConfigurationError(gettext("its section is not registered."))
    return rebuild(source(name), page, Site.current().address_for(request))


@admin.register(Change)
class ChangeAdmin(base.ReadOnly):
    """What was saved or deleted since its page was last built."""

    rows = staticmethod(Change.objects.on_site)
    list_display = ("section", "keys", "page", "recorded_ago")
    list_display_links = None
    list_filter = (base.SectionFilter,)
    # As their index has them.
    ordering = ("section", "page", "pk")
    fields = ("section", "keys", "page", "recorded")

    recorded_ago, recorded = display.times("at", _("recorded"))

    @admin.display(description=_("keys"))
    def keys(self, change: Change) -> str:
        """Return the key or the range, or that all of the section is concerned."""
        if change.upto is not None:
            return f"{display.key(change.key)} … {display.key(change.upto)}"
        if change.related:
            return f"{change.related} {change.key}"
        return display.key(change.key) or gettext("the whole section")


class KindFilter(base.FieldFilter):
    """By what happened."""

    title = _("what")
    parameter_name = "kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """Return what can happen."""
        return list(UrlChange.Kind.choices)

    def narrowed(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        """Return the rows of a kind, by section: so an index begins."""
        names = list(Section.objects.on_site().values_list("name", flat=True))
        return rows.filter(kind=value, section__in=names)


class OnHoldFilter(base.FieldFilter):
    """What is on hold."""

    title = _("on hold")
    parameter_name = "on_hold"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """Return yes: hardly any other row is."""
        return [("yes", _("on hold"))]

    def narrowed(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        """Return them by what was not queued, by whose index they are found."""
        return rows.filter(queued_at=None, on_hold=True)


@admin.register(UrlChange)
class UrlChangeAdmin(base.Exported):
    """What happened to URLs, the newest first."""

    rows = staticmethod(UrlChange.objects.on_site)
    views: ClassVar[dict[str, str]] = {"story": "story"}
    list_display = ("kind_shown", "address", "section", "happened_ago", "on_hold_shown")
    list_display_links = None
    list_filter = (
        base.SectionFilter,
        KindFilter,
        OnHoldFilter,
        base.DayFilter,
        base.TimeFilter,
    )
    search_fields = ("location",)
    ordering = ("-at",)
    actions = ("confirm",)
    columns: ClassVar[Columns] = {
        _("URL"): lambda row: display.url_of(row.location),
        _("what"): methodcaller("get_kind_display"),
        _("section"): attrgetter("section"),
        _("when"): lambda row: time_of(row.at),
        _("on hold"): lambda row: gettext("on hold") if row.on_hold else "",
    }
    fields = ("kind_shown", "address", "section", "happened", "on_hold_shown", "queued")

    def of_url(
        self, queryset: QuerySet[Any], location: str, site: SiteAddress
    ) -> QuerySet[Any]:
        """Return what happened to a URL."""
        return queryset.filter(digest=digest_of(location))

    def more_context(self) -> dict[str, Any]:
        """Say above the list what new definitions of sections changed."""
        return {"sitemaps_notes": list(definitions())}

    def story(self, request: HttpRequest) -> HttpResponse:
        """Show what is known of one URL."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        return base.of_site(request, lambda: story_page(request, self.admin_site))

    kind_shown = display.column("get_kind_display", _("what"), lambda shown: shown())
    address = display.column("location", _("URL"), display.link)
    happened_ago, happened = display.times("at", _("when"))
    queued = display.column("queued_at", _("queued for the engines"), display.when)

    @admin.display(description=_("on hold"))
    def on_hold_shown(self, change: UrlChange) -> str:
        """Return what is to be done, where it waits for somebody."""
        return gettext("on hold: confirm it") if change.on_hold else "–"

    @admin.action(
        description=_("Confirm: submit what is on hold in these sections"),
        permissions=["act"],
    )
    def confirm(self, request: HttpRequest, queryset: QuerySet[UrlChange]) -> None:
        """Let all that is on hold of the chosen rows' sections be submitted."""
        waiting = queryset.filter(on_hold=True).order_by()
        names = list(waiting.values_list("section", flat=True).distinct())
        done = sum(gate.confirm(name) for name in names)
        text = ngettext(
            "%(n)d URL of the sections %(names)s will be submitted.",
            "%(n)d URLs of the sections %(names)s will be submitted.",
            done,
        )
        shown = ", ".join(names) or "–"
        self.message_user(request, text % {"n": done, "names": shown})
