"""Audits that are stored: found by URL, from the newest that can know, and pruned."""

from __future__ import annotations

from typing import Any

import pytest

from django_sitemaps_plus.contrib.audit.models import Audit, Finding
from django_sitemaps_plus.contrib.audit.queries import (
    KEPT,
    findings_of,
    last_audit,
    last_crawls,
    store,
    verdicts,
)
from django_sitemaps_plus.sitemaps.site import Site, working_for
from tests.contrib.audit import kinds
from tests.support.helpers import ArticleSitemap, PagesSitemap, run_command

pytestmark = pytest.mark.django_db

SITE = "https://www.example.com"


def run(
    *kinds_found: str, fetched: str = "", section: str = "article", asked: int = 9
) -> Audit:
    """Store an audit that found these kinds of things of one URL out of nine."""
    sections = {section: [9, asked if fetched else 0]}
    counts = {kind: {section: 1} for kind in kinds_found}
    times = {"started_at": 1, "finished_at": 2}
    audit = Audit(sections=sections, fetched=fetched, counts=counts, **times)
    about = {"level": "error", "section": section, "url": f"{SITE}/a/"}
    store(audit, [Finding(kind=kind, **about) for kind in kinds_found])
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
    assert known("/a/") == [kinds.NOINDEX], "what a server adds is seen over HTTP only"
    run(fetched="live")
    assert known("/a/") == []


def standing() -> set[tuple[str, str, int, int]]:
    """Return section, way, URLs fetched and errors of what was found of sections."""
    return {
        (one.section, one.fetched, one.fetched_urls, one.number("error"))
        for one in verdicts()
        if one.section
    }


def test_errors_stand_until_an_audit_looks_at_as_much_again(register: Any) -> None:
    """Neither a run over one section nor a sample hides what a whole run found."""
    register("article", ArticleSitemap)
    register("pages", PagesSitemap)
    run(kinds.SESSION, kinds.NOINDEX, kinds.REDIRECTS, fetched="live")
    run(section="pages")
    run(fetched="live", asked=2)
    run(kinds.SESSION, section="removed")
    # More than are stored of a way to look, but for what no other looked at.
    for _ in range(KEPT):
        run(section="pages", fetched="live")
    pages = {("pages", "", 9, 0), ("pages", "live", 9, 0)}
    before = {("article", "live", 9, 2), ("article", "live", 2, 0)}
    assert standing() == {("article", "", 2, 0), *before, *pages}
    run(fetched="process")
    run(fetched="live")
    ways = ("", "live", "process")
    assert standing() == {*(("article", way, 9, 0) for way in ways), *pages}


def test_a_robots_txt_that_fails_over_http_is_not_corrected_in_process() -> None:
    run(kinds.ROBOTS_FAILS, section="", fetched="live")
    run()
    assert [one.number("error") for one in verdicts()] == [0, 1]


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
    with working_for(Site("another")):
        assert last_audit() is None
        assert known("/a/") == []


def test_how_sitemaps_arrived_stands_beside_the_audits_also_of_files_read_before() -> (
    None
):
    audit = run(kinds.SESSION)
    assert last_crawls() == []
    about = {"started_at": 1, "finished_at": 2, "fetched": "crawl", "urls": 9}
    crawls = [Audit(fetched_urls=asked, **about) for asked in [9, 9, *[2] * KEPT]]
    found = {"kind": kinds.ROBOTS_FAILS, "level": "error", "url": f"{SITE}/a/"}
    for crawl in crawls:
        store(crawl, [Finding(**found)])
    assert last_crawls() == [crawls[-1], crawls[1]]
    assert last_audit() == audit
    assert known("/a/") == [kinds.SESSION]
    assert Audit.objects.filter(fetched="crawl").count() == KEPT + 1


DAMAGE: dict[str, list[Any]] = {
    "sections": [[1], {"article": 5}, {"article": [1]}, {"article": ["a", None]}, 5],
    "counts": [[1], {kinds.SESSION: [1]}, {kinds.SESSION: {"article": "x"}}, "x"],
    "times": [[1], {"article": 5}],
    "remembered": [
        *([1], {"article": [1]}, {"article": {"definition": "x"}}),
        {"article": {"definition": "x", "rows": {"1": ["x"]}}},
    ],
    "started_at": [1e300, -1e300],
    "finished_at": [1e300, -1e300],
}


@pytest.mark.parametrize("name", DAMAGE)
@pytest.mark.costly
def test_what_is_damaged_counts_as_not_there(
    admin_client: Any, register: Any, name: str
) -> None:
    register("article", ArticleSitemap)
    before = run(kinds.SESSION)
    for value in DAMAGE[name]:
        Audit.objects.filter(pk=before.pk).update(**{name: value})
        assert [one.section for one in verdicts()][:1] == [""]
        assert not name.endswith("s") or not getattr(last_audit(), name), value
        for page in ("", "sitemaps_plus_audit/finding/"):
            assert admin_client.get(f"/admin/{page}").status_code == 200, value
        _, err, code = run_command("check_sitemaps")
        assert "Traceback" not in err
        assert code in (0, 1), err
        Audit.objects.exclude(pk=before.pk).delete()
