"""The presets of AI crawlers, and what the documentation says of them."""

from __future__ import annotations

import re
from pathlib import Path
from urllib.robotparser import RobotFileParser

import pytest

from django_sitemaps_plus.protocol.robots import PRESETS, Group, rules_txt

DOCS = Path(__file__).parent.parent.parent / "docs" / "robots.md"


@pytest.mark.parametrize("preset", PRESETS)
def test_a_preset_keeps_its_crawlers_out_and_no_others(preset: str) -> None:
    names = tuple(PRESETS[preset])
    parser = RobotFileParser()
    parser.parse(rules_txt([Group(names, disallow=("/",))]).splitlines())
    kept_out = {
        name
        for crawlers in PRESETS.values()
        for name in crawlers
        if not parser.can_fetch(name, "/")
    }
    assert kept_out == set(names)
    assert parser.can_fetch("Googlebot", "/")
    assert parser.can_fetch("bingbot", "/")


def test_no_crawler_is_in_two_presets() -> None:
    names = [name.lower() for crawlers in PRESETS.values() for name in crawlers]
    assert len(names) == len(set(names))


def test_the_documentation_lists_each_crawler_with_its_source() -> None:
    rows = re.findall(r'^\| `"(ai-\w+)"` \| (.+?) \| ', DOCS.read_text(), re.MULTILINE)
    listed = {
        preset: re.findall(r"\[([^]]+)\]\(([^)]+)\)", cell) for preset, cell in rows
    }
    assert listed == {
        preset: list(crawlers.items()) for preset, crawlers in PRESETS.items()
    }
