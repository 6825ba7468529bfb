"""When a copy of a sitemap was made, and whom its headers mean."""

from __future__ import annotations

import time

import pytest

from django_sitemaps_plus.contrib.audit.entries import Entry
from django_sitemaps_plus.contrib.audit.rules import Arrived, FetchedAnswer
from django_sitemaps_plus.contrib.audit.rules.arrivals import (
    TEXT,
    XML_TYPES,
    copied_at,
    headers,
)

#: 2026-01-02T00:00:00Z
DAY = 1_767_312_000.0


def test_a_copy_is_as_new_as_what_it_says() -> None:
    for lastmods, sent, at in [
        ([], {}, 0.0),
        (["2026-01-02", "", "2025-12-31T10:00:00Z"], {}, DAY),
        # Nobody has made it tomorrow.
        (["2999-01-01", "2026-01-02"], {}, DAY),
        (["soon"], {}, 0.0),
        ([], {"last-modified": "Fri, 02 Jan 2026 00:00:00 GMT"}, DAY),
        (["2026-01-02"], {"last-modified": "Thu, 01 Jan 2026 00:00:00 GMT"}, DAY),
        ([], {"last-modified": "once"}, 0.0),
    ]:
        entries = [Entry("https://www.example.com/", lastmod) for lastmod in lastmods]
        assert copied_at(FetchedAnswer(200, headers=sent), entries) == at


def test_a_copy_is_as_old_as_a_cache_says() -> None:
    at = copied_at(FetchedAnswer(200, headers={"age": "90000"}), [])
    assert at == pytest.approx(time.time() - 90_000, abs=5)
    assert copied_at(FetchedAnswer(200, headers={"age": "old"}), []) == 0.0


def test_what_is_added_for_other_bots_is_no_other_header() -> None:
    for tag, is_said in {
        "": False,
        "gptbot: noindex, nofollow": False,
        "max-image-preview:large": False,
        "nofollow": True,
        "gptbot: noindex, bingbot: none": True,
    }.items():
        for types, own in (XML_TYPES, "noindex, noodp, noarchive"), (TEXT, ""):
            all_of_it = ", ".join(filter(None, [own, tag]))
            sent = {"content-type": types[0], "x-robots-tag": all_of_it}
            seen = Arrived("", FetchedAnswer(200, headers=sent), b"", types)
            # Of robots.txt only what keeps it from being read as one is said.
            expected = is_said and not (types == TEXT and tag == "nofollow")
            assert bool([*headers(seen)]) == expected, tag
