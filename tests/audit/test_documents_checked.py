"""What documents show without a database: limits, dates, alternates, samples."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from functools import partial

import pytest

from django_sitemaps_plus.audit import checking, kinds
from django_sitemaps_plus.audit.checking import Checking, Sample
from django_sitemaps_plus.audit.findings import MOST, Findings, Found
from django_sitemaps_plus.audit.listed import Document
from django_sitemaps_plus.audit.rules import schema
from django_sitemaps_plus.audit.rules.urls import Urls, rules
from django_sitemaps_plus.protocol.entries import News
from django_sitemaps_plus.protocol.languages import unknown_in
from django_sitemaps_plus.protocol.locations import Origin
from django_sitemaps_plus.protocol.robots import read
from django_sitemaps_plus.sitemaps.site import SiteAddress
from tests.protocol.samples import SITE, url_xml, write_urlset

NOW = dt.datetime(2026, 6, 15, 12, tzinfo=dt.UTC)
OURS = SiteAddress(origin=Origin("https", "www.example.com"))


def check(*pages: Sequence[str] | bytes, sample: Sample | None = None) -> Checking:
    """Check documents of one section, each of some entries."""
    documents = [
        Document(
            "a",
            f"a-{n}",
            partial(bytes, page if isinstance(page, bytes) else write_urlset(page)),
        )
        for n, page in enumerate(pages, 1)
    ]
    work = Checking(Findings(), {"a": Urls(OURS)}, NOW, sample=sample)
    work.check(documents)
    return work


def found(*pages: Sequence[str] | bytes) -> list[tuple[str, str]]:
    """Return what is found in some documents: the kind, and the path of the URL."""
    return [
        (one.kind, one.url.removeprefix(SITE))
        for one in check(*pages).findings.sorted()
    ]


@pytest.mark.parametrize(
    ("lastmod", "kind"),
    [
        ("2026-06-15", None),
        # It is the sixteenth already, somewhere.
        ("2026-06-16", None),
        ("2026-06-17", kinds.FUTURE),
        ("2026-06-15T12:04:00Z", None),
        ("2026-06-15T14:04:00+02:00", None),
        ("2026-06-15T12:06:00Z", kinds.FUTURE),
        ("2026-06-15T09:00:00-04:00", kinds.FUTURE),
    ],
)
def test_a_lastmod_is_in_the_future_when_it_is_so_everywhere(
    lastmod: str, kind: str | None
) -> None:
    assert found([url_xml("/a/", lastmod)]) == ([] if kind is None else [(kind, "/a/")])


@pytest.mark.parametrize("lastmod", ["2026-02-30", "2026-06", "yesterday", "15.6.2026"])
def test_a_lastmod_that_is_no_date_of_the_schema_is_named(lastmod: str) -> None:
    entry = url_xml("/a/", "2026-01-31").replace("2026-01-31", lastmod)
    assert found([entry]) == [(kinds.BAD_LASTMOD, "/a/")]


def test_news_older_than_two_days_are_named() -> None:
    def article(path: str, published: str) -> str:
        return url_xml(path, news=[News("N", "en", published, "T")])

    page = [
        article("/new/", "2026-06-13T12:01:00Z"),
        article("/day/", "2026-06-13"),
        article("/old/", "2026-06-13T11:59:00Z"),
        article("/past/", "2026-06-12"),
    ]
    assert found(page) == [(kinds.OLD_NEWS, "/old/"), (kinds.OLD_NEWS, "/past/")]


def test_limits_are_said_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    page = [url_xml(f"/{n}/") for n in range(4)]
    monkeypatch.setattr(checking, "MAX_ENTRIES", 4)
    assert found(page) == []
    monkeypatch.setattr(checking, "MAX_ENTRIES", 3)
    monkeypatch.setattr(checking, "MAX_BYTES", len(write_urlset(page)) - 1)
    texts = [one.text for one in check(page).findings.sorted()]
    assert [text.partition(", over")[0].partition(" ")[2] for text in texts] == [
        "entries",
        "bytes",
    ]


def alternates(path: str, *pairs: tuple[str, str]) -> str:
    return url_xml(path, alternates=pairs)


def test_alternates_on_other_pages_and_in_other_blocks_link_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(schema, "_BYTES", 150)
    both = [("en", "/en/"), ("de", "/de/"), ("x-default", "/")]
    # In one document but several blocks, and in two documents.
    assert found([alternates("/en/", *both), alternates("/de/", *both)]) == []
    assert found([alternates("/en/", *both)], [alternates("/de/", *both)]) == []
    # Listed twice, one time without the other language beside it.
    twice = found([alternates("/en/", *both), alternates("/de/", *both)] * 2)
    assert {kind for kind, _ in twice} == {kinds.REPEATED}
    once_more = [alternates("/en/", *both), url_xml("/x/"), alternates("/en/", *both)]
    kinds_found = {kind for kind, _ in found([*once_more, alternates("/de/", *both)])}
    assert kinds_found == {kinds.REPEATED}


def test_a_listed_alternate_that_does_not_link_back_is_named() -> None:
    both = [("en", "/en/"), ("de", "/de/")]
    one_sided = [(kinds.NOT_RETURNED, "/en/")]
    assert found([alternates("/en/", *both)], [url_xml("/de/")]) == one_sided
    own = alternates("/de/", ("de", "/de/"))
    assert found([alternates("/en/", *both)], [own]) == one_sided
    # Of what is not listed nothing is known: its page may link back.
    assert found([alternates("/en/", *both)]) == []


def test_links_that_are_returned_take_no_place_among_those_that_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(checking, "MOST", 1)
    both = [[("en", f"/en/{n}/"), ("de", f"/de/{n}/")] for n in range(40)]
    english = [alternates(f"/en/{n}/", *some) for n, some in enumerate(both)]
    german = [alternates(f"/de/{n}/", *some) for n, some in enumerate(both)]
    german[17] = alternates("/de/17/", ("de", "/de/17/"))
    assert found(english, german) == [(kinds.NOT_RETURNED, "/en/17/")]


@pytest.mark.parametrize(
    "language",
    ["en", "de-ch", "zh-Hans-TW", "sr-latn", "es-419", "x-default", "hsb", "he", "iw"],
)
def test_languages_and_regions_that_exist_are_known(language: str) -> None:
    assert unknown_in(language) == ""


@pytest.mark.parametrize(
    ("language", "wrong"),
    [
        ("en-uk", "'uk'"),
        ("jp", "'jp'"),
        ("es-la", None),
        ("de-eu", "'eu'"),
        ("e", "no"),
    ],
)
def test_languages_and_regions_that_do_not_exist_are_named(
    language: str, wrong: str | None
) -> None:
    assert (wrong or "") in unknown_in(language)
    # Laos, not Latin America: it exists.
    assert bool(unknown_in(language)) == (wrong is not None)


def test_robots_rules_of_one_search_engine_take_the_place_of_the_common_ones() -> None:
    groups = read(
        "User-agent: *\nDisallow: /a/\n\nUser-agent: googlebot\nDisallow: /b/\n"
        "Allow: /b/c\n\nUser-agent: bingbot\nDisallow: /\n\nUser-agent: YandexBot\n"
        "Disallow:\n\nUser-agent: GPTBot\nDisallow: /d/"
    )
    forbidden = {
        name: [path for path in ("/a/", "/b/", "/b/c", "/d/") if is_forbidden(path)]
        for name, is_forbidden in rules(groups)
    }
    # Who may fetch nothing, or all, is left out, and so is who is no search engine.
    assert forbidden == {"": ["/a/"], "Googlebot": ["/b/"]}


def test_urls_are_below_the_path_of_the_site() -> None:
    inside = SiteAddress(OURS.origin, "/shop/", "/shop/")
    urls = [f"{SITE}/shop/a/", f"{SITE}/shopping/", f"{SITE}/"]
    problems = [(url, kind) for url, (kind, _) in Urls(inside).problems(urls)]
    assert problems == [(url, kinds.OUTSIDE) for url in urls[1:]]


def test_a_sample_is_the_same_for_the_same_seed_and_any_url_may_be_in_it() -> None:
    pages = [[url_xml(f"/{n}-{m}/") for m in range(10)] for n in range(5)]

    def chosen(seed: int) -> list[str]:
        sample = Sample(8, seed)
        check(*pages, sample=sample)
        return [url for _, url in sample.chosen]

    assert chosen(1) == chosen(1) != chosen(2)
    assert len(set(chosen(1))) == 8
    assert len({url for seed in range(60) for url in chosen(seed)}) == 50


def test_all_findings_are_counted_and_only_the_first_are_remembered() -> None:
    findings = Findings(silenced=[kinds.TRACKING])
    for n in range(MOST + 5):
        findings.add(Found(kinds.SESSION, "a", url=str(n)))
        findings.add(Found(kinds.TRACKING, "a", url=str(n)))
    assert len(findings.sorted()) == MOST
    assert findings.by_kind() == {kinds.SESSION: {"a": MOST + 5}}
    assert (findings.total(kinds.ERROR), findings.total(kinds.WARNING)) == (MOST + 5, 0)
