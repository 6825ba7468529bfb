"""
The outbox: what is submitted to engines, what they answered, and how they are doing.

Times are seconds since the epoch, by the database's clock. Each change of a state is
a method here: one statement with its condition.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from django.db import models, transaction
from django.db.models import Case, Count, F, Min, OuterRef, Q, QuerySet, Subquery, When
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.db import DatabaseTime, parts, retried
from django_sitemaps_plus.sitemaps.site_rows import (
    SiteManager,
    SiteQuerySet,
    SiteRow,
    index,
    unique,
)

#: No time lies further ahead: the longest wait, and as much for clocks that differ.
_AHEAD = 2 * 86_400.0
#: Seconds after which what is due should have been submitted, a page with new rows
#: rebuilt, and an engine that fails should work again.
LATE = 900.0
#: What the state of an engine says that works.
_WORKS = {"problem": "", "failures": 0, "failing_since": 0}
#: What a submission takes over from an earlier one of the same URL.
_REPEATED = ("engine", "url", "digest", "host", "section")


class SubmissionQuerySet(SiteQuerySet["Submission"]):
    """How a submission's state changes."""

    def of_engine(self) -> SubmissionQuerySet:
        """Return those to the engine and the host of an outer query."""
        return self.filter(engine=OuterRef("engine"), host=OuterRef("host"))

    def number(self) -> Coalesce:
        """Return how many of ``of_engine`` there are, as an expression."""
        grouped = self.order_by().values("engine").annotate(n=Count("pk"))
        return Coalesce(Subquery(grouped.values("n")), 0)

    @retried
    def sent_with_first(self) -> SubmissionQuerySet:
        """Return what was sent together with the first, or all that never was."""
        for sent_at in self.values_list("sent_at", flat=True)[:1]:
            return self.filter(sent_at=sent_at)
        return self

    @retried
    def claim(
        self, ids: Sequence[int], owner: str, until: float, now: float
    ) -> list[Submission]:
        """
        Claim what is due of some submissions, until a time, and return it.

        What a process had claimed that was killed is sent as it may have been sent
        then; what happened since is sent after it.

        What somebody else has claimed meanwhile is left out. Raises ``RuntimeError``
        within a transaction: the claim must be committed before anything is sent. Run
        once more, it returns what was claimed the first time.
        """
        with transaction.atomic(using=self.db, durable=True):
            for some in parts(ids):
                self.filter(pk__in=some, due_at__lte=now).update(
                    state=Submission.State.SENDING,
                    claimed_by=owner,
                    due_at=until,
                    sent_at=now,
                    attempts=F("attempts") + 1,
                )
        # In a fixed order: the same submissions make the same request.
        mine = self.filter(claimed_by=owner).order_by("pk")
        mine = mine.only("url", "kind", "deferred", "attempts", "created_at")
        return [row for some in parts(ids) for row in mine.filter(pk__in=some)]

    @retried
    def numbers(self, most: int) -> list[int]:
        """Return the numbers of so many submissions, in their order."""
        return list(self.values_list("pk", flat=True)[:most])

    @retried
    def settle(
        self, ids: Sequence[int], owner: str, state: str, interval: float, **answer: Any
    ) -> None:
        """
        Store a final answer; URLs that changed again meanwhile wait again.

        Submissions that ``owner`` has lost to somebody else are left alone.
        """
        final = {"state": state, "due_at": None, "live": None, "claimed_by": ""}
        final |= answer
        with transaction.atomic(using=self.db):
            for some in parts(ids):
                mine = self.filter(pk__in=some, claimed_by=owner)
                mine.filter(again="").update(**final)
                # What is left changed again while it was being sent.
                rows = list(mine.values(*_REPEATED, "again"))
                if rows:
                    mine.update(**final)
                    now = answer["answered_at"]
                    later = {"created_at": now, "due_at": now + interval}
                    new = (
                        Submission(kind=row.pop("again"), **row, **later)
                        for row in rows
                    )
                    self.bulk_create(new, ignore_conflicts=True)

    @retried
    def put_back(
        self, ids: Sequence[int], owner: str, due_at: float, **answer: Any
    ) -> None:
        """
        Give back what was claimed and not settled: it waits until ``due_at``.

        What happened meanwhile counts, but nobody has heard yet that a URL was added.
        """
        with transaction.atomic(using=self.db):
            for some in parts(ids):
                self.filter(pk__in=some, claimed_by=owner).update(
                    kind=_kind_now(),
                    state=Submission.State.PENDING,
                    due_at=due_at,
                    claimed_by="",
                    again="",
                    **answer,
                )


def _kind_now() -> Case:
    """
    Return what is to be said of a URL to which something happened meanwhile.

    To be set before ``again``: MySQL assigns in this order, and reads what it assigned.
    """
    kinds = Submission.Kind
    is_same = Q(again__in=["", kinds.REQUESTED])
    is_same |= Q(kind=kinds.ADDED, again=kinds.CHANGED)
    return Case(When(is_same, then=F("kind")), default=F("again"))


class Submission(SiteRow):
    """
    One URL for one engine, and its answer.

    At most one row of a URL waits for each engine, by the constraint on ``live``:
    further changes join that row.
    """

    class Kind(models.TextChoices):
        """Why a URL is submitted."""

        ADDED = "added", _("added")
        CHANGED = "changed", _("changed")
        REMOVED = "removed", _("removed")
        SITEMAP = "sitemap", _("sitemap")
        FEED = "feed", _("feed")
        DOCUMENT = "document", _("document")
        REQUESTED = "requested", _("requested")

    class State(models.TextChoices):
        """The state of a submission."""

        PENDING = "pending", _("waiting")
        SENDING = "sending", _("being sent")
        ACCEPTED = "accepted", _("accepted")
        REJECTED = "rejected", _("rejected")
        FAILED = "failed", _("given up")

    #: The alias in the settings.
    engine = models.CharField(_("engine"), max_length=100)
    url = models.TextField("URL")
    #: Of the URL, for the index.
    digest = models.CharField(max_length=32)
    #: With the port, unless it is the scheme's default.
    host = models.CharField(_("host"), max_length=255)
    kind = models.CharField(max_length=9, choices=Kind.choices)
    section = models.CharField(_("section"), max_length=100, blank=True, default="")

    state = models.CharField(
        _("state"), max_length=8, choices=State.choices, default=State.PENDING
    )
    #: True until the answer is final, then null, which the constraint ignores.
    live = models.BooleanField(null=True, default=True)
    #: When it may be claimed, or when its claim ends; null once it is settled.
    due_at = models.FloatField(null=True, blank=True)
    claimed_by = models.CharField(max_length=32, blank=True, default="")
    #: What happened to the URL while it was being sent; empty for nothing.
    again = models.CharField(max_length=9, blank=True, default="")
    #: The engine looked at the URL, and wants to look again before it is submitted.
    deferred = models.BooleanField(default=False)
    attempts = models.PositiveIntegerField(_("attempts"), default=0)

    created_at = models.FloatField()
    sent_at = models.FloatField(null=True, blank=True)
    answered_at = models.FloatField(null=True, blank=True)

    #: The last answer: HTTP status, the start of its body, and what it means.
    status = models.PositiveSmallIntegerField(_("status"), null=True, blank=True)
    excerpt = models.TextField(blank=True, default="")
    message = models.TextField(_("message"), blank=True, default="")
    #: How long the request took.
    seconds = models.FloatField(null=True, blank=True)

    objects = SiteManager.from_queryset(SubmissionQuerySet)()  # type: ignore[assignment,misc]  # more methods

    class Meta:
        app_label = "sitemaps_plus"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            unique("sitemaps_plus_one_waits", "digest", "engine", "site", "live"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            index("sitemaps_plus_due", "site", "engine", "host", "due_at"),
            # Failures are looked up among very many that were accepted.
            index("sitemaps_plus_outcome", "site", "state", "id"),
            index("sitemaps_plus_sent", "site", "sent_at"),
        ]
        verbose_name = _("submission")
        verbose_name_plural = _("submissions")

    def __str__(self) -> str:
        return f"{self.engine}: {self.url}"


class _Time(models.FloatField):  # type: ignore[type-arg]  # not at runtime
    """A time; where a row is damaged, one that cannot be is read as none."""

    def from_db_value(self, value: float | None, *_: object) -> float | None:
        return value if value is None or 0 <= value <= time.time() + _AHEAD else 0.0

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.FloatField", args, kwargs


def _if_later(name: str, than: float, now: float, default: float = 0.0) -> Case:
    """Keep a time that is later than another; one that cannot be is none."""
    possible = {f"{name}__gt": than, f"{name}__lte": now + _AHEAD}
    return Case(When(**possible, then=F(name)), default=default)


def _waiting(sections: Sequence[str]) -> SubmissionQuerySet:
    rows = submissions().of_engine().filter(due_at__isnull=False)
    return rows.filter(section__in=sections) if sections else rows


class EngineStateQuerySet(SiteQuerySet["EngineState"]):
    """How an engine's state changes."""

    def with_first_due(self, sections: Sequence[str] = ()) -> QuerySet[Any]:
        """
        Add when the first submission that waits may be sent, as ``first_due``.

        Of some sections, or of all. None where nothing waits.
        """
        first = _waiting(sections).order_by("due_at").values("due_at")[:1]
        found: QuerySet[Any] = self.annotate(first_due=Subquery(first))
        return found

    def with_waiting(self, sections: Sequence[str] = ()) -> QuerySet[Any]:
        """
        Add how many submissions wait, as ``waiting_n``, and ``first_due``.

        ``late_n`` have been due for ``LATE`` seconds; the first that waits was created
        at ``waiting_since``.
        """
        # Subqueries of their own: by one, SQLite reads all rows.
        waiting = _waiting(sections)
        overdue = waiting.filter(due_at__lt=DatabaseTime() - LATE)
        # By its id, which is in the index: for its time all rows would be read.
        ids = waiting.order_by().values("engine").annotate(first=Min("pk"))
        oldest = submissions().filter(pk=OuterRef("oldest"))
        found: QuerySet[Any] = self.with_first_due(sections).annotate(
            waiting_n=waiting.number(),
            late_n=overdue.number(),
            oldest=Subquery(ids.values("first")),
            waiting_since=Subquery(oldest.values("created_at")),
        )
        return found

    def ensure(self, engine: str, hosts: Iterable[str]) -> None:
        """Create the rows that do not exist yet."""
        wanted = set(hosts)
        existing = self.filter(engine=engine, host__in=wanted)
        missing = wanted - set(existing.values_list("host", flat=True))
        if missing:
            new = (EngineState(engine=engine, host=host) for host in sorted(missing))
            self.bulk_create(new, ignore_conflicts=True)

    @retried
    def verified(self, proof: str, now: float, *, fixed: bool) -> None:
        """
        Store that the ownership proof was found.

        ``fixed`` ends the pause of a proof that was missing before. The pauses of an
        engine that refuses all the same go on growing.
        """
        rest = {**_WORKS, "paused_until": 0} if fixed else {}
        self.update(verified=proof, verified_at=now, **rest)

    @retried
    def answered(self, *, succeeded: bool, now: float, **answer: Any) -> None:
        """
        Store a final answer: the engine works.

        A pause that another process was asked for meanwhile stays.
        """
        if succeeded:
            answer["succeeded_at"] = answer["answered_at"]
        paused_until = _if_later("paused_until", now, now)
        self.update(paused_until=paused_until, **_WORKS, **answer)

    @retried
    def pause(self, until: float, now: float, failures: int, **values: Any) -> None:
        """
        Pause, at least until a time; a longer pause stays.

        ``values`` are those of the answer, if there was one. ``problem`` among them is
        what somebody has to act on; empty if it may pass. ``failures`` is one more than
        the caller knew of: several processes that fail at the same moment count as one.
        """
        if values.get("status") in (401, 403):
            # Access was denied: the ownership proof has to be verified again.
            values["verified"] = ""
        self.update(
            failures=failures,
            failing_since=_if_later("failing_since", 0, now, now),
            paused_until=_if_later("paused_until", until, now, until),
            **values,
        )

    @retried
    def exhausted(self, until: float, now: float, **answer: Any) -> None:
        """Store that the engine takes no more URLs until a time, at least."""
        exhausted_until = _if_later("exhausted_until", until, now, until)
        self.update(exhausted_until=exhausted_until, **_WORKS, **answer)

    @retried
    def is_paused(self, now: float) -> bool:
        """Return whether an engine is paused, perhaps since a moment ago."""
        times = {"paused_until__gt": now, "paused_until__lte": now + _AHEAD}
        return self.filter(**times).exists()


class EngineState(SiteRow):
    """How one engine is doing for one of the site's hosts."""

    engine = models.CharField(_("engine"), max_length=100)
    host = models.CharField(_("host"), max_length=255)
    #: A digest of the ownership proof that was verified; empty if none was.
    verified = models.CharField(max_length=32, blank=True, default="")
    verified_at = _Time(default=0)
    #: Why nothing can be submitted; empty if something can.
    problem = models.TextField(blank=True, default="")
    paused_until = _Time(default=0)
    #: Until when no URLs are submitted, though sitemaps are: the quota is used up.
    exhausted_until = _Time(default=0)
    #: Failures in a row, of which each makes the pause longer, and since when.
    failures = models.PositiveIntegerField(_("failures in a row"), default=0)
    failing_since = _Time(default=0)
    #: The last answer.
    answered_at = _Time(default=0)
    status = models.PositiveSmallIntegerField(_("status"), null=True, blank=True)
    message = models.TextField(_("message"), blank=True, default="")
    succeeded_at = _Time(default=0)

    objects = SiteManager.from_queryset(EngineStateQuerySet)()  # type: ignore[assignment,misc]  # more methods

    class Meta:
        app_label = "sitemaps_plus"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            unique("sitemaps_plus_engine", "site", "engine", "host"),
        ]
        verbose_name = _("search engine")
        verbose_name_plural = _("search engines")

    def __str__(self) -> str:
        return f"{self.engine} ({self.host})"


def submissions() -> SubmissionQuerySet:
    """Return the site's submissions."""
    return Submission.objects.on_site()


def engine_states() -> EngineStateQuerySet:
    """Return how engines are doing for the site."""
    return EngineState.objects.on_site()
