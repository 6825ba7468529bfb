"""
The tables of what changed, and of what happened to URLs.

Times are seconds since the epoch (UTC), as in ``pagination.models``.
"""

from __future__ import annotations

from typing import ClassVar

from django.db import models


class Change(models.Model):
    """
    "Look at this key again": an object was saved or deleted, or keys were touched.

    It lies in the object's database and commits, or not, with the object. There is
    no reference to the ledger, which may lie in another database.
    """

    section = models.CharField(max_length=100)
    #: The key concerned, as ``Key.dumps`` writes it. Empty: the whole section.
    key = models.TextField(blank=True, default="")
    #: The last key concerned, where it is a range of them.
    upto = models.TextField(null=True, blank=True)  # noqa: DJ001 (null is no range)
    #: Where the object was listed before, a JSON list of paths, one a language.
    #: An empty list: it was not listed. Null: not known.
    old = models.TextField(null=True, blank=True)  # noqa: DJ001 (null is unknown)
    #: Set: ``old`` is a list of the columns of which a location is made, in the way
    #: that has this digest.
    definition = models.CharField(  # noqa: DJ001 (null is a list of paths)
        max_length=16, null=True, blank=True
    )
    #: Seconds since the epoch, by the database's clock.
    at = models.FloatField()
    #: False: written just before the object, which may not be committed yet.
    settled = models.BooleanField(default=True)
    #: The number of the page that owns the key. Null: not looked for yet.
    page = models.PositiveIntegerField(null=True, blank=True)

    class Meta:
        app_label = "sitemaps_plus"
        indexes: ClassVar[list[models.Index]] = [
            # With the number: a page's oldest changes are claimed first.
            models.Index(
                fields=["section", "page", "id"], name="sitemaps_plus_change_page"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.section} {self.key}"


class UrlChange(models.Model):
    """
    What happened to a URL: added, changed, moved or gone.

    The stream that tells search engines drains, in the order of ``id``. Locations
    are paths on the site's origin, or whole URLs of another.
    """

    class Kind(models.TextChoices):
        """What happened."""

        ADDED = "added"
        CHANGED = "changed"
        MOVED = "moved"
        GONE = "gone"

    section = models.CharField(max_length=100)
    kind = models.CharField(max_length=7, choices=Kind.choices)
    location = models.TextField()
    #: Where it was before, if it moved.
    former = models.TextField(blank=True, default="")
    #: Seconds since the epoch.
    at = models.FloatField()
    #: Too much went at once: it waits until somebody confirms that it shall be told.
    held = models.BooleanField(default=False)
    #: When engines were asked to be told of it. Null: not yet.
    queued_at = models.FloatField(null=True, blank=True)

    class Meta:
        app_label = "sitemaps_plus"
        indexes: ClassVar[list[models.Index]] = [
            models.Index(
                fields=["section", "kind", "at"], name="sitemaps_plus_url_change"
            ),
            models.Index(
                fields=["queued_at", "held", "id"], name="sitemaps_plus_url_queue"
            ),
        ]
        verbose_name = "URL change"
        verbose_name_plural = "URL changes"

    def __str__(self) -> str:
        return f"{self.kind}: {self.location}"
