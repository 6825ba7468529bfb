"""What the crawler's view reads is counted as nobody's visit."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.contrib.insight.models import Read
from django_sitemaps_plus.contrib.insight.readers import reader_counts
from tests.contrib.audit import test_crawl as crawls
from tests.support.mirror import Mirror

pytestmark = pytest.mark.django_db

mirror = crawls.mirror


def test_nobody_counts_it_as_a_crawler(mirror: Mirror) -> None:
    crawls.look()
    agents = {request.headers["user-agent"] for request in mirror.requests}
    for agent in agents:
        reader_counts.count("/sitemap.xml", agent, 200)
    reader_counts.store(at_once=True)
    # The site's own answers were recorded by a client without a name.
    assert set(Read.objects.values_list("crawler")) == {("",)}
