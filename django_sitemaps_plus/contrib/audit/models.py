"""The tables of audits: when each ran, what it covered, and what it found."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.sitemaps.site_rows import SiteRow

from .kinds import LEVELS, FindingKind, known, number_of


class _BySection(models.JSONField):
    """
    A dict by section or id, of which each value ``is_sound``.

    What is not, for the row was damaged, is read as if it were not there.
    """

    def __init__(self, is_sound: Callable[[Any], bool] = bool, **kwargs: Any) -> None:
        self.is_sound = is_sound
        super().__init__(**{**kwargs, "default": dict})

    def from_db_value(self, *args: Any) -> dict[str, Any]:
        stored = super().from_db_value(*args)
        items = stored.items() if isinstance(stored, dict) else ()
        return {name: one for name, one in items if self.is_sound(one)}

    def deconstruct(self) -> Any:
        name, _, args, kwargs = super().deconstruct()
        return name, "django.db.models.JSONField", args, kwargs


def _are_two_numbers(one: Any) -> bool:
    return isinstance(one, list) and [*map(type, one)] == [int, int]


def _are_numbers(one: Any) -> bool:
    return isinstance(one, dict) and {*map(type, one.values())} <= {int, float}


def _are_rows(one: Any) -> bool:
    rows = one.get("rows") if isinstance(one, dict) and "definition" in one else None
    return isinstance(rows, dict) and all(
        isinstance(row, list) and [*map(type, row[1:])] == [dict, list]
        for row in rows.values()
    )


class Audit(SiteRow):
    """One run of ``check_sitemaps``."""

    class Fetched(models.TextChoices):
        """Whether the listed URLs were fetched, and how."""

        NOTHING = "", "not fetched"
        IN_PROCESS = "process", "fetched in process"
        LIVE = "live", "fetched over HTTP"
        CRAWLED = "crawl", "robots.txt and sitemaps read as a crawler"

    #: Seconds since the epoch, by the clock of the host that ran it.
    started_at = models.FloatField()
    finished_at = models.FloatField()
    #: The sections whose pages were all read, ``{name: [URLs listed, URLs fetched]}``.
    sections = _BySection(_are_two_numbers)
    fetched = models.CharField(
        max_length=7, choices=Fetched.choices, blank=True, default=""
    )
    #: How many URLs are listed, and how many of them were fetched.
    urls = models.PositiveBigIntegerField(default=0)
    fetched_urls = models.PositiveBigIntegerField(default=0)
    #: How many things were found, of each level.
    errors = models.PositiveBigIntegerField(default=0)
    warnings = models.PositiveBigIntegerField(default=0)
    #: The same by id and section, ``{id: {section: number}}``: not each is stored.
    counts = _BySection(_are_numbers)
    #: How long answers took, ``{section: {"p50": seconds, "p95": …, "max": …}}``.
    times = _BySection(_are_numbers)
    #: What it ended before it looked at, in a sentence; empty if it looked at all.
    missed = models.TextField(blank=True, default="")
    #: Rows that the next audit looks at again: see ``contrib.audit.rows``.
    remembered = _BySection(_are_rows)

    #: Whether Ctrl+C or SIGTERM ended it just now; not stored.
    was_interrupted = False
    #: Whether it ended because the site wants fewer requests; not stored.
    was_refused = False

    class Meta:
        app_label = "sitemaps_plus_audit"
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["site", "id"], name="sitemaps_plus_audit_site"),
        ]

    def __str__(self) -> str:
        return f"Audit {self.pk}"

    def add_up(self, counts: dict[str, dict[str, int]]) -> None:
        """Write how much was found, by kind and section, and so of each level."""
        self.counts = counts
        self.errors, self.warnings = (number_of(level, counts) for level in LEVELS)


class Finding(models.Model):
    """Something that an audit found: of a URL, of a page or of a section."""

    audit = models.ForeignKey(Audit, on_delete=models.CASCADE, related_name="findings")
    #: An id of ``kinds.known()``.
    kind = models.CharField(max_length=30)
    #: "error" or "warning".
    level = models.CharField(max_length=7)
    section = models.CharField(_("section"), max_length=100, blank=True)
    #: The page that lists the URL: "article-3". Empty where it is of the whole section.
    page = models.CharField(max_length=120, blank=True)
    #: The key of the row; empty if it is not known.
    row = models.CharField(max_length=255, blank=True)
    #: The whole URL; empty if it is of a page or a section.
    url = models.TextField(blank=True)
    #: Of the URL, as ``UrlChange.digest``, for the index.
    digest = models.CharField(max_length=32, blank=True)
    #: What is wrong, in a few words.
    text = models.TextField(_("details"), blank=True)

    class Meta:
        app_label = "sitemaps_plus_audit"
        indexes: ClassVar[list[models.Index]] = [
            models.Index(fields=["digest"], name="sitemaps_plus_audit_url"),
        ]
        verbose_name = _("finding")
        verbose_name_plural = _("findings")

    def __str__(self) -> str:
        return f"{self.kind} {self.url or self.page or self.section}"

    @property
    def about(self) -> FindingKind:
        """What it means, and how to correct it."""
        return known()[self.kind]
