"""What was submitted to engines, and how they stand."""

from __future__ import annotations

import time
from typing import Any

from django.contrib import admin
from django.db.models import Count, OuterRef, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.delivery import outbox
from django_sitemaps_plus.delivery.queries import states, submissions
from django_sitemaps_plus.models import EngineState, Submission

from . import base, display

#: The colour of each state of a submission.
COLOURS = {
    Submission.State.PENDING: display.BLUE,
    Submission.State.SENDING: display.PURPLE,
    Submission.State.ACCEPTED: display.GREEN,
    Submission.State.REJECTED: display.RED,
    Submission.State.FAILED: display.RED,
}


@admin.register(Submission)
class SubmissionAdmin(base.ReadOnly):
    """What was submitted, or waits to be submitted, and what engines answered."""

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
    list_filter = (
        base.EngineFilter,
        "state",
        "kind",
        base.SectionFilter,
        base.CreatedFilter,
    )
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

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return the submissions."""
        return submissions()

    address = display.column("url", _("URL"), display.link)
    created_ago, created = display.times("created_at", _("created"))
    due_shown = display.column("due_at", _("due"), display.until)
    due = display.column(
        "due_at", _("due"), lambda at: display.datetime_of(at) if at else "–"
    )
    sent = display.column("sent_at", _("sent"), display.when)
    answered = display.column("answered_at", _("answered"), display.when)
    took = display.column(
        "seconds", _("took"), lambda s: "–" if s is None else f"{s:.2f} s"
    )

    @admin.display(description=_("state"))
    def state_shown(self, row: Submission) -> str:
        """Return the state in a word, coloured."""
        colour = COLOURS[Submission.State(row.state)]
        return display.coloured(row.get_state_display(), colour, state=row.state)

    @admin.display(description=_("why it waits"))
    def reason(self, row: Submission) -> str:
        """Return what keeps it from being submitted."""
        if row.due_at is None or row.state != Submission.State.PENDING:
            return "–"
        known = states().filter(engine=row.engine, host=row.host).first()
        paused = known is not None and known.paused_until > time.time()
        said = (known.problem or (known.message if paused else "")) if known else ""
        return said or display.known_engines()[1] or _rest(row) or "–"

    @admin.display(description=_("answer"))
    def answer(self, row: Submission) -> str:
        """Return what was kept of the answer's body, as it is."""
        if not row.excerpt:
            return "–"
        style = "white-space:pre-wrap;overflow-wrap:anywhere"
        return format_html('<pre style="{}">{}</pre>', style, row.excerpt)

    @admin.action(
        description=_("Submit these again, where they were rejected or given up"),
        permissions=["act"],
    )
    def retry(self, request: HttpRequest, queryset: QuerySet[Submission]) -> None:
        """Submit once more what was rejected or failed."""
        done = outbox.retry(queryset)
        text = ngettext(
            "%d URL will be submitted again.", "%d URLs will be submitted again.", done
        )
        self.message_user(request, text % done)


def _rest(row: Submission) -> str:
    """Return when the same was sent, if it is too early to send it again."""
    same = submissions().filter(engine=row.engine, digest=row.digest, live=None)
    answered = same.filter(answered_at__isnull=False).order_by("-pk")
    sent = answered.values_list("answered_at", flat=True).first()
    if sent is None or not row.due_at or row.due_at <= time.time():
        return ""
    return format_html(gettext("The same URL was submitted {}."), display.ago(sent))


@admin.register(EngineState)
class EngineStateAdmin(base.ReadOnly):
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

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return the states with the number of what waits, and of what failed."""
        own = submissions().filter(engine=OuterRef("engine"), host=OuterRef("host"))
        return states().annotate(
            waiting_n=_count(own.filter(due_at__isnull=False)),
            failed_n=_count(own.filter(state=Submission.State.FAILED)),
        )

    waiting = display.column("waiting_n", _("waiting"), "{:,}".format)
    failed = display.column("failed_n", _("given up"), "{:,}".format)
    succeeded_ago, succeeded = display.times("succeeded_at", _("last success"))
    answered_ago, answered = display.times("answered_at", _("last answer"))
    verified_when = display.column("verified_at", _("ownership verified"), display.when)

    @admin.display(description=_("health"))
    def health(self, state: EngineState) -> str:
        """Return in a word how it stands, coloured, and why."""
        aliases, refusal = display.known_engines()
        problem = refusal or state.problem
        if state.engine not in aliases:
            return display.coloured(
                gettext("not in the settings"), display.GREY, problem
            )
        if problem:
            return display.coloured(gettext("nothing is sent"), display.RED, problem)
        if state.paused_until > time.time():
            return display.coloured(
                gettext("paused"),
                display.BROWN,
                gettext("next try %s") % display.until(state.paused_until),
            )
        if state.exhausted_until > time.time():
            return display.coloured(
                gettext("quota used up"),
                display.GREY,
                gettext("next try %s") % display.until(state.exhausted_until),
            )
        return display.coloured(gettext("fine"), display.GREEN)

    def more_context(self) -> dict[str, Any]:
        """Say above the list why nothing is sent, if so."""
        aliases, refusal = display.known_engines()
        if not aliases and not refusal:
            refusal = gettext("No engine is configured in SITEMAPS_PLUS['ENGINES'].")
        return {"sitemaps_refusal": refusal}


def _count(found: QuerySet[Submission]) -> Any:
    """Return how many rows there are, as an expression."""
    grouped = found.order_by().values("engine").annotate(n=Count("pk"))
    return Coalesce(Subquery(grouped.values("n")), 0)
