"""The tables of changes: what to look at again, and what happened to URLs."""

from __future__ import annotations

from typing import ClassVar

from django.db import models
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus import hooks
from django_sitemaps_plus.sitemaps.site_rows import SiteRow, index, unique


class Change(SiteRow):
    """
    "Look at this key again": an object was saved or deleted, or keys were touched.

    A hint, written after the commit. It is deleted when its page is built.
    """

    section = models.CharField(_("section"), max_length=100)
    #: The key concerned, as ``Key.dumps`` writes it. Empty: the whole section.
    key = models.TextField(blank=True, default="")
    #: The last key concerned, where it is a range of them.
    upto = models.TextField(null=True, blank=True)  # noqa: DJ001 (null is no range)
    #: The label of another model on which rows of the section depend; ``key`` is then
    #: its primary key.
    related = models.CharField(max_length=100, blank=True, default="")
    #: Whether the signal said that the object is new.
    created = models.BooleanField(default=False)
    #: Seconds since the epoch, by the database's clock.
    at = models.FloatField()
    #: The number of the page that owns the key. Null: not assigned yet.
    page = models.PositiveIntegerField(_("page"), null=True, blank=True)

    class Meta:
        app_label = "sitemaps_plus"
        indexes: ClassVar[list[models.Index]] = [
            index("sitemaps_plus_change_page", "site", "section", "page", "id"),
        ]
        verbose_name = _("waiting change")
        verbose_name_plural = _("waiting changes")

    def __str__(self) -> str:
        return f"{self.section} {self.key}"


class UrlChange(SiteRow):
    """
    What a page said of a URL: listed newly, with other contents, or no longer.

    Whether a removed one is listed nowhere, the gate decides. Locations are paths on
    the site's origin, or whole URLs of another.
    """

    class Kind(models.TextChoices):
        """What happened."""

        ADDED = "added", _("added")
        CHANGED = "changed", _("changed")
        REMOVED = "removed", _("removed")

    #: Seconds for which the rows are stored at least: long enough to see in the admin
    #: what happened last weekend, and to notify an engine that did not answer for days.
    #: What was not submitted by then, crawlers have found in the sitemap.
    KEEP = 7 * 86_400

    section = models.CharField(_("section"), max_length=100)
    kind = models.CharField(max_length=7, choices=Kind.choices)
    location = models.TextField()
    #: Of the location, for the index.
    digest = models.CharField(max_length=32)
    #: The entry's lastmod, a W3C Datetime, and its title for feeds; empty if not known.
    lastmod = models.CharField(max_length=40, blank=True, default="")
    title = models.CharField(max_length=200, blank=True, default="")
    #: Seconds since the epoch, by the database's clock.
    at = models.FloatField()
    #: Too many URLs were removed at once: it waits until somebody confirms them.
    on_hold = models.BooleanField(default=False)
    #: When the gate (``delivery.gate``) passed it on. Null: not yet.
    queued_at = models.FloatField(null=True, blank=True)
    #: When ``urls_changed`` may be sent for it, or when the claim of a process that is
    #: sending it ends. Null: it was sent, or nobody listened.
    announce_at = models.FloatField(null=True, blank=True)

    class Meta:
        app_label = "sitemaps_plus"
        indexes: ClassVar[list[models.Index]] = [
            index("sitemaps_plus_url_location", "digest", "at"),
            index("sitemaps_plus_url_change", "site", "section", "kind", "at"),
            index("sitemaps_plus_url_queue", "site", "queued_at", "on_hold", "id"),
            # What is newest, of the site and of a section.
            index("sitemaps_plus_url_newest", "site", "at"),
            index("sitemaps_plus_url_section", "site", "section", "at"),
            index("sitemaps_plus_url_announce", "site", "announce_at", "id"),
        ]
        verbose_name = _("URL change")
        verbose_name_plural = _("URL changes")

    def __str__(self) -> str:
        return f"{self.kind}: {self.location}"

    @classmethod
    def stored_for(cls) -> float:
        """Return for how many seconds rows are stored: longer where an app asks."""
        return max(cls.KEEP, hooks.looks_back())


class RelatedState(SiteRow):
    """
    What a related object had in the fields that a section's entries read.

    With it a save that changed none of them rebuilds nothing, and nothing has to be
    read before the save.
    """

    section = models.CharField(max_length=100)
    model = models.CharField(max_length=100)
    key = models.CharField(max_length=255)
    #: A fingerprint of the fields; of an object that belongs to one row, its key.
    state = models.CharField(max_length=255)

    class Meta:
        app_label = "sitemaps_plus"
        constraints: ClassVar[list[models.BaseConstraint]] = [
            unique("sitemaps_plus_related", "site", "section", "model", "key"),
        ]

    def __str__(self) -> str:
        return f"{self.model} {self.key}"
