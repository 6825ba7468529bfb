"""The crawler's view through a real nginx."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.db.models import F

from django_sitemaps_plus import Route
from django_sitemaps_plus.contrib.audit import crawler
from django_sitemaps_plus.contrib.audit.queries import last_crawls
from django_sitemaps_plus.models import UrlChange
from django_sitemaps_plus.sitemaps.site import Site
from tests.compat.stage import nginx
from tests.contrib.audit import kinds
from tests.support.factories import articles
from tests.support.fakes.ports import free_port
from tests.support.fakes.site import FakeSite
from tests.support.helpers import ArticleSitemap, run_command
from tests.support.mirror import Mirror
from tests.testapp.models import Article

pytestmark = [pytest.mark.nginx, pytest.mark.django_db]


@pytest.fixture
def mirror(register: Any, settings: Any) -> Iterator[Mirror]:
    """The site that stands behind nginx; ``through`` records it."""
    with Mirror() as running:
        register("article", ArticleSitemap)
        articles(200)
        yield running


@contextmanager
def through(
    mirror: FakeSite, settings: Any, folder: Path, server: str = "", location: str = ""
) -> Iterator[str]:
    """Run nginx in front of the site, which then has its address."""
    assert isinstance(mirror, Mirror)
    port = free_port()
    settings.SITEMAPS_PLUS = {"BASE_URL": f"http://127.0.0.1:{port}"}
    run_command("build_sitemaps")
    mirror.record()
    with nginx(folder, port, mirror.host, server, location):
        yield f"http://127.0.0.1:{port}"


def look() -> list[tuple[str, str]]:
    site = Site.current().address()
    assert site is not None
    crawler.check_as_crawler(site, private=True)
    return [(one.kind, one.text) for one in last_crawls()[0].findings.order_by("pk")]


def test_nginx_that_only_passes_on_is_no_fault(
    mirror: Mirror, settings: Any, tmp_path: Path
) -> None:
    gzips = "gzip on; gzip_types application/xml text/plain; gunzip on; gzip_vary on;"
    with through(mirror, settings, tmp_path, gzips):
        assert look() == []


@pytest.mark.parametrize(
    ("server", "kind", "text"),
    [
        (
            "location ~ gz$ { add_header Content-Encoding gzip; "
            "proxy_pass http://{behind}; }",
            kinds.ENCODED,
            "was decompressed on its way, although its name ends .gz",
        ),
        (
            "gzip on; gzip_types application/xml; gzip_min_length 1; "
            "proxy_hide_header Content-Encoding;",
            kinds.ENCODED,
            "is still gzipped after it was decompressed",
        ),
        (
            'if ($http_user_agent ~* "bingbot") { return 403; }',
            kinds.REFUSED,
            "answers 403 (as bingbot over IPv4)",
        ),
        (
            "location = /sitemap.xml { return 496; }",
            kinds.REFUSED,
            "answers 400: No required SSL certificate was sent, says the web server",
        ),
        (
            "location = /sitemap.xml { return 301 https://$host$request_uri; }",
            kinds.MOVED,
            "redirects to https://127.0.0.1/sitemap.xml (301)",
        ),
        (
            "location = /sitemap.xml { return 302 /sitemap.xml; }",
            kinds.MOVED,
            "again and again",
        ),
        (
            "location = /sitemap.xml { return 200 '<!doctype html>Welcome!'; }",
            kinds.NOT_OURS,
            "is a web page",
        ),
        (
            "add_header X-Robots-Tag noindex always;",
            kinds.HEADER,
            "X-Robots-Tag is noindex, not missing",
        ),
    ],
)
def test_what_nginx_is_told_to_do_is_found(
    mirror: Mirror, settings: Any, tmp_path: Path, server: str, kind: str, text: str
) -> None:
    with through(mirror, settings, tmp_path, server):
        found = look()
    assert {one for one, _ in found} == {kind}
    assert text in str(found)


@pytest.mark.parametrize("key", ["", 'proxy_cache_key "$uri";'])
def test_an_old_copy_in_the_cache_of_nginx_is_found_however_often_the_site_changes(
    mirror: Mirror, settings: Any, tmp_path: Path, key: str
) -> None:
    """Also one that is sent for an address with a query."""
    cache = (
        f"proxy_cache old; proxy_cache_valid 200 1d; {key} "
        "proxy_ignore_headers Cache-Control Vary;"
    )
    with through(mirror, settings, tmp_path, location=cache):
        mirror.spoil(headers={"Last-Modified": "Thu, 01 Jan 2026 00:00:00 GMT"})
        assert look() == []
        for ago in (7_300, 60, 1):
            Article.objects.filter(pk=Article.objects.latest("pk").pk).delete()
            run_command("build_sitemaps", "--reconcile")
            newest = UrlChange.objects.latest("pk").pk
            UrlChange.objects.filter(pk=newest).update(at=time.time() - ago)
        mirror.record()
        found = look()
    assert {one for one, _ in found} == {kinds.OLD_COPY}
    assert "is an old copy: outdated for 2 hours" in str(found)


@pytest.mark.django_db(transaction=True)
def test_a_static_front_end_passes_on_what_the_documentation_says(
    live_server: Any, register: Any, settings: Any, tmp_path: Path
) -> None:
    page = Path(__file__).parents[2] / "docs" / "headless.md"
    (block,) = re.findall(r"^```nginx\n(.*?)^```$", page.read_text(), re.M | re.S)
    key = "0123456789abcdef"
    assert "your_key" in block
    block = block.replace("your_key", key)
    port = free_port()
    settings.ALLOWED_HOSTS = ["api.example.com"]
    engine = "django_sitemaps_plus.engines.indexnow.IndexNow"
    settings.SITEMAPS_PLUS = {
        "BASE_URL": f"http://127.0.0.1:{port}",
        "ENGINES": {"indexnow": {"BACKEND": engine, "OPTIONS": {"key": key}}},
    }
    location = Route("/news/{slug}", slug=F("slug"))
    register("article", type("News", (ArticleSitemap,), {"location": location}))
    (tmp_path / "www" / "news").mkdir(parents=True)
    for slug in ("first", "größe"):
        articles(1, slug=slug)
        (tmp_path / "www" / "news" / f"{slug}.html").write_text(f"<h1>{slug}</h1>")
    run_command("build_sitemaps")
    behind = live_server.url.removeprefix("http://")
    server = block.replace("https://api.example.com;", f"http://{behind};")
    server += "default_type text/html; root {folder}/www;"
    server += "location /news/ { try_files $uri.html =404; }"
    # What the documentation forgets is not there.
    with nginx(tmp_path, port, behind, server, "return 404;"):
        out, err, code = run_command("check_sitemaps", "--live", "--rate", "50")
        assert (err, code) == ("", 0), out
        assert "Audit: 2 URLs, 2 of them fetched; 0 errors" in out
        assert "1 of 1 sitemap requested; 0 errors and 0 warnings" in out
        out, _, _ = run_command("ping_sitemaps", "--check", "--force")
        assert "indexnow: The key file is at " in out
