"""The crawler's view through a real nginx."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db.models import F

from django_sitemaps_plus import Route
from django_sitemaps_plus.contrib.audit import crawler
from django_sitemaps_plus.contrib.audit.queries import last_crawls
from django_sitemaps_plus.sitemaps.site import Site
from tests.compat.stage import nginx
from tests.contrib.audit import kinds
from tests.support.factories import articles
from tests.support.fakes.ports import free_port
from tests.support.helpers import ArticleSitemap, run_command
from tests.support.mirror import Mirror

pytestmark = [pytest.mark.nginx, pytest.mark.django_db]


@pytest.fixture
def mirror(register: Any, settings: Any) -> Iterator[Mirror]:
    """The site that stands behind nginx; ``through`` records it."""
    with Mirror() as running:
        register("article", ArticleSitemap)
        articles(200)
        yield running


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
            "location = /sitemap.xml { return 496; }",
            kinds.REFUSED,
            "answers 400: No required SSL certificate was sent, says the web server",
        ),
    ],
)
def test_what_nginx_is_told_to_do_is_found(
    mirror: Mirror, settings: Any, tmp_path: Path, server: str, kind: str, text: str
) -> None:
    port = free_port()
    settings.SITEMAPS_PLUS = {"BASE_URL": f"http://127.0.0.1:{port}"}
    run_command("build_sitemaps")
    mirror.record()
    site = Site.current().address()
    assert site is not None
    with nginx(tmp_path, port, mirror.host, server):
        crawler.check_as_crawler(site, private=True)
    found = last_crawls()[0].findings.values_list("kind", "text")
    assert {one for one, _ in found} == {kind}
    assert text in str(list(found))


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
