"""
What tables have in common: whose site a row is, and which process has it for a while.

A claim is of one process of all hosts, by the database's clock. It gives the row back,
or renews its claim; that of a process that died ends by itself.
"""

from __future__ import annotations

from typing import Any, Self, TypeVar

from django.db import models, router
from django.db.models import Q

from django_sitemaps_plus.db import DatabaseTime

from .site import Site

_Row = TypeVar("_Row", bound=models.Model)
_Mine = TypeVar("_Mine", bound="Claimed")


def current_key() -> str:
    """Return the key of the site that is worked for."""
    return Site.current().key


def unique(name: str, *fields: str) -> models.UniqueConstraint:
    """Return the constraint that no two rows have the same values in some columns."""
    return models.UniqueConstraint(fields=fields, name=name)


def index(name: str, *fields: str) -> models.Index:
    """Return an index of some columns, in their order."""
    return models.Index(fields=fields, name=name)


class SiteQuerySet(models.QuerySet[_Row]):
    """Rows of one site, or of all: whoever asks says of which."""

    def of_all_sites(self) -> Self:
        """Return the rows of whichever site."""
        return self.all()

    def on_site(self) -> Self:
        """Return the rows of the site that is worked for."""
        return self.filter(site=Site.current().key)


class ClaimQuerySet(models.QuerySet[_Mine]):
    """How rows are claimed: each by one statement with its condition."""

    def free(self) -> Q:
        """Return the condition that nobody has a row any more."""
        return Q(claimed_until__lt=DatabaseTime())

    def take(self, owner: str, seconds: float, *, at_once: bool = False) -> bool:
        """
        Claim rows for some seconds; return whether one was free, or is the owner's.

        ``at_once``: also those that were given back for later.
        """
        free = self.free() | Q(claimed_by=owner)
        if at_once:
            free |= Q(claimed_by="")
        return bool(self.filter(free).update(**claim_of(owner, seconds)))

    def renew(self, owner: str, seconds: float, **values: Any) -> bool:
        """Keep a claim for some seconds from now; return whether it was not lost."""
        mine, claim = self.filter(claimed_by=owner), claim_of(owner, seconds)
        return bool(mine.update(**claim, **values))

    def release(self, owner: str, seconds: float = 0) -> None:
        """Give a claim up, for whoever comes after some seconds; another's stays."""
        until = DatabaseTime() + seconds if seconds else 0
        self.filter(claimed_by=owner).update(claimed_by="", claimed_until=until)


def claim_of(owner: Any, seconds: Any) -> dict[str, Any]:
    """Return what is written into a row that is claimed from now on."""
    return {"claimed_by": owner, "claimed_until": DatabaseTime() + seconds}


class SiteManager(models.Manager[_Row]):
    """Rows in the database for writing: a replica may be behind."""

    def get_queryset(self) -> models.QuerySet[_Row]:
        """Return all rows."""
        using = self._db or router.db_for_write(self.model)
        return super().get_queryset().using(using)


class Claimed(models.Model):
    """A row that one process of all has for a while."""

    #: Empty: nobody has it.
    claimed_by = models.CharField(max_length=32, default="", blank=True)
    #: Until when, in seconds since the epoch; or from when on, after it was given back.
    claimed_until = models.FloatField(default=0)

    objects = SiteManager.from_queryset(ClaimQuerySet)()

    class Meta:
        abstract = True


class SiteClaimQuerySet(  # type: ignore[override]  # of as_manager()
    SiteQuerySet[_Mine], ClaimQuerySet[_Mine]
):
    """Rows of sites that one process of all has for a while."""


class SiteRow(models.Model):
    """A row of one site."""

    #: The ``key`` of the site.
    site = models.CharField(max_length=50, blank=True, default=current_key)

    objects = SiteManager.from_queryset(SiteQuerySet)()

    class Meta:
        abstract = True


class SiteClaimed(SiteRow, Claimed):
    """A row of one site that one process of all has for a while."""

    objects = SiteManager.from_queryset(SiteClaimQuerySet)()  # type: ignore[assignment,misc]  # more methods

    class Meta:
        abstract = True
