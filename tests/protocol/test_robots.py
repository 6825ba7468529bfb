"""robots.txt: RFC 9309."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.robotparser import RobotFileParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from django_sitemaps_plus.protocol.errors import EntryError, PageFull
from django_sitemaps_plus.protocol.limits import MAX_ROBOTS_BYTES
from django_sitemaps_plus.protocol.robots import (
    SIGNALS,
    USAGES,
    Group,
    closed,
    not_repeated,
    rules_txt,
    with_sitemaps,
)
from django_sitemaps_plus.protocol.robots import read as read_groups
from tests.protocol.strategies import any_text, anything


def robots_txt(groups: Any, sitemaps: Any, licenses: Any = ()) -> str:
    """Return a whole file."""
    return with_sitemaps(rules_txt(groups, licenses), sitemaps)


def read(text: str) -> RobotFileParser:
    """Return the file as the standard library reads it."""
    parser = RobotFileParser()
    parser.parse(text.splitlines())
    return parser


def test_a_crawler_obeys_the_rules_and_finds_the_sitemaps() -> None:
    text = robots_txt(
        [
            Group(("*",), allow=("/cart/help/",), disallow=("/cart/", "/ü/")),
            Group(("BadBot",), disallow=("/",), crawl_delay=3),
        ],
        ["https://www.example.com/sitemap.xml", "https://Bücher.example/ü.xml"],
    )
    robots = read(text)

    assert robots.can_fetch("AnyBot", "/")
    assert robots.can_fetch("AnyBot", "/cart/help/")
    assert not robots.can_fetch("AnyBot", "/cart/")
    assert not robots.can_fetch("AnyBot", "/ü/1")
    assert not robots.can_fetch("BadBot", "/")
    assert robots.crawl_delay("BadBot") == 3
    assert text.endswith(
        "\nSitemap: https://www.example.com/sitemap.xml\n"
        "Sitemap: https://xn--bcher-kva.example/%C3%BC.xml\n"
    )


def test_a_group_without_rules_does_not_take_the_next_groups_rules() -> None:
    """A blank line does not end a group."""
    every = Group(("*",), disallow=("/",))
    text = robots_txt([Group(("GoodBot",)), every], [])
    assert text == "User-agent: GoodBot\nDisallow:\n\nUser-agent: *\nDisallow: /\n"
    signals = robots_txt([Group(("A",), signals=(("search", True),)), every], [])
    assert read(signals).can_fetch("A", "/")


@pytest.mark.parametrize(
    ("given", "lines"),
    [
        (
            {"signals": tuple(zip(SIGNALS, (True, False, False), strict=True))},
            "Content-Signal: search=yes, ai-input=no, ai-train=no\n",
        ),
        (
            {
                "usage": (
                    ("", tuple(zip(USAGES, (True, False, False), strict=True))),
                    ("/a b#c/", (("train-ai", True),)),
                )
            },
            "Content-Usage: search=y, ai-use=n, train-ai=n\n"
            "Content-Usage: /a%20b%23c/ train-ai=y\n",
        ),
    ],
)
def test_signals_and_usages_are_lines_of_the_group_that_other_parsers_pass_over(
    given: Any, lines: str
) -> None:
    text = robots_txt([Group(("*",), disallow=("/a/",), **given)], [])
    assert text == f"User-agent: *\n{lines}Disallow: /a/\n"
    assert not read(text).can_fetch("AnyBot", "/a/")
    assert read_groups(text) == [Group(("*",), (), ("/a/",))]


def test_licenses_are_of_no_group_and_stand_before_all_of_them() -> None:
    groups = [Group(("A",)), Group(("*",), disallow=("/x/",))]
    licenses = ["https://a.example/license.xml", "https://b.example/ü.xml"]
    text = robots_txt(groups, ["https://a.example/sitemap.xml"], licenses)
    assert text.startswith(
        "License: https://a.example/license.xml\n"
        "License: https://b.example/%C3%BC.xml\n"
        "\nUser-agent: A\n"
    )
    parsed = read(text)
    assert parsed.can_fetch("A", "/x/")
    assert not parsed.can_fetch("B", "/x/")
    assert parsed.site_maps() == ["https://a.example/sitemap.xml"]
    assert read_groups(text) == read_groups(robots_txt(groups, []))


ALL = Group(("*",), disallow=("/cart/", "/search/"))


@pytest.mark.parametrize(
    ("groups", "found"),
    [
        ([ALL], {}),
        ([ALL, Group(("GPTBot",), disallow=("/",))], {}),
        ([ALL, Group(("GPTBot",), disallow=("/search/", "/cart/", "/x/"))], {}),
        (
            [ALL, Group(("A", "B"), allow=("/",))],
            {"A": ["/cart/", "/search/"], "B": ["/cart/", "/search/"]},
        ),
        (
            [Group(("A",), disallow=("/cart/",)), ALL, Group(("a",), allow=("/x",))],
            {"A": ["/search/"]},
        ),
        ([Group(("*", "A"), disallow=("/cart/",))], {}),
        # The usage that all crawlers look up is no crawler.
        ([ALL, Group(("__usage_ai-training",), disallow=("/x/",))], {}),
        # Closed to all but some, as it is meant to be.
        ([Group(("*",), disallow=("/",)), Group(("A",), disallow=("",))], {}),
    ],
)
def test_rules_that_a_named_crawler_does_not_follow_are_found(
    groups: list[Group], found: dict[str, list[str]]
) -> None:
    assert not_repeated(groups) == found
    text = robots_txt(groups, [])
    for name, rules in found.items():
        assert all(read(text).can_fetch(name, rule) for rule in rules)


def test_a_hash_in_a_path_does_not_begin_a_comment() -> None:
    rules = robots_txt([Group(("*",), (), ("/a#b c", "/*.pdf$"))], [])
    assert "Disallow: /a%23b%20c\nDisallow: /*.pdf$\n" in rules
    assert robots_txt([], []) == "", "nothing to say"


def test_more_than_crawlers_must_read_is_refused() -> None:
    frame = len("User-agent: *\nDisallow: /\n")
    longest = "/" + "a" * (MAX_ROBOTS_BYTES - frame)
    text = robots_txt([Group(("*",), disallow=(longest,))], [])
    assert len(text.encode()) == MAX_ROBOTS_BYTES
    with pytest.raises(PageFull, match="512001 bytes, over 512000"):
        robots_txt([Group(("*",), disallow=(longest + "a",))], [])


@pytest.mark.parametrize(
    ("group", "reason"),
    [
        (Group(()), "user_agents: none"),
        (Group("*"), "user_agents '\\*': not a tuple"),
        (Group(("",)), "user_agents '': not the name"),
        *(
            (Group((name,)), "not the name")
            for name in (" a", "a\nDisallow: /", "a#b", "a:b", "бот")
        ),
        (Group((7,)), "user_agents 7"),
        (Group(("*",), disallow="/"), "disallow '/': not a tuple"),
        (Group(("*",), disallow=("a",)), "disallow 'a': begins with neither"),
        (Group(("*",), allow=("https://a/",)), "allow 'https://a/': begins with"),
        *(
            (Group(("*",), allow=(rule,)), "not one line")
            for rule in ("/a\nDisallow: /", "/a\r", "/a\x85", "/\ud800")
        ),
        (Group(("*",), allow=(None,)), "allow None"),
        (Group(("*",), usage=(("a", ()),)), "content_usage 'a': begins with neither"),
        (Group(("*",), usage=(("/a\nb", ()),)), "content_usage .*: not one line"),
        (Group(("*",), crawl_delay=-1), "crawl_delay -1: not within"),
        (Group(("*",), crawl_delay=float("nan")), "crawl_delay nan"),
        *(
            (Group(("*",), clean_param=(given,)), "clean_param .*: not like")
            for given in ("a b", "a /b\nDisallow: /", "a" * 501)
        ),
    ],
)
def test_what_would_break_a_line_is_refused(group: Group, reason: str) -> None:
    with pytest.raises(EntryError, match=reason):
        robots_txt([group], [])


@pytest.mark.parametrize("url", ["/sitemap.xml", "", "https://a.example/\nAllow: /"])
def test_a_sitemap_and_a_license_must_be_absolute_urls(url: str) -> None:
    with pytest.raises(EntryError):
        robots_txt([], [url])
    with pytest.raises(EntryError):
        robots_txt([], [], [url])


@given(
    agents=st.lists(any_text | anything, max_size=2),
    rules=st.lists(any_text.map(lambda text: f"/{text}") | anything, max_size=2),
    delay=anything,
)
def test_anything_is_refused_or_stays_on_its_line(
    agents: list[Any], rules: list[Any], delay: Any
) -> None:
    group = Group(tuple(agents), tuple(rules), tuple(rules), delay)
    try:
        text = robots_txt([group], [])
    except EntryError:
        return
    words = [line.partition(":")[0] for line in text.splitlines()]
    expected = ["User-agent"] * len(agents)
    expected += ["Allow"] * len(rules) + ["Disallow"] * (len(rules) or 1)
    expected += ["Crawl-delay"] * (delay is not None)
    assert words == expected
    assert text.isascii()


@given(
    st.lists(
        st.builds(
            Group,
            st.lists(st.sampled_from(["*", "A", "B"]), min_size=1).map(tuple),
            st.lists(st.sampled_from(["/", "/a", "/*"])).map(tuple),
            st.lists(st.sampled_from(["/", "/b", "*"])).map(tuple),
        )
    )
)
def test_what_is_written_is_read_again(groups: list[Group]) -> None:
    found = read_groups(robots_txt(groups, ["https://www.example.com/sitemap.xml"]))
    expected = [
        group if group.allow or group.disallow else replace(group, disallow=("",))
        for group in groups
    ]
    assert found == expected


@pytest.mark.parametrize(
    ("groups", "expected"),
    [
        ([], False),
        ([Group(("*",))], False),
        *(
            ([Group(("*",), disallow=rules)], expected)
            for rules, expected in [
                *((("/",), True), (("/*",), True), (("/a", "/"), True)),
                *((("",), False), (("/a",), False)),
            ]
        ),
        ([Group(("GoodBot", "*"), disallow=("/",))], True),
        ([Group(("BadBot",), disallow=("/",))], False),
        ([Group(("*",), allow=("/a",), disallow=("/",))], False),
        ([Group(("*",), allow=("",), disallow=("/",))], True),
        ([Group(("*",), disallow=("/",)), Group(("*",), allow=("/a",))], False),
        ([Group(("*",), disallow=("/",)), Group(("GoodBot",), allow=("/",))], True),
    ],
)
def test_a_site_is_closed_if_all_of_it_is_forbidden_to_all(
    groups: list[Group], expected: bool
) -> None:
    assert closed(groups) is expected
