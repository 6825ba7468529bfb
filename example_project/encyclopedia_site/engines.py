"""
IndexNow for a site whose public name leads nowhere: for a show on one machine.

A real site names ``django_sitemaps_plus.engines.indexnow.IndexNow`` itself.
"""

from __future__ import annotations

from dataclasses import dataclass

from django_sitemaps_plus.engines.base import CheckResult
from django_sitemaps_plus.engines.indexnow import IndexNow


@dataclass(frozen=True, kw_only=True)
class LocalIndexNow(IndexNow):
    """Looks for the key file where the server listens, not under the public name."""

    #: Scheme, address and port of this site's server.
    server: str

    def verify(self, origin: str, *, force: bool = False) -> CheckResult:
        """Fetch the key file; on this machine its address may well be private."""
        return super().verify(self.server, force=True)
