"""What docs/insight.md has for Prometheus, a health endpoint and Sentry runs."""

from __future__ import annotations

import gzip
import json

import pytest

from tests.support.documented import INCLUDE, ROOT, Site, blocks, site
from tests.support.fakes.server import FakeServer

__all__ = ["site"]

SECTION = """
from django_sitemaps_plus import Sitemap, register
from .models import Article

@register
class ArticleSitemap(Sitemap):
    model = Article
"""
MONITORED = """
INSTALLED_APPS += [
    "django_sitemaps_plus",
    "django_sitemaps_plus.contrib.insight",
]
SITEMAPS_PLUS = {
    "BASE_URL": "https://www.example.com",
    "ENGINES": {"memory": {"BACKEND": "django_sitemaps_plus.engines.memory.Memory"}},
}
"""
EXPORTED = """
from django.http import HttpResponse
from prometheus_client import generate_latest

urlpatterns += [path("metrics/", lambda request: HttpResponse(generate_latest()))]
"""
#: Where the recipes are asked, before and after the pages are built.
ASKED = ("/health/sitemaps/", "/metrics/sitemaps/", "/metrics/")


@pytest.fixture
def monitored(site: Site) -> Site:
    """A site with all recipes of the page about monitoring."""
    site.add("news/sitemaps.py", SECTION)
    site.add("settings.py", MONITORED)
    site.add("urls.py", INCLUDE)
    page = ROOT / "docs" / "insight.md"
    for block in blocks(page, "python"):
        if block.startswith("# "):
            site.add_example(block)
    site.add("urls.py", EXPORTED)
    return site


def check_ins(sentry: FakeServer) -> list[tuple[str, str]]:
    """Return the slug and the state of each check-in that a server was sent."""
    lines = [
        json.loads(line)
        for request in sentry.requests
        for line in gzip.decompress(request.body).splitlines()
    ]
    found = [line for line in lines if "check_in_id" in line]
    return [(one["monitor_slug"], one["status"]) for one in found]


def test_the_recipes_run(monitored: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    with FakeServer() as sentry:
        monkeypatch.setenv("SENTRY_DSN", f"http://key@{sentry.host}/1")
        work = ("build_sitemaps", "notify_engines")
        told = monitored.visit(*ASKED, "--", *work, "--", *ASKED)
        slug = "ping-sitemaps"
        assert check_ins(sentry) == [(slug, "in_progress"), (slug, "ok")]
        sentry.requests.clear()
        monitored.add("settings.py", "DEBUG = True\n")
        with pytest.raises(AssertionError, match="DEBUG is on"):
            monitored.visit("notify_engines")
        assert check_ins(sentry) == [(slug, "in_progress"), (slug, "error")]
    before, _, after = told.split("--\n")
    wrong = '503 {"wrong": ["Section \'article\' was never built'
    assert wrong in before
    assert after.startswith('200 {"wrong": []}\n')
    # Exported by the view of the page, and by the registry of the process.
    assert before.count("\nsitemaps_waiting 1.0\n") == 2
    for name in ("waiting", "paused_engines", "unbuilt_pages", "left_out_rows"):
        assert after.count(f"\nsitemaps_{name} 0.0\n") == 2
    for name in ("unbuilt_pages", "left_out_rows"):
        assert f"sitemaps_{name} " not in before
