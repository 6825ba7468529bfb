"""What share of each section is indexed: in words, in the admin, by the command."""

from __future__ import annotations

import csv
import io
import time
from typing import Any

import pytest
from django.utils import translation

from django_sitemaps_plus.contrib.webmasters import conf, shares
from django_sitemaps_plus.contrib.webmasters.models import Inspection
from django_sitemaps_plus.db import digest_of
from django_sitemaps_plus.exceptions import ConfigurationError
from tests.contrib.webmasters.inspected import BASE, google, options, store, urls_of
from tests.support.fakes.bing import FakeBing
from tests.support.fakes.inspection import INDEXED, FakeInspection
from tests.support.helpers import PagesSitemap, run_command

__all__ = ["google"]

pytestmark = pytest.mark.django_db

DAY = 86_400.0


def said(count: int, start: int = 0, of: str = "about", **values: Any) -> None:
    """Store what Google said of some URLs."""
    given = {"verdict": "PASS", "inspected_at": time.time() - 60, **values}
    Inspection.objects.bulk_create(
        Inspection(section=of, url=url, digest=digest_of(url), **given)
        for url in urls_of(of, count, start)
    )


def share() -> shares.Share:
    [found] = shares.shares()
    return found


@pytest.mark.parametrize(
    ("urls", "indexed", "others", "unknown", "figure"),
    [
        (9_000, 0, 0, 0, "–"),
        (9_000, 12, 2, 0, "12 of 14"),
        (9_000, 40, 11, 0, "40 of 51"),
        (9_000, 40, 12, 0, "77 % (63 to 88)"),
        (9_000, 100, 0, 0, "100 % (96 to 100)"),
        (9_000, 999, 1, 0, "99 % (99 to 100)"),
        (9_000, 0, 100, 0, "0 % (0 to 4)"),
        (14, 12, 2, 0, "12 of 14"),
        (60, 45, 15, 0, "75 %"),
        (60, 45, 5, 10, "90 % (75 to 92)"),
        (40, 45, 15, 0, "75 %"),
        (60, 0, 0, 60, "–"),
    ],
)
def test_the_figure(
    urls: int, indexed: int, others: int, unknown: int, figure: str
) -> None:
    counts = {"indexed": indexed, "not": others}
    assert shares.Share("a", urls, indexed + others + unknown, counts).figure == figure


def test_the_window_is_part_of_the_figure(google: FakeInspection) -> None:
    store("about", urls_of("about", 100))
    assert share().window == "–"
    november = 1_794_000_000.0
    found = shares.Share("about", 9, 9, since=november - 27 * DAY, until=november)
    assert found.window == "October 10 to November 6"
    with translation.override("de"):
        assert found.window == "10. Oktober bis 6. November"
    found.since = november
    assert found.window == "November 6"
    said(3, inspected_at=time.time() - 29 * DAY)
    assert share().inspected == 0, "too long ago"


def test_what_is_counted(google: FakeInspection) -> None:
    store("about", urls_of("about", 200))
    said(10, 0, verdict="PARTIAL")
    said(4, 10, verdict="FAIL", former_verdict="PASS", reason="Not found (404)")
    said(5, 14, verdict="NEUTRAL", former_verdict="NEUTRAL", reason="Crawled - …")
    said(3, 19, verdict="NEW", former_verdict="PASS", canonical=f"{BASE}/x/")
    said(2, 22, crawled_at=5.0, lastmod=6.0)
    said(2, 24, crawled_at=6.0, lastmod=6.0)
    said(7, 30, verdict="VERDICT_UNSPECIFIED")
    found = share()
    counts = {"indexed": 14, "not": 9, "lost": 4, "canonical": 3, "uncrawled": 2}
    assert (found.urls, found.inspected, found.counts) == (200, 33, counts)
    assert found.reasons == [("Crawled - …", 5), ("Not found (404)", 4)]
    assert found.others == 0


def test_rare_reasons_are_counted_together(google: FakeInspection) -> None:
    store("about", urls_of("about", 2_000))
    said(1_200, verdict="NEUTRAL", reason="r0")
    for number in range(1, 7):
        said(7 - number, 1_200 + 10 * number, verdict="FAIL", reason=f"r{number}")
    out, _, _ = run_command("sitemap_coverage", "--stored")
    assert "    1,200 r0\n    6 r1\n    5 r2\n    4 r3\n    and 6 others\n" in out


def test_what_is_worth_requesting(google: FakeInspection) -> None:
    store("about", urls_of("about", 200))
    said(12, 0, verdict="NEUTRAL", lastmod=5.0)
    said(1, 12, verdict="NEUTRAL", lastmod=9.0)
    said(1, 13, verdict="NEUTRAL", lastmod=9.0, obstacle="NOT_FOUND")
    said(1, 14, verdict="NEUTRAL", lastmod=9.0, canonical=f"{BASE}/x/")
    said(1, 15, lastmod=9.0)
    said(1, 16, verdict="", lastmod=9.0)
    said(1, 17, verdict="NEUTRAL")
    found = [row.url for row in shares.worth_requesting()]
    assert len(found) == 10
    assert found[0] == urls_of("about", 13)[12]
    assert set(found[1:]) < set(urls_of("about", 12))


def test_what_is_old_is_deleted(google: FakeInspection) -> None:
    said(2, inspected_at=time.time() - 111 * DAY)
    said(2, 2, inspected_at=time.time() - 113 * DAY)
    shares.prune_inspections()
    assert Inspection.objects.count() == 2


# The command


def test_the_command_inspects_and_prints(google: FakeInspection, register: Any) -> None:
    register("pages", PagesSitemap)
    store("about", urls_of("about", 60))
    not_found = {"verdict": "NEUTRAL", "coverageState": "Not found (404)"}
    google.says = lambda url: not_found if url.endswith("3/") else INDEXED
    out, err, code = run_command("sitemap_coverage")
    today = shares.date_format(shares.localtime(), "MONTH_DAY_FORMAT")
    assert (err, code) == ("", 0)
    assert out.splitlines()[:3] == [
        "60 URLs inspected; today 60.",
        f"about: 90 % indexed, inspected {today} (60 of 60 URLs)",
        "    6 Not found (404)",
    ]
    assert "pages: not inspected: it is built for each request" in out
    assert "Worth “Request indexing”:\n    https://www.example.com/about/" in out
    out, _, _ = run_command("sitemap_coverage", "--stored")
    assert out.startswith("about: 90 % indexed")
    assert len(google.asked) == 60


def test_the_command_exports(google: FakeInspection) -> None:
    store("about", urls_of("about", 60))
    said(1, crawled_at=0.0, lastmod=1_794_000_000.5, reason="a, b")
    said(1, 1, reason='=HYPERLINK("https://elsewhere.example/")')
    out, _, _ = run_command("sitemap_coverage", "--stored", "--format", "csv")
    head, first, second = csv.reader(io.StringIO(out))
    row = dict(zip(head, first, strict=True))
    assert (row["url"], row["reason"]) == (urls_of("about", 1)[0], "a, b")
    assert second[head.index("reason")].startswith("'="), "not a formula"
    assert (row["lastmod"], row["crawled_at"]) == ("2026-11-06 21:20:00", "")


def test_bad_input_is_a_sentence_and_the_line_to_type(
    google: FakeInspection, settings: Any
) -> None:
    given = settings.SITEMAPS_PLUS
    add = 'Add to SITEMAPS_PLUS[\'ENGINES\']: "google": {"BACKEND": '
    other = options(google, site="https://shop.example.com/")
    for changes, problem in (
        ({"ENGINES": {}}, add),
        ({"INSPECTIONS": 0}, "SITEMAPS_PLUS['INSPECTIONS'] is 0, so no URL is insp"),
        ({"ENGINES": other}, "Set the engine's option 'site' to"),
        ({"BASE_URL": "http://127.0.0.1:8000"}, "or use --force."),
    ):
        settings.SITEMAPS_PLUS = {**given, **changes}
        out, err, code = run_command("sitemap_coverage")
        assert problem in err
        assert (out, code) == ("", 2)


def test_no_permission_is_a_sentence_and_the_line_to_type(
    google: FakeInspection,
) -> None:
    google.properties = {}
    store("about", urls_of("about", 60))
    _, err, code = run_command("sitemap_coverage")
    assert "The account has no permission for https://www.example.com/ (403)." in err
    assert "https://www.google.com/webmasters/verification/home" in err
    assert err.endswith("Then run: python manage.py sitemap_coverage\n")
    assert code == 1
    google.properties = {f"{BASE}/": "siteOwner"}
    out, err, code = run_command("sitemap_coverage")
    assert (err, code) == ("", 0), "that line is enough"
    assert out.startswith("60 URLs inspected; today 61.\n")


def test_the_command_does_not_end_a_pause_that_google_asks_for(
    google: FakeInspection,
) -> None:
    store("about", urls_of("about", 60))
    google.others = 2_000
    out, _, code = run_command("sitemap_coverage")
    assert "Google asks for a pause. Continues in " in out
    assert "about: none of 60 URLs inspected yet" in out
    used = google.used[0]
    run_command("sitemap_coverage")
    assert (google.used[0], code) == (used, 0)


def test_a_quota_that_cannot_be_is_refused(settings: Any) -> None:
    for number in (-1, 2_001):
        settings.SITEMAPS_PLUS = {"INSPECTIONS": number}
        with pytest.raises(ConfigurationError, match=f"is {number}; use 0 to 2000"):
            conf.inspections()


def test_bing_says_when_it_crawled_and_no_more(
    google: FakeInspection, settings: Any
) -> None:
    store("about", urls_of("about", 11))
    with FakeBing("0123456789abcdef") as bing:
        backend = "django_sitemaps_plus.contrib.webmasters.bing.BingWebmaster"
        given = {"site": f"{BASE}/", "key": bing.key, "endpoint": bing.endpoint}
        engines = {**options(google), "bing": {"BACKEND": backend, "OPTIONS": given}}
        settings.SITEMAPS_PLUS = {"BASE_URL": BASE, "ENGINES": engines}
        run_command("sitemap_coverage")
        assert bing.methods == ["GetUrlInfo"] * 3, "of one in five"
        crawled = Inspection.objects.exclude(bing_crawled_at=None)
        assert set(crawled.values_list("bing_crawled_at", flat=True)) == {1_790_000_000}
        bing.sites = {}
        Inspection.objects.all().delete()
        run_command("sitemap_coverage")
        assert Inspection.objects.count() == 11, "Google's answers are stored"
