"""A site whose state of health is looked at."""

from __future__ import annotations

import time
from typing import Any

import pytest

from django_sitemaps_plus.audit.queries import store
from django_sitemaps_plus.models import Audit
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, run_command
from tests.support.outbox_world import happened, run, use


class Small(ArticleSitemap):
    """Ten articles to a page."""

    limit = 10


@pytest.fixture
def sound(register: Any, settings: Any) -> None:
    """A site with nothing wrong, of which everything was looked at."""
    use(settings, one="Few")
    register("article", Small)
    articles(25)
    run_command("build_sitemaps")
    happened("/a/")
    run()
    audited()
    audited(fetched="live", fetched_urls=25)
    audited(fetched="crawl", fetched_urls=4, urls=4, sections={})


def audited(kind: str = "", section: str = "article", **values: Any) -> None:
    fetched = values.get("fetched_urls", 0)
    values = {"sections": {"article": [25, fetched]}, "urls": 25, **values}
    counts = {kind: {section: 3}} if kind else {}
    audit = Audit(started_at=1, finished_at=time.time() - 600, counts=counts, **values)
    audit.errors = 3 if kind else 0
    store(audit, [])
