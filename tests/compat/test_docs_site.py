"""
The documentation as a site, which ``tox -e docs`` has built.

Sphinx checks the links of the pages. Here it is seen that what was built has their
anchors, that people find what they look for, and that axe-core finds nothing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import quote, unquote, urlsplit

import pytest
from lxml import html

from tests.compat.test_browser import violations
from tests.support.browser import Browser, browser

pytestmark = pytest.mark.site

SITE = Path(os.environ.get("SITEMAPS_PLUS_SITE", "")).resolve()
#: Lists, prose with code, wide tables, signatures, pictures.
PAGES = ["index", "quickstart", "settings", "checks", "api", "project/example"]
#: What people type who ask "how do I …", and where they read it.
QUESTIONS = {
    "quick start": "quickstart",
    "moving from contrib": "moving-from-contrib",
    "exclude": "sitemaps",
    "images": "images-videos-news",
    "hreflang": "languages",
    "google": "engines",
    "IndexNow 403": "indexnow-403",
    "bulk_update": "changes",
    "AI crawlers": "robots",
    "cloudflare": "edge",
    "prometheus": "insight",
    "S3": "edge",
    "several domains": "several-sites",
    "django-tenants": "tenants",
    "next.js": "headless",
    "wagtail": "wagtail-and-django-cms",
    "celery": "notifying",
    "couldn't fetch": "audit",
    "pytest": "audit",
    "upgrade": "upgrading",
    "uninstall": "uninstalling",
    "cron": "deploying",
    "systemd": "deploying",
    # Names lead to their place.
    "STYLESHEET": "settings.html#STYLESHEET",
    "W011": "checks.html#W011",
    "A105": "audit.html#A105",
    "ping_sitemaps": "commands.html#ping-sitemaps",
}
#: The first five that the search shows, once it has ended.
FOUND = """
new Promise(resolve => {
    const look = () => {
        const summary = document.querySelector(".search-summary")?.innerText ?? "";
        const links = [...document.querySelectorAll("ul.search > li > a")];
        if (/finished|did not match/.test(summary)) {
            resolve(links.slice(0, 5).map(link => link.getAttribute("href")));
        } else {
            setTimeout(look, 20);
        }
    };
    look();
})
"""


class Quiet(SimpleHTTPRequestHandler):
    """Sends the site's files."""

    def log_message(self, *args: object) -> None:
        """Write nothing."""


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """Where the site is served."""
    handler = partial(Quiet, directory=str(SITE))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.fixture(scope="module")
def tab() -> Iterator[Browser]:
    with browser() as found:
        yield found


def test_links_and_anchors_lead_somewhere() -> None:
    pages = {path: html.parse(path).getroot() for path in SITE.rglob("*.html")}
    anchors = {path: set(page.xpath("//@id")) for path, page in pages.items()}
    lost, followed = [], 0
    for path, page in pages.items():
        for address in page.xpath("//a/@href | //link/@href | //@src"):
            parts = urlsplit(address)
            if not parts.scheme:
                target = (path.parent / parts.path).resolve() if parts.path else path
                is_there = target.is_file()
                if parts.fragment:
                    is_there = unquote(parts.fragment) in anchors[target]
                if not is_there:
                    lost.append(f"{path.relative_to(SITE)}: {address}")
                followed += 1
    assert lost == []
    assert followed > 1000


@pytest.mark.browser
# The theme is not ours: each of its widths once, and each of its colours.
@pytest.mark.parametrize(("width", "dark"), [(1280, False), (390, True)])
@pytest.mark.parametrize("page", PAGES)
def test_axe_finds_nothing(
    tab: Browser, address: str, axe: str, page: str, width: int, dark: bool
) -> None:
    tab.show_as(width=width, dark=dark)
    tab.open(f"{address}/{page}.html")
    assert violations(tab, axe) == []
    assert tab.run("document.documentElement.scrollWidth") <= width


@pytest.mark.browser
@pytest.mark.parametrize(("words", "page"), QUESTIONS.items(), ids=QUESTIONS)
def test_the_search_finds_it(tab: Browser, address: str, words: str, page: str) -> None:
    tab.open(f"{address}/search.html?q={quote(words)}")
    # Which words to mark stands in the address.
    found = [link.replace("?highlight=" + quote(words), "") for link in tab.run(FOUND)]
    wanted = page if "#" in page else f"{page}.html"
    assert any(link.startswith(wanted) for link in found), found
