"""
The tables of pages: how each section is divided, and what is known of each page.

Times are seconds since the epoch (UTC), so that neither ``USE_TZ`` nor a change
of the clock to winter makes two of them compare falsely.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Self

from django.db import connections, models, transaction
from django.db.models import F, Value
from django.db.models.functions import Coalesce, Greatest
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.db import DatabaseTime, Stopwatch
from django_sitemaps_plus.prepared import Prepared, Slot, Step, run_all, update
from django_sitemaps_plus.sitemaps.site_rows import (
    Claimed,
    ClaimQuerySet,
    SiteClaimQuerySet,
    SiteManager,
    SiteRow,
    claim_of,
    current_key,
    index,
    unique,
)


class SectionQuerySet(SiteClaimQuerySet["Section"]):  # type: ignore[override]  # as above
    """Changes of a section's state. Its claim is its lease."""

    def take_wait(self, pk: int, seconds: float) -> bool:
        """Let section ``pk`` wait for ``seconds`` at most, unless it does already."""
        free = self.filter(pk=pk, waiting_until__lt=DatabaseTime())
        return bool(free.update(waiting_until=DatabaseTime() + seconds))

    def take_numbers(self, section: Section, owner: str, count: int) -> int | None:
        """
        Take ``count`` page numbers, as the lease's owner; return the first.

        None means that the lease was lost: whoever asked must not go on.
        """
        # As it stands: the caller's row may be that of a transaction that was undone.
        row = self.filter(pk=section.pk, claimed_by=owner)
        first = row.values_list("next_number", flat=True).first()
        if first is None:
            return None
        taken = row.filter(next_number=first).update(next_number=first + count)
        section.next_number = first + count
        return first if taken else None


class Section(SiteRow, Claimed):
    """
    A registered section. The one with the empty name stands for the site.

    Whoever claims it changes the boundaries; the site's, rebuilds pages at leisure.
    """

    name = models.CharField(_("name"), max_length=100)
    #: The key's signature: boundaries found for another key are void.
    key = models.CharField(max_length=255, default="", blank=True)
    #: Page numbers are given out from here and never again.
    next_number = models.PositiveIntegerField(default=1)
    #: Whether the boundaries of all pages have been found.
    filled = models.BooleanField(default=False)
    #: When they were last found damaged, and forgotten; 0: never.
    damaged_at = models.FloatField(default=0)
    #: Why its changes could not be assigned; empty if the last ones were.
    failure = models.TextField(default="", blank=True)
    #: Whether the section's address holds an index (it stays one for a while).
    is_index = models.BooleanField(default=False)
    #: The site's: until when a request waits for a page that another builds.
    waiting_until = models.FloatField(default=0)
    #: The definition of the newest code, when that was started, and when code with
    #: this definition last said that it runs (see ``pagination.deploys``).
    digest = models.CharField(max_length=64, default="", blank=True)
    digest_since = models.FloatField(default=0)
    digest_seen = models.FloatField(default=0)
    #: When a server or a worker last did; 0: only commands have.
    digest_served = models.FloatField(default=0)
    #: Until when it was asked which items appeared or expired.
    ticked_at = models.FloatField(default=0)
    #: When somebody last confirmed that removed URLs were removed on purpose.
    confirmed_at = models.FloatField(default=0)
    #: How many URLs it listed on the last days, by the date (see ``lately``).
    listed = models.JSONField(default=dict, blank=True)
    #: The site's: what was found wrong over the network, until that is looked at again,
    #: ``{of: [[text, seconds], …]}``. Of the site, or of an engine by its alias.
    checked = models.JSONField(default=dict, blank=True)
    #: The site's: when what is done once an hour was last done.
    tended_at = models.FloatField(default=0)

    objects = SiteManager.from_queryset(SectionQuerySet)()  # type: ignore[assignment,misc]  # more methods

    class Meta:
        # Set explicitly so that contrib's views work without the app in INSTALLED_APPS.
        app_label = "sitemaps_plus"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            # By the name first: a save is recorded for every site that has the name.
            unique("sitemaps_plus_section_name", "name", "site"),
        ]
        verbose_name = _("section")
        verbose_name_plural = _("sections")

    def __str__(self) -> str:
        return self.name or "the site"

    def is_filled(self, signature: str) -> bool:
        """Return whether all boundaries are known, and found for a key's signature."""
        return self.filled and self.key == signature


class PageQuerySet(ClaimQuerySet["Page"]):
    """Changes of a page's state."""

    def on_site(self, names: Iterable[str] | str | None = None) -> Self:
        """Return the pages of the site's sections: of one, of some, or of all."""
        key = current_key()
        if names is None:
            return self.filter(section__site=key)
        some = [names] if isinstance(names, str) else list(names)
        return self.filter(section__site=key, section__name__in=some)

    def claim(self, page: Page, owner: str, seconds: float) -> bool:
        """
        Become the one who builds ``page``, for ``seconds`` at most.

        Unless another is, or has looked at it since it was read.
        """
        read = {"version": page.version, "verified_at": page.verified_at}
        claimed = _CLAIM.run(self.db, pk=page.pk, owner=owner, seconds=seconds, **read)
        return bool(claimed)

    def claim_new(self, found: Sequence[Page], owner: str, seconds: float) -> bool:
        """Become the one who builds those pages that were never built, as ``claim``."""
        new = self.these(found).filter(checksum="", error="")
        free, values = new.filter(self.free()), claim_of(owner, seconds)
        features = connections[self.db].features
        if not features.has_select_for_update:
            return bool(free.update(**values))
        # Locked in one order, or two that claim the same pages wait for each other.
        skips = features.has_select_for_update_skip_locked
        with transaction.atomic(using=self.db):
            locked = free.order_by("pk").select_for_update(skip_locked=skips)
            mine = list(locked.values_list("pk", flat=True))
            return bool(self.filter(pk__in=mine).update(**values))

    def these(self, found: Sequence[Page]) -> PageQuerySet:
        """Return some pages as they are stored."""
        return self.filter(pk__in=[page.pk for page in found])

    def write(self, page: Page, **values: Any) -> bool:
        """
        Write what was found out about ``page``, if nobody else did since it was read.

        The version counts up where ``values`` has a checksum; the lastmod does not go
        back.
        """
        return any(run_all(self.db, [writing(page, values)]))

    def mark(self) -> int:
        """Have pages compared with their rows; returns how many."""
        # The version too: whoever is building one of them has read its rows already.
        return self.update(verified_at=0, version=F("version") + 1)


def writing(page: Page, values: Mapping[str, Any]) -> Step:
    """Return the step that writes a page: see ``PageQuerySet.write``."""
    read = {"read_version": page.version, "read_read_at": page.read_at}
    return Step(_WRITE, tuple(values), {"pk": page.pk, **read, **values})


def _claim_query() -> Any:
    read = Page.objects.filter(
        pk=Slot("pk"), version=Slot("version"), verified_at=Slot("verified_at")
    )
    return update(
        read.filter(read.free()),
        **claim_of(Slot("owner"), Slot("seconds", models.FloatField())),
    )


def _write_query(*names: str) -> Any:
    read = Page.objects.filter(
        pk=Slot("pk"), version=Slot("read_version"), read_at=Slot("read_read_at")
    )
    values: dict[str, Any] = {
        name: Slot(name, Page._meta.get_field(name)) for name in names
    }
    if "lastmod" in values:
        known = Coalesce(F("lastmod"), Value(0.0))
        values["lastmod"] = Greatest(known, values["lastmod"])
    if "checksum" in values:
        values["version"] = F("version") + 1
    return update(read, **values)


_CLAIM, _WRITE = Prepared(_claim_query), Prepared(_write_query)


class Page(Claimed):
    """
    One sitemap file of a section: the keys from ``lower`` to the next page's.

    ``number`` is its name for ever; ``position`` orders the pages of a section by
    their keys, with room between them for the pages that a split adds. Whoever claims
    it builds it.
    """

    section = models.ForeignKey(
        Section,
        on_delete=models.CASCADE,
        related_name="pages",
        verbose_name=_("section"),
        # A constraint below begins with it: a second index would only cost.
        db_index=False,
    )
    number = models.PositiveIntegerField(_("number"))
    position = models.BigIntegerField()
    #: The first key that belongs here, as ``Key.dumps`` writes it. Null: −∞.
    lower = models.TextField(null=True, blank=True)  # noqa: DJ001 (null is −∞)

    #: Counts up whenever the bytes or the boundaries change.
    version = models.PositiveIntegerField(_("version"), default=0)
    #: The definition that the bytes were built by.
    digest = models.CharField(max_length=64, default="", blank=True)
    #: Of the origin-neutral bytes. Empty: never built.
    checksum = models.CharField(_("checksum"), max_length=64, default="", blank=True)
    #: Null until the page is first built.
    entries = models.PositiveIntegerField(null=True, blank=True)
    #: Rows of the page's range, good and bad, when it was last built.
    items = models.PositiveIntegerField(default=0)
    #: The newest lastmod among the entries.
    newest = models.FloatField(null=True, blank=True)
    #: Uncompressed bytes.
    size = models.PositiveBigIntegerField(default=0)
    #: The newest lastmod or change ever seen; never goes back.
    lastmod = models.FloatField(null=True, blank=True)
    changed_at = models.FloatField(default=0)
    #: When it was last compared with its rows; 0: it has to be.
    verified_at = models.FloatField(default=0)
    #: When the rows of what is stored were read, by the database's clock.
    read_at = models.FloatField(default=0)
    #: When it was last built without a former listing to compare with, by the
    #: database's clock; and whether the gate (``delivery.gate``) has searched it since.
    unknown_at = models.FloatField(default=0)
    searched = models.BooleanField(default=True)
    #: When its stored bytes were last found missing or damaged; 0: never.
    lost_at = models.FloatField(default=0)
    #: When it was last rebuilt at leisure.
    refreshed_at = models.FloatField(default=0)
    #: When a request last found it missing or stale.
    asked_at = models.FloatField(default=0)

    bad = models.PositiveIntegerField(default=0)
    #: The first bad rows: ``[[key, reason], …]``.
    problems = models.JSONField(default=list, blank=True)
    #: Why the page could not be built, if it could not, and how often in a row.
    error = models.TextField(_("error"), default="", blank=True)
    failures = models.PositiveIntegerField(default=0)

    # Not columns, but what ``storing.freshness.page_rows`` reads with them:
    #: Whether a change may concern the page, and whether its section has some of which
    #: the page is not known. True where nobody looked.
    waits, unassigned = True, True
    #: The next page's ``lower``, and the primary key of the section's first page: see
    #: ``pagination.queries``.
    upper: str | None = None
    first: int | None = None
    #: The database's clock since it was read, and its bytes with their checksum, where
    #: these were read with it (``storing.storage``).
    watch: Stopwatch | None = None
    stored: tuple[str, Any] = ("", None)

    objects = SiteManager.from_queryset(PageQuerySet)()  # type: ignore[assignment,misc]  # more methods

    class Meta:
        app_label = "sitemaps_plus"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            unique("sitemaps_plus_page_number", "section", "number"),
            unique("sitemaps_plus_page_position", "section", "position"),
        ]
        indexes: ClassVar[list[models.Index]] = [
            index("sitemaps_plus_page_searched", "searched"),
        ]
        verbose_name = _("sitemap page")
        verbose_name_plural = _("sitemap pages")

    def __str__(self) -> str:
        return f"{self.section}-{self.number}"

    @property
    def left_out(self) -> list[tuple[str, str]]:
        """The rows and reasons of ``problems``, as far as they can be read."""
        rows = self.problems if isinstance(self.problems, list) else []
        pairs = (row for row in rows if isinstance(row, list) and len(row) == 2)
        return [(str(label), str(reason)) for label, reason in pairs]
