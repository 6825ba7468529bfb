"""What was submitted to engines, and how they are doing."""

from __future__ import annotations

import time
from operator import attrgetter, methodcaller
from typing import Any, ClassVar

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.contrib.insight import retrying
from django_sitemaps_plus.contrib.insight.retrying import with_pause
from django_sitemaps_plus.db import digest_of
from django_sitemaps_plus.delivery.engines import EngineHealth, engines
from django_sitemaps_plus.models import EngineState, Submission
from django_sitemaps_plus.sitemaps.site import SiteAddress

from . import base, display
from .check import check_page
from .definitions import definitions
from .export import Columns, time_of


class SentFilter(base.DayFilter):
    """By the day on which it was sent."""

    title = _("sent")
    field = "sent_at"


@admin.register(Submission)
class SubmissionAdmin(base.Exported):
    """What was submitted, or waits to be submitted, and what engines answered."""

    rows = staticmethod(Submission.objects.on_site)
    list_display = (
        "address",
        "state_shown",
        "created_ago",
        "engine",
        "kind_shown",
    )
    # An index begins with each of them.
    list_filter = (base.EngineFilter, "state", SentFilter)
    search_fields = ("url",)
    list_display_links = ("engine",)
    ordering = ("-pk",)
    actions = ("retry",)
    fields = (
        "address",
        "engine",
        "host",
        "kind_shown",
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

    columns: ClassVar[Columns] = {
        _("URL"): attrgetter("url"),
        _("engine"): attrgetter("engine"),
        _("what"): methodcaller("get_kind_display"),
        _("section"): attrgetter("section"),
        _("state"): methodcaller("get_state_display"),
        _("status"): attrgetter("status"),
        _("message"): attrgetter("message"),
        _("created"): lambda row: time_of(row.created_at),
        _("answered"): lambda row: time_of(row.answered_at),
    }

    address = display.column("url", _("URL"), display.link)
    kind_shown = display.column("get_kind_display", _("what"), lambda shown: shown())
    created_ago, created = display.times("created_at", _("created"))
    due = display.column(
        "due_at", _("due"), lambda at: display.exactly(at) if at else "–"
    )
    sent = display.column("sent_at", _("sent"), display.when)
    answered = display.column("answered_at", _("answered"), display.when)
    took = display.column(
        "seconds", _("took"), lambda s: "–" if s is None else f"{s:.2f} s"
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return the submissions, each with the time until which its engine pauses."""
        return with_pause(super().get_queryset(request))

    def more_context(self) -> dict[str, Any]:
        """Say above the list what new definitions of sections changed."""
        return {"sitemaps_notes": list(definitions())}

    def of_url(
        self, queryset: QuerySet[Any], location: str, site: SiteAddress
    ) -> QuerySet[Any]:
        """Return the submissions of a URL."""
        return queryset.filter(digest=digest_of(site.url(location)))

    @admin.display(description=_("state"))
    def state_shown(self, row: Any) -> str:
        """Return the state in a word, when it is due, and the last answer."""
        parts = [row.message]
        if row.state == Submission.State.PENDING and row.due_at is not None:
            parts.insert(0, display.due(row))
        rest = " · ".join(filter(None, parts))
        return display.state(row.get_state_display(), row.state, rest)

    @admin.display(description=_("why it waits"))
    def reason(self, row: Submission) -> str:
        """Return what keeps it from being submitted."""
        if row.due_at is None or row.state != Submission.State.PENDING:
            return "–"
        states = EngineState.objects.on_site()
        known = states.filter(engine=row.engine, host=row.host).first()
        paused = known is not None and known.paused_until > time.time()
        said = (known.problem or (known.message if paused else "")) if known else ""
        return said or display.known_engines()[1] or _rest(row) or "–"

    @admin.display(description=_("answer"))
    def answer(self, row: Submission) -> str:
        """Return what was stored of the answer's body, as it is."""
        if not row.excerpt:
            return "–"
        return format_html('<pre class="sitemaps-answer">{}</pre>', row.excerpt)

    @admin.action(
        description=_("Submit these again, where they were rejected or given up"),
        permissions=["act"],
    )
    def retry(self, request: HttpRequest, queryset: QuerySet[Submission]) -> None:
        """Submit once more what was rejected or failed."""
        done = retrying.retry(queryset)
        text = ngettext(
            "%d URL will be submitted again.", "%d URLs will be submitted again.", done
        )
        self.message_user(request, text % done)


def _rest(row: Submission) -> str:
    """Return when the same was sent, if it is too early to send it again."""
    same = Submission.objects.on_site().filter(
        engine=row.engine, digest=row.digest, live=None
    )
    answered = same.filter(answered_at__isnull=False).order_by("-pk")
    sent = answered.values_list("answered_at", flat=True).first()
    if sent is None or not row.due_at or row.due_at <= time.time():
        return ""
    return format_html(gettext("The same URL was submitted {}."), display.ago(sent))


@admin.register(EngineState)
class EngineStateAdmin(base.ReadOnly):
    """How each engine stands, at a glance."""

    views: ClassVar[dict[str, str]] = {"check": "run_check"}
    change_list_template = "django_sitemaps_plus/admin/engine_list.html"
    list_display = (
        "__str__",
        "health",
        "waiting",
        "succeeded_ago",
        "answered_ago",
    )
    ordering = ("engine", "host")
    fields = (
        "engine",
        "host",
        "health",
        "waiting",
        "failed",
        "verified_when",
        "succeeded",
        "answered",
        "status",
        "message",
        "failures",
    )

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return the states with the number of what waits, and of what failed."""
        rows = Submission.objects.on_site().of_engine()
        failed = rows.filter(state=Submission.State.FAILED)
        states = EngineState.objects.on_site().with_waiting()
        return states.annotate(failed_n=failed.number())

    def run_check(self, request: HttpRequest) -> HttpResponse:
        """Check site and engines where somebody asks for it, by a POST."""
        if not self.has_act_permission(request):
            raise PermissionDenied
        if request.method != "POST":
            app = self.admin_site.name
            args = [self.opts.app_label]
            return redirect(reverse("admin:app_list", args=args, current_app=app))
        return base.of_site(request, lambda: check_page(request, self.admin_site))

    waiting = display.column("waiting_n", _("waiting"), display.number)
    failed = display.column("failed_n", _("given up"), display.number)
    succeeded_ago, succeeded = display.times("succeeded_at", _("last success"))
    answered_ago, answered = display.times("answered_at", _("last answer"))
    verified_when = display.column("verified_at", _("ownership verified"), display.when)

    @admin.display(description=_("health"))
    def health(self, state: EngineState) -> str:
        """Return in words how it is doing, and why."""
        aliases, refusal = display.known_engines()
        known = {alias: engines()[alias] for alias in aliases}
        return display.health(EngineHealth.of(state, refusal, known))

    def more_context(self) -> dict[str, Any]:
        """Say above the list why nothing is sent, if so."""
        aliases, refusal = display.known_engines()
        if not aliases and not refusal:
            refusal = gettext("No engine is configured in SITEMAPS_PLUS['ENGINES'].")
        return {"sitemaps_refusal": refusal}
