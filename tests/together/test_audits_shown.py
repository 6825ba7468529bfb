"""What the overview and the story of a URL say of audits."""

from __future__ import annotations

import time
from typing import Any

import pytest

from django_sitemaps_plus.contrib.audit.models import Audit, Finding
from django_sitemaps_plus.db import digest_of
from django_sitemaps_plus.models import UrlChange
from tests.contrib.insight import test_overview as overview
from tests.contrib.insight.test_pages import text
from tests.contrib.insight.test_story import Notes, story
from tests.support.helpers import run_command
from tests.support.outbox_world import BASE, happened
from tests.testapp.models import Note

pytestmark = pytest.mark.django_db(databases=["default", "other"])

site = overview.site


def audited(**values: Any) -> Audit:
    """Store an audit that began now."""
    now = time.time()
    return Audit.objects.create(**{"started_at": now, "finished_at": now, **values})


def test_the_last_audit_is_shown_and_a_strict_policy_forbids_nothing(site: Any) -> None:
    assert "No audit was run yet." in overview.index()
    sections = {"article": [25, 0], "static": [2, 0]}
    counts = {"sitemaps_plus.A031": {"article": 3}, "sitemaps_plus.A017": {"static": 1}}
    audited(finished_at=time.time() - 90, sections=sections, counts=counts)
    html = text("")
    shown = overview.words(html)
    for said in (
        "static found 3 errors: lastmods in the future. Seen: what is listed",
        "article, static what is listed 1 minute ago 3 errors, 1 warning",
        "lastmods in the future error 3 article",
    ):
        assert said in shown
    assert "finding/?kind=sitemaps_plus.A031" in html
    overview.is_strict(text("finding/"))


def test_a_story_has_what_was_found_and_what_audits_looked_at(register: Any) -> None:
    register("notes", Notes)
    Note.objects.create(number=1)
    run_command("build_sitemaps")
    UrlChange.objects.all().delete()
    url = "/en/notes/1/"
    assert "Not audited since it was listed" in story(url)
    for fetched, count, said in (
        ("", 0, "Only its entry was audited. It was not fetched."),
        ("live", 3, "3 of 10 URLs of its section were fetched, maybe not this one."),
        ("live", 10, "Its entry and its response were audited."),
    ):
        audit = audited(fetched=fetched, sections={"notes": [10, count]})
        assert said in story(url)
    Finding.objects.create(
        audit=audit,
        kind="sitemaps_plus.A031",
        level="error",
        section="notes",
        url=f"{BASE}{url}",
        digest=digest_of(url),
        text="lastmod is tomorrow",
    )
    found = "lastmods in the future · lastmod is tomorrow sitemaps_plus.A031 error"
    assert found in story(url)
    happened(url, section="notes", kind=UrlChange.Kind.ADDED, at=time.time() + 1)
    assert "Not audited since it was listed" in story(url)
    assert "Audits only read what is listed." in story("/nothing/")
