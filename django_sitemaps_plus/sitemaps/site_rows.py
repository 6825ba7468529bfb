"""What all tables have in common whose rows belong to one site of the project."""

from __future__ import annotations

from typing import Self, TypeVar

from django.db import models, router

from django_sitemaps_plus.claims import Claimed, ClaimQuerySet

from .site import Site

Row = TypeVar("Row", bound=models.Model)
Mine = TypeVar("Mine", bound=Claimed)


def current_key() -> str:
    """Return the key of the site that is worked for."""
    return Site.current().key


class SiteQuerySet(models.QuerySet[Row]):
    """Rows of one site, or of all: whoever asks says of which."""

    def of_all_sites(self) -> Self:
        """Return the rows of whichever site."""
        return self.all()

    def on_site(self) -> Self:
        """Return the rows of the site that is worked for."""
        return self.filter(site=Site.current().key)


class SiteClaimQuerySet(SiteQuerySet[Mine], ClaimQuerySet[Mine]):  # type: ignore[override]  # a manager of each
    """Rows of sites that one process of all has for a while."""


class SiteManager(models.Manager[Row]):
    """Rows in the database for writing: a replica may be behind."""

    def get_queryset(self) -> models.QuerySet[Row]:
        """Return all rows."""
        using = self._db or router.db_for_write(self.model)
        return super().get_queryset().using(using)


class SiteRow(models.Model):
    """A row of one site."""

    #: The ``key`` of the site.
    site = models.CharField(max_length=50, blank=True, default=current_key)

    objects = SiteManager.from_queryset(SiteQuerySet)()

    class Meta:
        abstract = True
