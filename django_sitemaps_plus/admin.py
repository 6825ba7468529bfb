"""
The admin: read-only lists of sections, pages, what waits, what happened to URLs.

Nothing is added, edited or deleted here. Who has the change permission may have
pages made again, and confirm that what is held may be told.
"""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from django.contrib import admin, messages
from django.core.paginator import Paginator
from django.db import connections, router
from django.db.models import (
    Case,
    CharField,
    Count,
    Exists,
    OuterRef,
    Q,
    QuerySet,
    Sum,
    Value,
    When,
)
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat
from django.urls import NoReverseMatch, reverse
from django.utils import formats, timezone
from django.utils.html import format_html, format_html_join
from django.utils.timesince import timesince
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from . import changes, ledger, pages, stream
from .definitions import Definition, definition, source
from .exceptions import Busy, ConfigurationError, SitemapsPlusError
from .lookups import lookup
from .models import Change, Page, Section, UrlChange
from .origin import configured, of_request
from .recording import can_record
from .registry import registry
from .serializer import describe

if TYPE_CHECKING:
    Base: TypeAlias = admin.ModelAdmin[Any]
else:
    # Django's class takes no parameters while it runs.
    Base = admin.ModelAdmin

#: Rows that a list counts at most: what lies behind is found by filters.
MOST = 10_000
#: Pages that one click makes while somebody waits.
AT_ONCE = 5
#: Seconds after which a change that still waits is worth a look.
LATE = 900

#: Each state of a page: its word and its colour (on white, at least 4.5 to 1).
STATES: dict[str, tuple[Any, str]] = {
    "broken": (_("section in error"), "#b00020"),
    "error": (_("in error"), "#b00020"),
    "never": (_("never made"), "#6a1b9a"),
    "grace": (_("in grace"), "#1a5fb4"),
    "waits": (_("stale: a change waits"), "#8a4b00"),
    "due": (_("stale: compare due"), "#7a5c00"),
    "unregistered": (_("not registered"), "#555555"),
    "fresh": (_("fresh"), "#1b6e2c"),
}


# What is shown


def when(seconds: float | None) -> str:
    """Return a moment as Django shows datetimes, and how long ago that is."""
    if not seconds:
        return "–"
    return f"{_moment(seconds)} ({_ago(seconds, 2)})"


def ago(seconds: float | None) -> str:
    """Return how long ago a moment is, for lists; the mouse shows the moment."""
    if not seconds:
        return "–"
    return format_html(
        '<span style="white-space:nowrap" title="{}">{}</span>',
        _moment(seconds),
        _ago(seconds, 1),
    )


def _moment(seconds: float) -> str:
    moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
    return str(formats.localize(timezone.localtime(moment)))


def _ago(seconds: float, units: int) -> str:
    moment = dt.datetime.fromtimestamp(seconds, dt.UTC)
    return gettext("%(time)s ago") % {"time": timesince(moment, depth=units)}


def link(address: str, text: str = "") -> str:
    """Return a link to an address of the site, on the host that the project names."""
    place = configured()
    is_path = address.startswith("/")
    href = f"{place.origin}{address}" if is_path and place else address
    return format_html('<a href="{}" rel="noopener">{}</a>', href, text or address)


def registered() -> tuple[list[str], str]:
    """Return the registered sections, and why they cannot be told, if they cannot."""
    try:
        return list(registry.sources()), ""
    except ConfigurationError as error:
        return [], str(error)


def problem_of(name: str) -> str:
    """Return why a registered section cannot be used; nothing if it can."""
    try:
        if definition(name).key is not None:
            lookup(name)
    except ConfigurationError as error:
        return str(error)
    except Exception as error:  # items() may raise whatever it likes
        return describe(error)
    return ""


def with_states(found: QuerySet[Any], now: float) -> QuerySet[Any]:
    """
    Add to pages their ``state``, a key of ``STATES``, and their section's ``problem``.

    By expressions, so that one query reads a list and a filter finds what it shows.
    What they call fresh ``pages.is_fresh`` does, too.
    """
    problems = {name: problem_of(name) for name in registered()[0]}
    broken = {name: problem for name, problem in problems.items() if problem}
    fine = {name: definition(name) for name in problems if name not in broken}
    kept = {name: known for name, known in fine.items() if known.key is not None}
    cases: list[tuple[Q, str]] = [
        (Q(section__name__in=list(broken)), "broken"),
        (~Q(error=""), "error"),
        (~Q(section__name__in=list(kept)), "unregistered"),
        (Q(checksum=""), "never"),
        (Q(grace_until__gt=now), "grace"),
        *((condition, "waits") for condition in _waiting(kept)),
        *((condition, "due") for condition in _due(kept, now)),
    ]
    texts = (
        When(section__name=name, then=Value(text)) for name, text in broken.items()
    )
    words = (When(condition, then=Value(word)) for condition, word in cases)
    annotated: QuerySet[Any] = found.annotate(
        state=Case(*words, default=Value("fresh"), output_field=CharField()),
        problem=Case(*texts, default=Value(""), output_field=CharField()),
    )
    return annotated


def _due(kept: Mapping[str, Definition], now: float) -> Iterator[Q]:
    """Yield the conditions of pages to be compared, or made by another definition."""
    # In a deploy newer code may run beside this one: its pages are served.
    newer = ledger.sections().filter(digest_since__gt=pages.STARTED)
    digests = dict(newer.values_list("name", "digest"))
    for name, current in kept.items():
        fresh = Q(
            section__key=current.key,
            section__filled=True,
            grace_until=0,
            digest__in=[current.digest, digests.get(name, current.digest)],
            verified_at__gt=now - pages.hold(current),
            verified_at__lte=now,
        )
        if current.ticks:
            since = now - changes.TICK
            fresh &= Q(section__ticked_at__gt=since, section__ticked_at__lte=now)
        yield Q(section__name=name) & ~fresh


def _waiting(names: Iterable[str]) -> Iterator[Q]:
    """Yield the conditions of pages that a recorded change may concern."""
    near, far = changes.apart(names, ledger.pages().db)
    if near:
        concerned = Change.objects.filter(
            changes.of_page(OuterRef("number")), section=OuterRef("section__name")
        )
        yield Q(Exists(concerned), section__name__in=near)
    for name in far:
        if not can_record(lookup(name).database):
            continue
        recorded = changes.recorded(name).order_by()
        if recorded.filter(page=None).exists():
            yield Q(section__name=name)
        numbers = recorded.exclude(page=None).values_list("page", flat=True).distinct()
        yield Q(section__name=name, number__in=list(numbers[:MOST]))


def recording_databases() -> list[str]:
    """Return the databases in which changes are recorded."""
    return [
        using
        for using in connections
        if router.allow_migrate_model(using, Change) and can_record(using)
    ]


def health() -> str:
    """Return in one line how the site's pages stand."""
    _names, problem = registered()
    if problem:
        return problem
    found = with_states(ledger.pages(), time.time()).order_by()
    counts = dict(found.values_list("state").annotate(n=Count("pk")))
    total = sum(counts.values())
    shown = ngettext(
        "%(pages)d page: %(stale)d stale, %(never)d never made, %(error)d in error.",
        "%(pages)d pages: %(stale)d stale, %(never)d never made, %(error)d in error.",
        total,
    ) % {
        "pages": total,
        "stale": counts.get("waits", 0) + counts.get("due", 0),
        "never": counts.get("never", 0),
        "error": counts.get("error", 0) + counts.get("broken", 0),
    }
    return f"{shown} {_late()}"


def _late() -> str:
    """Return how many changes wait for too long."""
    late = sum(
        Change.objects.using(using).filter(at__lt=time.time() - LATE)[:MOST].count()
        for using in recording_databases()
    )
    text = ngettext(
        "%(late)s change has waited for longer than 15 minutes.",
        "%(late)s changes have waited for longer than 15 minutes.",
        late,
    )
    return text % {"late": late if late < MOST else f"{MOST}+"}


def without_pages() -> Iterator[tuple[str, str]]:
    """Yield the registered sections that have no pages in the ledger, and why."""
    filled = set(ledger.sections().filter(filled=True).values_list("name", flat=True))
    for name in registered()[0]:
        problem = problem_of(name)
        if name in filled:
            continue
        if problem:
            yield name, problem
        elif reason := source(name).by_position:
            yield name, gettext("Paged by position, because %s.") % reason
        else:
            yield (
                name,
                gettext("Not filled yet. Type: python manage.py build_sitemaps"),
            )


# Filters and lists


class BoundedPaginator(Paginator):  # type: ignore[type-arg]
    """Counts some thousand rows at most, however many there are."""

    @cached_property
    def count(self) -> int:
        """Return how many rows the list can show."""
        rows: Any = self.object_list
        return int(rows.order_by()[:MOST].count())


class SectionFilter(admin.SimpleListFilter):
    """By section; the names are the registered ones, so no row is read for them."""

    title = _("section")
    parameter_name = "of"
    field = "section"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the registered sections."""
        return [(name, name) for name in registered()[0]]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow the list down."""
        value = self.value()
        return queryset.filter(**{self.field: value}) if value else queryset


class PageSectionFilter(SectionFilter):
    """By section, of pages."""

    field = "section__name"


class StateFilter(admin.SimpleListFilter):
    """By state."""

    title = _("state")
    parameter_name = "state"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """Return the states."""
        return [(state, word) for state, (word, _colour) in STATES.items()]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow the list down."""
        return queryset.filter(state=self.value()) if self.value() else queryset


class ProblemsFilter(admin.SimpleListFilter):
    """By whether rows were left out."""

    title = _("problems")
    parameter_name = "bad"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """Return yes and no."""
        return [("yes", _("Has bad rows")), ("no", _("Has none"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow the list down."""
        if self.value() is None:
            return queryset
        return queryset.filter(**{"bad" if self.value() == "no" else "bad__gt": 0})


class TimeFilter(admin.SimpleListFilter):
    """By how long ago."""

    title = _("time")
    parameter_name = "since"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """Return the last hour, day and week."""
        return [
            ("3600", _("Last hour")),
            ("86400", _("Last day")),
            ("604800", _("Last week")),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow the list down."""
        value = self.value()
        if value not in ("3600", "86400", "604800"):
            return queryset
        return queryset.filter(at__gte=time.time() - int(value))


class DatabaseFilter(admin.SimpleListFilter):
    """By database, where changes are recorded in several."""

    title = _("database")
    parameter_name = "database"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Return the databases other than the one that is shown without a filter."""
        main = router.db_for_write(Change)
        return [(using, using) for using in recording_databases() if using != main]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Read another database."""
        value = self.value()
        return queryset.using(value) if value in recording_databases() else queryset


class ReadOnly(Base):
    """A list in which nothing is added, edited or deleted."""

    show_full_result_count = False
    paginator = BoundedPaginator

    def has_add_permission(self, request: HttpRequest, *args: Any) -> bool:
        """Nobody adds."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody edits; what may be done are the actions."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nobody deletes."""
        return False

    def has_act_permission(self, request: HttpRequest) -> bool:
        """Tell whether a user may run the actions: with the change permission."""
        name = f"sitemaps_plus.change_{self.opts.model_name}"
        return bool(request.user.has_perm(name))


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
        found = ledger.sections().exclude(name="")
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
        found = ledger.pages().select_related("section")
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
        upper = ledger.upper_of(page)
        return "∞" if upper is None else upper

    @admin.action(
        description=_("Make these pages again, when next asked for"),
        permissions=["act"],
    )
    def make_again(self, request: HttpRequest, queryset: QuerySet[Page]) -> None:
        """Have pages compared with their rows at their next request."""
        numbers = list(queryset.values_list("pk", flat=True))
        done = ledger.pages().filter(pk__in=numbers).update(verified_at=0)
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
    """What was recorded and has not reached its page."""

    list_display = ("section", "keys", "page", "waits", "settled_shown")
    list_display_links = None
    list_filter = (SectionFilter, DatabaseFilter)
    ordering = ("pk",)
    fields = ("section", "keys", "old", "page", "recorded", "settled_shown")
    readonly_fields = ("keys", "recorded", "settled_shown")

    @admin.display(description=_("keys"))
    def keys(self, change: Change) -> str:
        """Return the key or the range, or that all of the section is concerned."""
        if change.upto is not None:
            return f"{change.key} … {change.upto}"
        return change.key or gettext("the whole section")

    @admin.display(description=_("recorded"))
    def waits(self, change: Change) -> str:
        """Return since when it waits."""
        return ago(change.at)

    @admin.display(description=_("recorded"))
    def recorded(self, change: Change) -> str:
        """Return since when it waits, in full."""
        return when(change.at)

    @admin.display(description=_("settled"))
    def settled_shown(self, change: Change) -> str:
        """Return whether its object is surely committed: a cross would look wrong."""
        return gettext("yes") if change.settled else gettext("not yet")


@admin.register(UrlChange)
class UrlChangeAdmin(ReadOnly):
    """What happened to URLs, the newest first."""

    list_display = (
        "kind",
        "address",
        "former",
        "section",
        "happened_ago",
        "held_shown",
    )
    list_display_links = None
    list_filter = (SectionFilter, "kind", "held", TimeFilter)
    ordering = ("-pk",)
    actions = ("confirm",)
    fields = ("kind", "address", "former", "section", "happened", "held_shown")
    readonly_fields = ("address", "happened", "held_shown")

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return the stream."""
        return stream.url_changes()

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

    @admin.display(description=_("held"))
    def held_shown(self, change: UrlChange) -> str:
        """Return what is to be done, where it waits for somebody."""
        return gettext("held: confirm it") if change.held else "–"

    @admin.action(
        description=_("Confirm: what is held of these sections may be told"),
        permissions=["act"],
    )
    def confirm(self, request: HttpRequest, queryset: QuerySet[UrlChange]) -> None:
        """Let all that is held of the chosen rows' sections be told."""
        held = queryset.filter(held=True).order_by()
        names = list(held.values_list("section", flat=True).distinct())
        told = sum(stream.confirm(name) for name in names)
        text = ngettext(
            "%(n)d URL of the sections %(names)s may be told.",
            "%(n)d URLs of the sections %(names)s may be told.",
            told,
        )
        shown = ", ".join(names) or "–"
        self.message_user(request, text % {"n": told, "names": shown})
