"""The settings of this app: ``INSPECTIONS``."""

from __future__ import annotations

from dataclasses import dataclass

from django_sitemaps_plus.conf import AppSettings, app_settings, refusal

#: What Google allows a day for a property, whoever asks.
_MOST = 2_000


@dataclass(frozen=True, kw_only=True)
class Settings(AppSettings):
    """The settings of this app, checked."""

    #: URLs that Search Console may be asked about a day, of the 2,000 that Google
    #: allows: other tools of the property's owners need some. 0: none.
    INSPECTIONS: int = 500

    def __post_init__(self) -> None:
        """Refuse a number that Google does."""
        super().__post_init__()
        if not 0 <= self.INSPECTIONS <= _MOST:
            problem = f"is {self.INSPECTIONS}; use 0 to {_MOST}: Google allows no more."
            raise refusal(problem, "INSPECTIONS")


def inspections() -> int:
    """Return how many URLs may be inspected a day."""
    return app_settings(Settings).INSPECTIONS
