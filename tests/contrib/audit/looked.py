"""Audits that were stored, as tests want them."""

from __future__ import annotations

import time
from typing import Any

from django_sitemaps_plus.contrib.audit.models import Audit
from django_sitemaps_plus.contrib.audit.queries import store


def audited(kind: str = "", section: str = "article", **values: Any) -> None:
    """Store an audit that found three URLs of a kind, or nothing."""
    fetched = values.get("fetched_urls", 0)
    values = {"sections": {"article": [25, fetched]}, "urls": 25, **values}
    counts = {kind: {section: 3}} if kind else {}
    audit = Audit(started_at=1, finished_at=time.time() - 600, counts=counts, **values)
    audit.errors = 3 if kind else 0
    store(audit, [])


def look_at_everything() -> None:
    """Store audits that looked in each way, and found nothing."""
    audited()
    audited(fetched="live", fetched_urls=25)
    audited(fetched="crawl", fetched_urls=4, urls=4, sections={})
