from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.fakes.site import FakeSite


@pytest.fixture
def site() -> Iterator[FakeSite]:
    """A site with a sitemap of two URLs."""
    with FakeSite({"/sitemap.xml": SITEMAP}) as running:
        yield running


SITEMAP = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9">'
    "<url><loc>https://www.example.com/a</loc></url>"
    "<url><loc>https://www.example.com/b</loc></url>"
    "</urlset>"
)
