"""What ``--check`` finds over the network is found by ``--status`` afterwards."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.fakes.faults import Reply
from tests.support.fakes.site import FakeSite
from tests.support.helpers import ArticleSitemap, run_command

pytestmark = pytest.mark.django_db
CLOSED = [{"user_agent": "*", "disallow": ["/"]}]


def test_what_check_found_is_found_again_until_it_is_looked_at_again(
    register: Any, settings: Any
) -> None:
    register("article", ArticleSitemap)
    run_command("build_sitemaps")
    said = "robots.txt fails with status 503"
    with FakeSite({"/robots.txt": Reply(status=503)}) as site:
        settings.SITEMAPS_PLUS = {"BASE_URL": site.origin}
        out, _, code = run_command("ping_sitemaps", "--check", "--force")
        assert (said in out, code) == (True, 1)
        for _ in range(2):
            _, err, code = run_command("ping_sitemaps", "--status")
            assert (said in err, code) == (True, 1)
        site.pages["/robots.txt"] = "User-agent: *"
        run_command("ping_sitemaps", "--check", "--force")
        _, err, _ = run_command("ping_sitemaps", "--status")
        assert said not in err


def test_a_public_site_that_is_closed_is_red_without_engines_too(
    register: Any, settings: Any
) -> None:
    register("article", ArticleSitemap)
    run_command("build_sitemaps")
    public = "https://www.example.com"
    for address in (public, "http://127.0.0.1"):
        settings.SITEMAPS_PLUS = {"BASE_URL": address, "ROBOTS": CLOSED}
        _, err, code = run_command("ping_sitemaps", "--status")
        is_red = "robots.txt disallows everything" in err
        assert (is_red, code) == (address == public, address == public)
