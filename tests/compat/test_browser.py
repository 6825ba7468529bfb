"""
What people see, in Chromium: wide and narrow, light and dark, in both directions.

axe-core, https://github.com/dequelabs/axe-core, looks for what keeps people from using
a page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.browser import Browser, browser
from tests.support.example_site import example_site, log_in

pytestmark = pytest.mark.browser

#: Few enough that axe is done with a sitemap of all in a second.
LAST = "U+2FF"
#: Sitemaps.
DOCUMENTS = ["/sitemap-note-1.xml", "/sitemap-block-1.xml", "/sitemap.xml"]
_ADMIN = "/admin/sitemaps_plus"
ADMIN = [
    f"{_ADMIN}/",
    f"{_ADMIN}/urlchange/story/?url=/blocks/",
    f"{_ADMIN}/page/1/change/",
    *(f"{_ADMIN}/{name}/" for name in ("section", "page", "change", "urlchange")),
    *(f"{_ADMIN}/{name}/" for name in ("submission", "enginestate")),
    f"{_ADMIN}_insight/read/",
    f"{_ADMIN}_audit/finding/",
    f"{_ADMIN}_webmasters/inspection/",
]
#: Something that an audit might have found, with a long title and a long URL.
FOUND = """
import time
from django_sitemaps_plus.contrib.audit.models import Audit, Finding
now = time.time()
audit = Audit.objects.create(
    started_at=now, finished_at=now, fetched="live", sections={"character": [1, 1]}
)
Finding.objects.create(
    audit=audit, kind="sitemaps_plus.A211", level="error", section="character",
    page="character-12", url="http://unicode.example/characters/" + "a-long-name-" * 9,
    text="lists 12 URLs that it should not list: http://unicode.example/" + "b" * 99,
)
"""
VIEWS = [
    pytest.param(width, dark, id=f"{width} px, {'dark' if dark else 'light'}")
    for width in (1280, 390)
    for dark in (False, True)
]


@pytest.fixture(scope="module")
def address(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("site")
    with example_site(folder, LAST, package, code=FOUND) as found:
        yield found


@pytest.fixture(scope="module")
def tab(address: str) -> Iterator[Browser]:
    """A tab of somebody who is logged in."""
    with browser() as found:
        log_in(found, address)
        yield found


def violations(tab: Browser, axe: str) -> list[str]:
    """Return what axe finds on the page that is shown."""
    tab.run(f"{axe}; 0")
    found: list[dict[str, Any]] = tab.run(
        "axe.run(document, {resultTypes: ['violations']}).then(r => r.violations)"
    )
    return [
        f"{one['id']}: {one['help']}: {json.dumps(node['html'])[:300]}"
        for one in found
        for node in one["nodes"]
    ]


@pytest.mark.parametrize(("width", "dark"), VIEWS)
@pytest.mark.parametrize("path", [*DOCUMENTS, *ADMIN])
def test_axe_finds_nothing(
    tab: Browser, address: str, axe: str, path: str, width: int, dark: bool
) -> None:
    tab.show_as(width=width, dark=dark)
    tab.open(f"{address}{path}")
    assert violations(tab, axe) == []


@pytest.mark.parametrize("width", [1280, 390])
def test_a_finding_shows_its_url_and_its_page(
    tab: Browser, address: str, width: int
) -> None:
    """Django scrolls a list that is too wide, and shows its first columns."""
    tab.show_as(width=width)
    tab.open(f"{address}{_ADMIN}_audit/finding/")
    for name in ("what", "address", "where"):
        hidden = tab.run(
            f"document.querySelector('td.field-{name}, th.field-{name}')"
            ".getBoundingClientRect().right"
            " - document.querySelector('.results').getBoundingClientRect().right"
        )
        assert hidden <= 0, name


@pytest.mark.parametrize("path", DOCUMENTS)
def test_a_sitemap_is_styled_without_a_complaint(
    tab: Browser, address: str, path: str
) -> None:
    """Each entry is a line of its own; without styles, all is one run of text."""
    tab.show_as(width=1280)
    tab.complaints.clear()
    tab.open(f"{address}{path}")
    # Browsers ask for it, whatever they show.
    unknown = [text for text in tab.complaints if "favicon.ico" not in text]
    assert unknown == []
    tops = tab.run(
        "[...document.documentElement.children].slice(0, 3)"
        ".map(entry => entry.getBoundingClientRect().top)"
    )
    assert len(tops) == len(set(tops)) > 1


@pytest.mark.parametrize(("dark", "darker"), [(False, "ink"), (True, "paper")])
def test_it_is_light_or_dark_as_the_browser_is(
    tab: Browser, address: str, dark: bool, darker: str
) -> None:
    tab.show_as(width=1280, dark=dark)
    tab.open(f"{address}/sitemap-note-1.xml")
    brightness = {
        name: tab.run(
            f"getComputedStyle(document.documentElement).{attribute}"
            ".match(/\\d+/g).slice(0, 3).map(Number).reduce((a, b) => a + b)"
        )
        for name, attribute in [("ink", "color"), ("paper", "backgroundColor")]
    }
    assert min(brightness, key=brightness.__getitem__) == darker


def test_the_alternates_of_an_entry_are_to_be_seen(tab: Browser, address: str) -> None:
    """Browsers hide link elements, and CSS has to show their attributes."""
    tab.show_as(width=1280)
    tab.open(f"{address}/sitemap-note-1.xml")
    link = "document.getElementsByTagName('xhtml:link')[1]"
    assert tab.run(f"{link}.getBoundingClientRect().height") > 10
    shown = [
        tab.run(f"getComputedStyle({link}, '::{part}').content")
        for part in ("before", "after")
    ]
    assert shown == ['"de"', tab.run(f"JSON.stringify({link}.getAttribute('href'))")]
