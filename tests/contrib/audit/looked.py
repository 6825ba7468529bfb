"""Audits that were stored, as tests want them, and what a new one says."""

from __future__ import annotations

import json
import time
from typing import Any

from django_sitemaps_plus.contrib.audit.models import Audit
from django_sitemaps_plus.contrib.audit.queries import store
from tests.support.helpers import run_command


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


def audit(*arguments: str) -> dict[str, Any]:
    """Return what an audit says, as JSON."""
    out, _, _ = run_command("check_sitemaps", *arguments, "--format", "json")
    found: dict[str, Any] = json.loads(out)["audit"]
    return found


def findings(*arguments: str) -> list[dict[str, Any]]:
    """Return what an audit finds."""
    found: list[dict[str, Any]] = audit(*arguments)["findings"]
    return found


def kinds_found(*arguments: str) -> list[str]:
    return [one["id"] for one in findings(*arguments)]
