"""
Claims: for a while one process of all hosts has a row, by the database's clock.

It gives the row back, or renews its claim. That of a process that died ends by itself.
"""

from __future__ import annotations

from typing import Any, TypeVar

from django.db import models
from django.db.models import Q

from .db import DatabaseTime

Row = TypeVar("Row", bound="Claimed")


class ClaimQuerySet(models.QuerySet[Row]):
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


class Claimed(models.Model):
    """A row that one process of all has for a while."""

    #: Empty: nobody has it.
    claimed_by = models.CharField(max_length=32, default="", blank=True)
    #: Until when, in seconds since the epoch; or from when on, after it was given back.
    claimed_until = models.FloatField(default=0)

    class Meta:
        abstract = True
