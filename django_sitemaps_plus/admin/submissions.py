"""What engines were told, and how they stand."""

from __future__ import annotations

import datetime as dt
import time
from typing import Any

from django.contrib import admin
from django.db.models import (
    Count,
    OuterRef,
    QuerySet,
    Subquery,
)
from django.db.models.functions import Coalesce
from django.http import HttpRequest, HttpResponse
from django.utils.html import format_html
from django.utils.timesince import timeuntil
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.delivery import outbox, queries
from django_sitemaps_plus.models import EngineState, Submission

from .base import CreatedFilter, EngineFilter, ReadOnly, SectionFilter
from .display import ago, known_engines, link, moment_of, when

#: Each state of a submission: its colour (on white, at least 4.5 to 1).
SUBMISSION_COLOURS = {
    Submission.State.PENDING: "#1a5fb4",
    Submission.State.SENDING: "#6a1b9a",
    Submission.State.ACCEPTED: "#1b6e2c",
    Submission.State.REJECTED: "#b00020",
    Submission.State.FAILED: "#b00020",
}


@admin.register(Submission)
class SubmissionAdmin(ReadOnly):
    """What engines were told, or wait to be told, and what they answered."""

    list_display = (
        "address",
        "engine",
        "kind",
        "state_shown",
        "status",
        "message",
        "created_ago",
        "due_shown",
        "attempts",
    )
    list_filter = (EngineFilter, "state", "kind", SectionFilter, CreatedFilter)
    list_display_links = ("engine",)
    ordering = ("-pk",)
    actions = ("retry",)
    fields = (
        "address",
        "engine",
        "host",
        "kind",
        "section",
        "state_shown",
        "reason",
        "due",
        "attempts",
        "created",
        "sent",
        "answered",
        "took",
        "status",
        "message",
        "answer",
    )
    readonly_fields = (
        "address",
        "state_shown",
        "reason",
        "due",
        "created",
        "sent",
        "answered",
        "took",
        "answer",
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return what engines are told."""
        return queries.submissions()

    @admin.display(description=_("URL"))
    def address(self, row: Submission) -> str:
        """Return a link to the URL."""
        return link(row.url)

    @admin.display(description=_("state"))
    def state_shown(self, row: Submission) -> str:
        """Return the state in a word, coloured."""
        return format_html(
            '<strong class="sitemaps-{}" style="color:{};background:#fff;'
            'padding:1px 4px">{}</strong>',
            row.state,
            SUBMISSION_COLOURS[Submission.State(row.state)],
            row.get_state_display(),
        )

    @admin.display(description=_("changed"))
    def created_ago(self, row: Submission) -> str:
        """Return since when it is to be told."""
        return ago(row.created_at)

    @admin.display(description=_("due"))
    def due_shown(self, row: Submission) -> str:
        """Return when it is told, for lists."""
        return _until(row.due_at)

    @admin.display(description=_("due"))
    def due(self, row: Submission) -> str:
        """Return when it is told, in full."""
        return moment_of(row.due_at) if row.due_at else "–"

    @admin.display(description=_("why it waits"))
    def reason(self, row: Submission) -> str:
        """Return what keeps its engine from being told."""
        if row.due_at is None or row.state != Submission.State.PENDING:
            return "–"
        known = queries.states().filter(engine=row.engine, host=row.host).first()
        paused = known is not None and known.paused_until > time.time()
        said = (known.problem or (known.message if paused else "")) if known else ""
        return said or known_engines()[1] or _rest(row) or "–"

    @admin.display(description=_("created"))
    def created(self, row: Submission) -> str:
        """Return since when it is to be told, in full."""
        return when(row.created_at)

    @admin.display(description=_("sent"))
    def sent(self, row: Submission) -> str:
        """Return when it was last sent."""
        return when(row.sent_at)

    @admin.display(description=_("answered"))
    def answered(self, row: Submission) -> str:
        """Return when it was last answered."""
        return when(row.answered_at)

    @admin.display(description=_("took"))
    def took(self, row: Submission) -> str:
        """Return how long the answer took."""
        return "–" if row.seconds is None else f"{row.seconds:.2f} s"

    @admin.display(description=_("answer"))
    def answer(self, row: Submission) -> str:
        """Return what was kept of the answer's body, as it is."""
        if not row.excerpt:
            return "–"
        style = "white-space:pre-wrap;overflow-wrap:anywhere"
        return format_html('<pre style="{}">{}</pre>', style, row.excerpt)

    @admin.action(
        description=_("Tell these again, where they were refused or given up"),
        permissions=["act"],
    )
    def retry(self, request: HttpRequest, queryset: QuerySet[Submission]) -> None:
        """Have what was refused or failed be told once more."""
        done = outbox.retry(queryset)
        text = ngettext("%d URL is told again.", "%d URLs are told again.", done)
        self.message_user(request, text % done)


def _rest(row: Submission) -> str:
    """Return when the same was sent, if it is too early to send it again."""
    answered = Submission.objects.filter(
        engine=row.engine, digest=row.digest, live=None, answered_at__isnull=False
    ).order_by("-pk")
    sent = answered.values_list("answered_at", flat=True).first()
    if sent is None or not row.due_at or row.due_at <= time.time():
        return ""
    text = gettext("The same was told {}: not again so soon.")
    return format_html(text, ago(sent))


def _until(moment: float | None) -> str:
    """Return in how long something is due, in a few words."""
    if moment is None:
        return "–"
    if moment <= time.time():
        return gettext("now")
    then = dt.datetime.fromtimestamp(moment, dt.UTC)
    left = timeuntil(then, depth=1)
    return gettext("in %(time)s") % {"time": left}


@admin.register(EngineState)
class EngineStateAdmin(ReadOnly):
    """How each engine stands, at a glance."""

    change_list_template = "django_sitemaps_plus/admin/engine_list.html"
    list_display = (
        "__str__",
        "health",
        "waiting",
        "failed",
        "succeeded_ago",
        "answered_ago",
        "status",
        "message",
    )
    ordering = ("engine", "host")
    fields = (
        "engine",
        "host",
        "health",
        "verified_when",
        "succeeded",
        "answered",
        "status",
        "message",
        "failures",
    )
    readonly_fields = ("health", "verified_when", "succeeded", "answered")

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return the states with the number of what waits, and of what failed."""
        found = queries.states()
        own = Submission.objects.filter(
            engine=OuterRef("engine"), host=OuterRef("host")
        )
        return found.annotate(
            waiting_n=_count(own.filter(due_at__isnull=False)),
            failed_n=_count(own.filter(state=Submission.State.FAILED)),
        )

    @admin.display(description=_("health"))
    def health(self, state: EngineState) -> str:
        """Return in a word how it stands, coloured, and why."""
        aliases, refusal = known_engines()
        problem = refusal or state.problem
        colour, word = "#1b6e2c", gettext("fine")
        if state.engine not in aliases:
            colour, word = "#555555", gettext("not in the settings")
        elif problem:
            colour, word = "#b00020", gettext("nothing is told")
        elif state.paused_until > time.time():
            colour, word = "#8a4b00", gettext("left alone for a while")
            problem = _until(state.paused_until)
        return format_html(
            '<strong style="color:{};background:#fff;padding:1px 4px">{}</strong> '
            '<span style="overflow-wrap:anywhere">{}</span>',
            colour,
            word,
            problem,
        )

    @admin.display(description=_("waiting"))
    def waiting(self, state: Any) -> str:
        """Return how many URLs wait to be told."""
        return f"{state.waiting_n:,}"

    @admin.display(description=_("given up"))
    def failed(self, state: Any) -> str:
        """Return how many URLs were given up."""
        return f"{state.failed_n:,}"

    @admin.display(description=_("last success"))
    def succeeded_ago(self, state: EngineState) -> str:
        """Return when it last accepted something."""
        return ago(state.succeeded_at)

    @admin.display(description=_("last answer"))
    def answered_ago(self, state: EngineState) -> str:
        """Return when it last answered."""
        return ago(state.answered_at)

    @admin.display(description=_("last success"))
    def succeeded(self, state: EngineState) -> str:
        """Return when it last accepted something, in full."""
        return when(state.succeeded_at)

    @admin.display(description=_("last answer"))
    def answered(self, state: EngineState) -> str:
        """Return when it last answered, in full."""
        return when(state.answered_at)

    @admin.display(description=_("proof found"))
    def verified_when(self, state: EngineState) -> str:
        """Return when the proof that the host is ours was last found."""
        return when(state.verified_at)

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Say above the list why nothing is told, if so."""
        aliases, refusal = known_engines()
        if not aliases and not refusal:
            refusal = gettext("No engine is named in SITEMAPS_PLUS['ENGINES'].")
        more = {"sitemaps_refusal": refusal}
        return super().changelist_view(request, {**more, **(extra_context or {})})


def _count(found: QuerySet[Submission]) -> Any:
    """Return how many rows there are, as an expression."""
    grouped = found.order_by().values("engine").annotate(n=Count("pk"))
    return Coalesce(Subquery(grouped.values("n")), 0)
