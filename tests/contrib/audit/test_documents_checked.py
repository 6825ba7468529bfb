"""What documents show without a database: limits, dates, alternates, samples."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from functools import partial
from typing import Any

import pytest

from django_sitemaps_plus.contrib.audit import checking, entries
from django_sitemaps_plus.contrib.audit.checking import Checking, Sample
from django_sitemaps_plus.contrib.audit.findings import MOST_FINDINGS, Findings
from django_sitemaps_plus.contrib.audit.kinds import ERROR, WARNING, number_of
from django_sitemaps_plus.contrib.audit.languages import unknown_in
from django_sitemaps_plus.contrib.audit.listed import ListedDocument
from django_sitemaps_plus.contrib.audit.rules import AuditedSection
from django_sitemaps_plus.contrib.audit.rules.robots import robots_rules
from django_sitemaps_plus.protocol.entries import Image, Video
from django_sitemaps_plus.protocol.locations import Origin
from django_sitemaps_plus.protocol.robots import read
from django_sitemaps_plus.sitemaps.site import SiteAddress
from tests.contrib.audit import kinds
from tests.protocol.samples import SITE, url_xml, write_urlset

NOW = dt.datetime(2026, 6, 15, 12, tzinfo=dt.UTC)
OURS = SiteAddress(origin=Origin("https", "www.example.com"))


def check(
    *pages: Sequence[str], site: SiteAddress = OURS, robots: str = "", **options: Any
) -> Checking:
    """Check documents of one section, each of some entries."""
    documents = [
        ListedDocument("a", f"a-{n}", partial(write_urlset, page))
        for n, page in enumerate(pages, 1)
    ]
    section = AuditedSection("a", site, NOW, read(robots))
    work = Checking(Findings(), {"a": section}, **options)
    work.check(documents)
    return work


def found(*pages: Sequence[str], **options: Any) -> list[tuple[str, str]]:
    """Return what is found in some documents: the kind, and the path of the URL."""
    return [
        (one.kind, one.url.removeprefix(SITE))
        for one in check(*pages, **options).findings.sorted()
    ]


def found_by(kinds_of: dict[str, str]) -> dict[str, str]:
    """Return what is found of each of some paths, by kind, as it is expected."""
    return {
        kind: " ".join(
            path
            for path in paths.split()
            if found([url_xml(path)]) == [(kind, path)] * bool(kind)
        )
        for kind, paths in kinds_of.items()
    }


def test_limits_are_said_of_the_page(monkeypatch: pytest.MonkeyPatch) -> None:
    page = [url_xml(f"/{n}/") for n in range(4)]
    monkeypatch.setattr(checking, "MAX_ENTRIES", 4)
    assert found(page) == []
    monkeypatch.setattr(checking, "MAX_ENTRIES", 3)
    monkeypatch.setattr(checking, "MAX_BYTES", len(write_urlset(page)) - 1)
    texts = [one.text.partition(", over")[0] for one in check(page).findings.sorted()]
    assert [text.partition(" ")[2] for text in texts] == ["entries", "bytes"]


def alternates(path: str, *pairs: tuple[str, str]) -> str:
    return url_xml(path, alternates=pairs)


def test_alternates_on_other_pages_and_read_later_link_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(entries, "_ENTRIES_AT_ONCE", 1)
    both = [("en", "/en/"), ("de", "/de/"), ("x-default", "/")]
    english, german = alternates("/en/", *both), alternates("/de/", *both)
    # In one document, and in two.
    assert found([english, german]) == found([english], [german]) == []
    # Listed twice, one time without the other language beside it.
    for page in ([english, german] * 2, [english, url_xml("/x/"), english, german]):
        assert {kind for kind, _ in found(page)} == {kinds.REPEATED}


def test_a_listed_alternate_that_does_not_link_back_is_named() -> None:
    english = [alternates("/en/", ("en", "/en/"), ("de", "/de/"))]
    others = [("de", "/de/"), ("fr", "/fr/")]
    french = alternates("/fr/", *others, ("x-default", "/"))
    for german in (
        [url_xml("/de/")],
        [alternates("/de/", ("de", "/de/"))],
        # It links to another URL only, which links back.
        [alternates("/de/", *others), french],
    ):
        assert found(english, german) == [(kinds.NOT_RETURNED, "/en/")]
    # Of what is not listed nothing is known: its page may link back.
    assert found(english) == []


def test_links_that_are_returned_take_no_place_among_those_that_are_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nor do links to URLs that no section lists."""
    monkeypatch.setattr(checking, "MOST_FINDINGS", 1)
    both = [[("en", f"/en/{n}/"), ("de", f"/de/{n}/")] for n in range(40)]
    french = ("fr", "/fr/")
    english = [alternates(f"/en/{n}/", *some, french) for n, some in enumerate(both)]
    german = [alternates(f"/de/{n}/", *some) for n, some in enumerate(both)]
    german[17] = alternates("/de/17/", ("de", "/de/17/"))
    assert found(english, german) == [(kinds.NOT_RETURNED, "/en/17/")]


def test_a_url_that_entries_name_for_different_languages_is_named() -> None:
    english = alternates("/a/", ("en", "/a/"), ("de", "/b/"))
    german = alternates("/b/", ("en", "/a/"), ("fr", "/b/"))
    expected = [(kinds.ONE_FOR_ALL, "/b/")]
    assert found([english, german]) == found([english], [german]) == expected
    # A region says more of the same language.
    german = alternates("/b/", ("en-gb", "/a/"), ("de-at", "/b/"), ("x-default", "/a/"))
    assert found([english, german]) == []


def test_languages_and_regions_that_do_not_exist_are_named() -> None:
    # Laos, not Latin America: it exists.
    known = "en de-ch zh-Hans-TW sr-latn es-419 x-default hsb he iw es-la"
    assert [*filter(unknown_in, known.split())] == []
    for region in ("en-uk", "de-eu", "zh-hans-zz", "jp"):
        assert repr(region[-2:]) in unknown_in(region)
    for language in ("e", "english"):
        assert "no" in unknown_in(language)


def test_a_set_of_alternates_has_a_url_for_each_language_and_one_scheme() -> None:
    for pairs, kind in [
        ([("en", "/en/"), ("de", "/en/")], kinds.ONE_FOR_ALL),
        ([("en", "/en/"), ("de", "http://de.example/")], kinds.MIXED_SCHEMES),
        ([("en", "/en/"), ("en", "https://de.example/")], kinds.TWO_OF_A_LANGUAGE),
        ([("en-uk", "/en/")], kinds.UNKNOWN_LANGUAGE),
        ([("de", "https://de.example/")], kinds.NOT_ITSELF),
        # Regions of a language, two names of one, and the rest may share a URL.
        ([("en", "/en/"), ("en-gb", "/en/"), ("x-default", "/en/")], None),
        ([("nb", "/en/"), ("no", "/en/")], None),
        ([("zh-hans", "/en/"), ("zh-hant", "/en/")], kinds.ONE_FOR_ALL),
        ([("zh-cn", "/en/"), ("zh-tw", "/en/")], kinds.ONE_FOR_ALL),
        ([("zh", "/en/"), ("zh-hans", "/en/"), ("zh-cn", "/en/")], None),
        ([("sr-latn", "/en/"), ("sr-cyrl", "/en/")], kinds.ONE_FOR_ALL),
    ]:
        expected = [] if kind is None else [(kind, "/en/")]
        assert found([alternates("/en/", *pairs)]) == expected


def test_an_alternate_of_the_site_is_listed_where_all_is_read() -> None:
    links = [("en", "/en/"), ("de", "/de/"), ("fr", "https://fr.example/")]
    page = [alternates("/en/", *links, ("x-default", "/"))]
    findings = check(page, is_whole=True).findings.sorted()
    assert [(one.kind, one.text) for one in findings] == [
        (kinds.NOT_LISTED, f"{SITE}/de/ is not listed")
    ]
    # A part of the site says nothing of the rest.
    assert found(page) == []


def test_urls_that_differ_only_in_how_they_are_written_are_named() -> None:
    same = "/A/ /a /a// /a/? /a/index.html /a/?x=1&b=%C3%A4 /a/?b=%c3%a4&x=1"
    for other in same.split():
        first = "/a/?b=%C3%A4&x=1" if "=" in other else "/a/"
        page = [url_xml(first), url_xml("/b/")]
        (one,) = check(page, [url_xml(other)]).findings.sorted()
        assert (one.kind, one.url) == (kinds.SIMILAR, f"{SITE}{first}")
        assert one.text == f"listed as {SITE}{other}, too"


def test_urls_with_other_parameters_are_others() -> None:
    paths = ["/a/", "/a/?x=1", "/a/?x=2", "/a/?x=B", "/a/?x=b", "/a-/", "/index/"]
    assert found([url_xml(path) for path in paths]) == []


def test_parameters_that_make_copies_of_a_page_or_that_nobody_else_should_know() -> (
    None
):
    paths = {
        kinds.TRACKING: "/a/?srsltid=A1 /a/?_ga=1.2 /a/?mtm_campaign=x /a/?pk_kwd=x "
        "/a/?gad_source=1 /a/?gad_campaignid=7",
        kinds.SESSION: "/a/?CFID=12 /a/?osCsid=ab12 /a/?sid=0123456789abcdef",
        kinds.PRIVATE: "/a/?token=4f1c9a /a/?a=1&access_token=eyJhbGciOiJIUzI1NiJ9.e "
        "/a/?Reset_Token=abcdefghijklmnop /a/?password=x /a/?email=ann%40example.com "
        "/a/?e-mail=ann@example.com /a/?api_key=x",
        "": "/a/?sid=17 /a/?pk=3 /a/?gadget=1 /a/?token=btc /a/?token=shiba-inu "
        "/a/?email= /a/?email=yes /a/?mytoken=4f1c9a",
    }
    assert found_by(paths) == paths


def test_escapes_that_are_read_in_different_ways() -> None:
    fine = "/caf%C3%A9/ /100%25/ /100%25-off/ /a/?next=%2Fb%252Fc /%E6%BC%A2%E5%AD%97/"
    wrong = "/caf%25C3%25A9/ /a%2520b/ /caf%E9/ /a/?q=caf%E9"
    for path in f"{fine} {wrong}".split():
        expected = [(kinds.ENCODING, path)] * (path in wrong.split())
        assert found([url_xml("/caf%C3%A9/1/"), url_xml(path)]) == expected


def test_values_that_are_missing_or_escaped_twice() -> None:
    paths = {
        kinds.PLACEHOLDER: "/a/nan/ /a/NaN/ /a/null/ /a/NULL/ /null /news/None/ "
        "/a/?author=null&b=1 /a/?author=undefined /undefined /a/?author=None "
        "/a/%7B%7B%20slug%20%7D%7D/",
        kinds.BAD_URL: "/a/?x=1&amp;y=2",
        "": "/Nan/ /nancy/ /nullable/?a=nullable /a/?x=1&y=2;amp /Nonesuch/ "
        "/a/?author=Nonesuch",
    }
    assert found_by(paths) == paths


def test_images_and_videos_are_judged() -> None:
    def video(end: str | None = None, content: str = "/a.mp4") -> Video:
        return Video("/t.png", "T", "D", content_loc=content, expiration_date=end)

    page = [
        url_xml("/insecure/", images=[Image("http://www.example.com/1.png")]),
        url_xml("/forbidden/", images=[Image("/secret/1.png"), Image("/2.png")]),
        url_xml("/over/", videos=[video("2026-06-12")]),
        url_xml("/good/", videos=[video("2026-06-14")], images=[Image("/1.png")]),
    ]
    itself = url_xml("/itself/", videos=[video()]).replace("/a.mp4", "/itself/")
    robots = "User-agent: Googlebot-Image\nDisallow: /secret/"
    assert found([*page, itself], robots=robots) == [
        (kinds.VIDEO_IS_PAGE, "/itself/"),
        (kinds.INSECURE_IMAGE, "/insecure/"),
        (kinds.DISALLOWED_IMAGE, "/forbidden/"),
        (kinds.EXPIRED_VIDEO, "/over/"),
    ]


def test_robots_rules_of_one_search_engine_take_the_place_of_the_common_ones() -> None:
    groups = read(
        "User-agent: *\nDisallow: /a/\n\nUser-agent: googlebot\nDisallow: /b/\n"
        "Allow: /b/c\n\nUser-agent: bingbot\nDisallow: /\n\nUser-agent: YandexBot\n"
        "Disallow:\n\nUser-agent: GPTBot\nDisallow: /d/"
    )
    forbidden = {
        name: [path for path in ("/a/", "/b/", "/b/c", "/d/") if is_forbidden(path)]
        for name, is_forbidden in robots_rules(AuditedSection("a", OURS, NOW, groups))
    }
    # Who may fetch nothing, or all, is left out, and so is who is no search engine.
    assert forbidden == {"": ["/a/"], "Googlebot": ["/b/"]}


def test_urls_are_below_the_path_of_the_site() -> None:
    inside = SiteAddress(OURS.origin, "/shop/", "/shop/")
    pages = [url_xml(path) for path in ("/shop/a/", "/shopping/", "/")]
    outside = [(kinds.OUTSIDE, "/shopping/"), (kinds.OUTSIDE, "/")]
    assert found(pages, site=inside) == outside


def test_a_sample_is_the_same_for_the_same_seed_and_any_url_may_be_in_it() -> None:
    pages = [[url_xml(f"/{n}-{m}/") for m in range(10)] for n in range(5)]

    def chosen(seed: int) -> list[str]:
        sample = Sample(8, seed)
        check(*pages, sample=sample)
        return [one.location for _, one in sample.chosen]

    assert chosen(1) == chosen(1) != chosen(2)
    assert len(set(chosen(1))) == 8
    assert len({url for seed in range(60) for url in chosen(seed)}) == 50


def test_all_findings_are_counted_and_only_the_first_are_remembered() -> None:
    findings = Findings(silenced=[kinds.TRACKING])
    for n in range(MOST_FINDINGS + 5):
        findings.add(kinds.SESSION, "a", url=str(n))
        findings.add(kinds.TRACKING, "a", url=str(n))
    assert len(findings.sorted()) == MOST_FINDINGS
    assert findings.by_kind() == {kinds.SESSION: {"a": MOST_FINDINGS + 5}}
    numbers = [number_of(level, findings.by_kind()) for level in (ERROR, WARNING)]
    assert numbers == [MOST_FINDINGS + 5, 0]
