"""The list of what audits found, in the admin."""

from __future__ import annotations

import time
from typing import Any

import pytest

from django_sitemaps_plus.contrib.audit.kinds import known
from django_sitemaps_plus.contrib.audit.models import Audit, Finding
from django_sitemaps_plus.contrib.audit.queries import store
from tests.contrib.audit import kinds
from tests.contrib.insight import test_lists as lists
from tests.contrib.insight.test_overview import words
from tests.contrib.insight.test_pages import Small, text
from tests.support.outbox_world import BASE, use

pytestmark = pytest.mark.django_db(databases=["default", "other"])


def found(kind: str, url: str, section: str = "article", **values: Any) -> Finding:
    level = known()[kind].level
    url = f"{BASE}{url}"
    return Finding(kind=kind, level=level, section=section, url=url, **values)


def audited(*findings: Finding, section: str = "article", **values: Any) -> None:
    """Store an audit, at which nothing is counted but what is named."""
    counts: dict[str, dict[str, int]] = {}
    for one in findings:
        counts.setdefault(one.kind, {})[one.section] = 1
    sections = {section: [9, 9 if values.get("fetched") else 0]}
    now = time.time()
    given = {"sections": sections, "counts": counts, **values}
    store(Audit(started_at=now, finished_at=now, **given), findings)


@pytest.fixture
def findings(register: Any, settings: Any) -> None:
    """What audits found of two sections, once by fetching."""
    use(settings, one="Few")
    register("article", Small)
    register("other", Small)
    audited(found(kinds.SESSION, "/corrected/"))
    audited(found(kinds.SESSION, "/old/"), found(kinds.TRACKING, "/t/?utm_source=x"))
    audited(found(kinds.FAILS, "/gone/", text="404", page="article-1"), fetched="live")
    audited(found(kinds.SESSION, "/s/", row="313"))
    audited(found(kinds.SHARED, "/both/", section="other"), section="other")


def shown(query: str = "") -> set[str]:
    return {row["URL"] for row in lists.exported(f"finding/export/?{query}")}


def test_those_of_the_newest_audits_are_listed(findings: None, settings: Any) -> None:
    every = {f"{BASE}{path}" for path in ("/gone/", "/s/", "/both/")}
    assert shown() == every
    page = text("finding/")
    for path in ("/gone/", "/s/", "/both/"):
        assert f'href="{BASE}{path}"' in page
    assert "/corrected/" not in page
    for query, path in (
        ("of=other", "/both/"),
        (f"kind={kinds.SESSION}", "/s/"),
        ("level=warning", "/both/"),
        ("mode=live", "/gone/"),
        ("q=/gone/", "/gone/"),
        (f"q={BASE.removeprefix('https://')}/gone/%23top", "/gone/"),
        ("mode=-&level=error", "/s/"),
    ):
        assert shown(query) == {f"{BASE}{path}"}, query
    assert shown("mode=process") == set()
    [row] = lists.exported("finding/export/?mode=live")
    assert row["Details"] == "404"
    assert row["How"] == "fetched over HTTP"
    assert row["What to do"] == known()[kinds.FAILS].fix
    row = Finding.objects.get(row="313")
    fix = "leave the session out of the URL"
    assert fix in text(f"finding/{row.pk}/change/")
    lists.test_no_list_offers_to_count_each_filter("finding")
    lists.are_translated(settings, [row])


def test_what_the_audit_before_did_not_find_is_new(findings: None) -> None:
    # Only the second audit of article looked at what the first one did.
    assert shown("new=True") == {f"{BASE}/s/"}
    assert "1 new" in words(text(""))
    page = words(text("finding/?new=True"))
    assert "URLs with a session id new since the last audit" in page
    audited(found(kinds.SESSION, "/s/"))
    assert shown("new=True") == set()
    # A sample did not look at all: what was found before it is not new after it.
    audited(fetched="live", urls=20, fetched_urls=9)
    fails = found(kinds.FAILS, "/gone/", page="article-1"), found(kinds.FAILS, "/new/")
    audited(*fails, fetched="live", urls=9, fetched_urls=9)
    assert shown("new=True") == {f"{BASE}/new/"}
