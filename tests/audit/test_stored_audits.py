"""Audits that are stored: found by URL, from the newest that can know, and pruned."""

from __future__ import annotations

from typing import Any

import pytest

from django_sitemaps_plus.audit import kinds
from django_sitemaps_plus.audit.queries import KEPT, findings_of, last_audit, store
from django_sitemaps_plus.models import Audit, Finding
from django_sitemaps_plus.sitemaps.site import working_for

pytestmark = pytest.mark.django_db

SITE = "https://www.example.com"


def run(*kinds_found: str, fetched: str = "", section: str = "article") -> Audit:
    """Store an audit that found these kinds of things of one URL."""
    audit = Audit(started_at=1, finished_at=2, sections=[section], fetched=fetched)
    url = f"{SITE}/a/"
    findings = [
        Finding(kind=kind, level="error", section=section, url=url)
        for kind in kinds_found
    ]
    store(audit, findings)
    return audit


def known(url: str) -> list[str]:
    return [finding.kind for finding in findings_of(url)]


def test_a_url_is_found_as_a_path_or_as_a_whole() -> None:
    run(kinds.SESSION)
    assert known("/a/") == known(f"{SITE}/a/") == [kinds.SESSION]
    assert known("/b/") == known("https://elsewhere.example/a/") == []
    assert findings_of("/a/")[0].about.level == "error"


def test_what_the_newest_audit_of_the_section_does_not_find_is_corrected() -> None:
    run(kinds.SESSION)
    run(section="pages")
    assert known("/a/") == [kinds.SESSION]
    run()
    assert known("/a/") == []


def test_an_audit_that_fetches_nothing_does_not_hide_what_the_last_answers_showed() -> (
    None
):
    run(kinds.SESSION, kinds.NOINDEX, fetched="live")
    run(kinds.TRACKING)
    assert sorted(known("/a/")) == sorted([kinds.NOINDEX, kinds.TRACKING])
    run(fetched="process")
    assert known("/a/") == []


def test_old_audits_are_deleted_and_those_that_fetched_are_counted_apart() -> None:
    first = run(fetched="live")
    for _ in range(KEPT + 3):
        last = run(kinds.SESSION)
    assert Audit.objects.count() == KEPT + 1
    assert Audit.objects.filter(pk=first.pk).exists()
    assert Finding.objects.count() == KEPT
    assert last_audit() == last


def test_an_audit_is_of_one_site(settings: Any) -> None:
    run(kinds.SESSION)
    with working_for("another"):
        assert last_audit() is None
        assert known("/a/") == []
