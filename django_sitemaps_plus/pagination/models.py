"""
The ledger's tables: how each section is divided into pages, and what each was.

Times are seconds since the epoch (UTC), so that neither ``USE_TZ`` nor a change
of the clock to winter makes two of them compare falsely.
"""

from __future__ import annotations

from typing import Any, ClassVar

from django.db import models
from django.db.models import F

from django_sitemaps_plus.db import DatabaseTime


class SectionQuerySet(models.QuerySet["Section"]):
    """Moves of a section's state."""

    def take_lease(self, pk: int, owner: str, seconds: float) -> bool:
        """Take the lease of section ``pk`` for ``seconds``, unless another has it."""
        free = self.filter(pk=pk, lease_until__lt=DatabaseTime()) | self.filter(
            pk=pk, lease_owner=owner
        )
        return bool(
            free.update(lease_owner=owner, lease_until=DatabaseTime() + seconds)
        )

    def drop_lease(self, pk: int, owner: str) -> None:
        """Give the lease back; one that was lost meanwhile stays with its owner."""
        self.filter(pk=pk, lease_owner=owner).update(lease_owner="", lease_until=0)

    def take_numbers(self, section: Section, owner: str, count: int) -> int | None:
        """
        Take ``count`` page numbers, as the lease's owner; return the first.

        None means that the lease was lost: whoever asked must not go on.
        """
        first = section.next_number
        taken = self.filter(pk=section.pk, lease_owner=owner, next_number=first).update(
            next_number=first + count
        )
        if not taken:
            return None
        section.next_number = first + count
        return first


class Section(models.Model):
    """A registered section. The one with the empty name stands for the site."""

    name = models.CharField(max_length=100, unique=True)
    #: The key's signature: bounds made for another key are void.
    key = models.CharField(max_length=255, default="", blank=True)
    #: Page numbers are given out from here and never again.
    next_number = models.PositiveIntegerField(default=1)
    #: Whether the bounds of all pages have been found.
    filled = models.BooleanField(default=False)
    #: Whether the section's address holds an index (it stays one for a while).
    is_index = models.BooleanField(default=False)
    lease_owner = models.CharField(max_length=32, default="", blank=True)
    lease_until = models.FloatField(default=0)
    #: Who remakes pages whose rows changed: one at a time, beside the requests.
    refresh_owner = models.CharField(max_length=32, default="", blank=True)
    refresh_until = models.FloatField(default=0)
    #: The definition of the newest code, and when that code was started: what runs
    #: beside it in a deploy serves the newest code's pages, and does not remake them.
    digest = models.CharField(max_length=64, default="", blank=True)
    digest_since = models.FloatField(default=0)
    #: Until when it was asked which items appeared or expired.
    ticked_at = models.FloatField(default=0)
    #: When it was last confirmed that what is gone is gone on purpose.
    confirmed_at = models.FloatField(default=0)

    objects: ClassVar[models.Manager[Section]] = models.Manager.from_queryset(
        SectionQuerySet
    )()

    class Meta:
        # Said here, contrib's views work without the app in INSTALLED_APPS.
        app_label = "sitemaps_plus"

    def __str__(self) -> str:
        return self.name or "the site"


class PageQuerySet(models.QuerySet["Page"]):
    """Moves of a page's state."""

    def claim(self, pk: int, owner: str, seconds: float) -> bool:
        """Become the one who makes page ``pk``, for ``seconds`` at most."""
        free = self.filter(pk=pk, making_until__lt=DatabaseTime())
        return bool(free.update(making_by=owner, making_until=DatabaseTime() + seconds))

    def release(self, pk: int, owner: str) -> None:
        """Give up the claim on page ``pk``; another's stays."""
        self.filter(pk=pk, making_by=owner).update(making_by="", making_until=0)

    def made(self, page: Page, **changes: Any) -> bool:
        """
        Write what was found out about ``page``, if nobody else did meanwhile.

        The version counts up where ``changes`` has a checksum, of what is served or of
        what is listed.
        """
        if changes.keys() & {"checksum", "listed"}:
            changes["version"] = F("version") + 1
        return bool(self.filter(pk=page.pk, version=page.version).update(**changes))


class Page(models.Model):
    """
    One sitemap file of a section: the keys from ``lower`` to the next page's.

    ``number`` is its name for ever; ``position`` orders the pages of a section by
    their keys, with room between them for the pages that a split makes.
    """

    section = models.ForeignKey(Section, on_delete=models.CASCADE, related_name="pages")
    number = models.PositiveIntegerField()
    position = models.BigIntegerField()
    #: The first key that belongs here, as ``Key.dumps`` writes it. Null: −∞.
    lower = models.TextField(null=True, blank=True)  # noqa: DJ001 (null is −∞)

    #: Counts up whenever the bytes or the bounds change.
    version = models.PositiveIntegerField(default=0)
    #: The definition that the bytes were made by.
    digest = models.CharField(max_length=64, default="", blank=True)
    #: Of the origin-neutral bytes. Empty: never made.
    checksum = models.CharField(max_length=64, default="", blank=True)
    #: Null until the page is first made.
    entries = models.PositiveIntegerField(null=True, blank=True)
    #: Rows of the page's range, good and bad, when it was last made.
    items = models.PositiveIntegerField(default=0)
    #: The newest lastmod among the entries.
    newest = models.FloatField(null=True, blank=True)
    #: Uncompressed bytes.
    size = models.PositiveBigIntegerField(default=0)
    #: The newest lastmod ever seen or change ever observed; never goes back.
    lastmod = models.FloatField(null=True, blank=True)
    changed_at = models.FloatField(default=0)
    verified_at = models.FloatField(default=0)
    #: Until then a page that was split keeps the bytes it had.
    grace_until = models.FloatField(default=0)
    #: Since a split: the checksum of bytes, kept but not served, that hold what this
    #: page alone lists. Empty: those that are served do.
    listed = models.CharField(max_length=64, default="", blank=True)

    bad = models.PositiveIntegerField(default=0)
    #: The first bad rows: ``[[key, reason], …]``.
    problems = models.JSONField(default=list, blank=True)
    #: Why the page could not be made, if it could not.
    error = models.TextField(default="", blank=True)

    making_by = models.CharField(max_length=32, default="", blank=True)
    making_until = models.FloatField(default=0)

    objects: ClassVar[models.Manager[Page]] = models.Manager.from_queryset(
        PageQuerySet
    )()

    class Meta:
        app_label = "sitemaps_plus"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            models.UniqueConstraint(
                fields=["section", "number"], name="sitemaps_plus_page_number"
            ),
        ]
        indexes: ClassVar[list[models.Index]] = [
            models.Index(
                fields=["section", "position"], name="sitemaps_plus_page_position"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.section}-{self.number}"
