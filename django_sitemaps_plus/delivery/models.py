"""
The outbox: what engines are told, what they answered, and how they stand.

Times are seconds since the epoch by the database's clock. Moves of a state are
methods here, so that each is one condition and one statement.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from django.db import models, transaction
from django.db.models import Case, F, Value, When
from django.db.models.functions import Greatest

#: Rows of one statement.
ROWS = 500
#: What a submission of the same again has from the first.
_REPEATED = ("engine", "url", "digest", "host", "kind", "section")


def digest_of(url: str) -> str:
    """Return what stands for a URL in an index: URLs are too long for one."""
    return hashlib.blake2b(url.encode(), digest_size=16).hexdigest()


class Claimed(NamedTuple):
    """What a deliverer needs to know of a submission that it has claimed."""

    pk: int
    url: str
    kind: str
    attempts: int
    created_at: float


class SubmissionQuerySet(models.QuerySet["Submission"]):
    """Moves of a submission's state."""

    def waiting(self, engine: str, host: str) -> SubmissionQuerySet:
        """Return what is to be told to an engine, now or later."""
        return self.filter(engine=engine, host=host, due_at__isnull=False)

    def due(
        self, engine: str, host: str, now: float, sections: Iterable[str] = ()
    ) -> SubmissionQuerySet:
        """Return what may be claimed: of some sections, or of all."""
        found = self.filter(engine=engine, host=host, due_at__lte=now)
        return found.filter(section__in=list(sections)) if sections else found

    def claim(self, ids: Sequence[int], owner: str, until: float, now: float) -> None:
        """
        Become the one who submits what is due, until a time at most.

        What another was quicker to claim is left out. Raises ``RuntimeError`` within
        a transaction: it has to be committed before anything is sent.
        """
        with transaction.atomic(using=self.db, durable=True):
            for some in _chunks(ids):
                self.filter(pk__in=some, due_at__lte=now).update(
                    state=Submission.State.SENDING,
                    claimed_by=owner,
                    due_at=until,
                    sent_at=now,
                    again=False,
                    attempts=F("attempts") + 1,
                )

    def claimed(self, ids: Sequence[int], owner: str) -> Iterator[Claimed]:
        """Yield those of some submissions that ``owner`` has claimed."""
        for some in _chunks(ids):
            # In order: the same submissions make the same request.
            mine = self.filter(pk__in=some, claimed_by=owner).order_by("pk")
            yield from map(Claimed._make, mine.values_list(*Claimed._fields))

    def settle(
        self, ids: Sequence[int], owner: str, state: str, interval: float, **told: Any
    ) -> None:
        """
        Write a final answer down; what changed again meanwhile waits anew.

        A claim that was lost is another's: nothing of it is written.
        """
        final = {"state": state, "due_at": None, "live": None, "claimed_by": "", **told}
        with transaction.atomic(using=self.db):
            for some in _chunks(ids):
                mine = self.filter(pk__in=some, claimed_by=owner)
                mine.filter(again=False).update(**final)
                # Only those are left that changed again while they were sent.
                rows = list(mine.values(*_REPEATED))
                if rows:
                    mine.update(**final)
                    self._repeat(rows, told["answered_at"], interval)

    def _repeat(
        self, rows: Iterable[Mapping[str, Any]], now: float, interval: float
    ) -> None:
        self.bulk_create(
            (Submission(**row, created_at=now, due_at=now + interval) for row in rows),
            ignore_conflicts=True,
        )

    def put_back(
        self, ids: Sequence[int], owner: str, due_at: float, **told: Any
    ) -> None:
        """Let what could not be told now be told later: it waits again."""
        with transaction.atomic(using=self.db):
            for some in _chunks(ids):
                self.filter(pk__in=some, claimed_by=owner).update(
                    state=Submission.State.PENDING,
                    due_at=due_at,
                    claimed_by="",
                    again=False,
                    **told,
                )

    def retry(self, pk: int, due_at: float, now: float) -> bool:
        """Have what is settled be told once more; False where it waits already."""
        row = self.filter(pk=pk, live=None).values_list("engine", "digest").first()
        every = Submission.objects.using(self.db)
        if (
            row is None
            or every.filter(engine=row[0], digest=row[1], live=True).exists()
        ):
            return False
        return bool(
            self.filter(pk=pk, live=None).update(
                state=Submission.State.PENDING,
                live=True,
                due_at=due_at,
                created_at=now,
                attempts=0,
            )
        )


def _chunks(ids: Sequence[int]) -> Iterator[Sequence[int]]:
    return (ids[start : start + ROWS] for start in range(0, len(ids), ROWS))


class Submission(models.Model):
    """
    One URL that one engine is told of, and what it answered.

    Of a URL one row at most waits for each engine, which the constraint on ``live``
    ensures: what changes meanwhile joins it.
    """

    class Kind(models.TextChoices):
        """Why an engine is told."""

        ADDED = "added"
        CHANGED = "changed"
        REMOVED = "removed"
        SITEMAP = "sitemap"
        REQUESTED = "requested"

    class State(models.TextChoices):
        """How it stands."""

        PENDING = "pending"
        SENDING = "sending"
        ACCEPTED = "accepted"
        REJECTED = "rejected"
        FAILED = "failed"

    #: The alias in the settings.
    engine = models.CharField(max_length=100)
    url = models.TextField("URL")
    #: Of the URL, for the index.
    digest = models.CharField(max_length=32)
    #: With the port, unless it is the scheme's own.
    host = models.CharField(max_length=255)
    kind = models.CharField(max_length=9, choices=Kind.choices)
    section = models.CharField(max_length=100, blank=True, default="")

    state = models.CharField(max_length=8, choices=State.choices, default=State.PENDING)
    #: True until the answer is final, then null: nulls are not compared.
    live = models.BooleanField(null=True, default=True)
    #: When it may be claimed; null if it is settled. A claim lasts until then.
    due_at = models.FloatField(null=True, blank=True)
    claimed_by = models.CharField(max_length=32, blank=True, default="")
    #: The URL changed again while it was being sent.
    again = models.BooleanField(default=False)
    attempts = models.PositiveIntegerField(default=0)

    created_at = models.FloatField()
    sent_at = models.FloatField(null=True, blank=True)
    answered_at = models.FloatField(null=True, blank=True)

    #: The last answer: HTTP status, the beginning of its body, what it means.
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    excerpt = models.TextField(blank=True, default="")
    message = models.TextField(blank=True, default="")
    #: How long it took.
    seconds = models.FloatField(null=True, blank=True)

    objects: ClassVar[models.Manager[Submission]] = models.Manager.from_queryset(
        SubmissionQuerySet
    )()

    class Meta:
        app_label = "sitemaps_plus"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["digest", "engine", "live"], name="sitemaps_plus_one_waits"
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["engine", "host", "due_at"], name="sitemaps_plus_due"),
            # What failed is looked for among very many that were accepted.
            models.Index(fields=["state", "id"], name="sitemaps_plus_outcome"),
        ]

    def __str__(self) -> str:
        return f"{self.engine}: {self.url}"


class EngineStateQuerySet(models.QuerySet["EngineState"]):
    """Moves of an engine's state."""

    def ensure(self, engine: str, hosts: Iterable[str]) -> None:
        """Make the rows that are not there yet."""
        wanted = set(hosts)
        known = self.filter(engine=engine, host__in=wanted)
        missing = wanted - set(known.values_list("host", flat=True))
        if missing:
            self.bulk_create(
                (EngineState(engine=engine, host=host) for host in sorted(missing)),
                ignore_conflicts=True,
            )

    def verified(self, pk: int, proof: str, now: float, *, mended: bool) -> None:
        """
        Remember that an engine will find what proves that the host is ours.

        ``mended``: it did not before, and was left alone for that. Where the engine
        refused for all that, the failures count on.
        """
        rest = {"problem": "", "failures": 0, "paused_until": 0} if mended else {}
        self.filter(pk=pk).update(verified=proof, verified_at=now, **rest)

    def unverified(
        self, pk: int, problem: str, paused_until: float, failures: int
    ) -> None:
        """Wait: an engine would not find the proof."""
        self.filter(pk=pk).update(
            verified="",
            problem=problem,
            failures=failures,
            paused_until=Greatest("paused_until", Value(paused_until)),
        )

    def answered(self, pk: int, *, succeeded: bool, now: float, **told: Any) -> None:
        """
        Note a final answer: the engine can be reached.

        A pause that another deliverer was told of meanwhile holds all the same.
        """
        if succeeded:
            told["succeeded_at"] = now
        paused = When(paused_until__gt=now, then=F("paused_until"))
        self.filter(pk=pk).update(
            answered_at=now,
            failures=0,
            paused_until=Case(paused, default=Value(0.0)),
            **told,
        )

    def pause(
        self, pk: int, until: float, now: float, failures: int, **told: Any
    ) -> None:
        """
        Leave an engine alone for a while; not shorter than another was told to.

        ``failures`` is one more than were known: of several deliverers that fail at
        the same moment only one counts.
        """
        if told["status"] in (401, 403):
            # Whoever is not let in had better look at the proof again.
            told["verified"] = ""
        self.filter(pk=pk).update(
            answered_at=now,
            failures=failures,
            paused_until=Greatest("paused_until", Value(until)),
            **told,
        )

    def is_paused(self, pk: int, now: float) -> bool:
        """Tell whether an engine is left alone, perhaps since a moment ago."""
        return self.filter(pk=pk, paused_until__gt=now).exists()


class EngineState(models.Model):
    """What is known of one engine and one of our hosts."""

    engine = models.CharField(max_length=100)
    host = models.CharField(max_length=255)
    #: A digest of the proof that was found good; another must be verified again.
    verified = models.CharField(max_length=32, blank=True, default="")
    verified_at = models.FloatField(default=0)
    #: Why nothing is submitted; empty if nothing keeps it.
    problem = models.TextField(blank=True, default="")
    paused_until = models.FloatField(default=0)
    #: Answers without success, one after the other: each pause is longer.
    failures = models.PositiveIntegerField(default=0)
    #: The last answer.
    answered_at = models.FloatField(default=0)
    status = models.PositiveSmallIntegerField(null=True, blank=True)
    message = models.TextField(blank=True, default="")
    succeeded_at = models.FloatField(default=0)

    objects: ClassVar[models.Manager[EngineState]] = models.Manager.from_queryset(
        EngineStateQuerySet
    )()

    class Meta:
        app_label = "sitemaps_plus"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["engine", "host"], name="sitemaps_plus_engine"
            ),
        ]
        verbose_name = "engine"

    def __str__(self) -> str:
        return f"{self.engine} ({self.host})"
