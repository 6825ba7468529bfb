"""The live robots.txt of a site."""

from __future__ import annotations

from django_sitemaps_plus.engines import own_files
from tests.support.fakes.faults import Reply
from tests.support.fakes.site import FakeSite, Page

CLOSED = "User-agent: *\nDisallow: /\n"


def test_a_robots_txt_that_blocks_all_crawlers_is_found(site: FakeSite) -> None:
    pages: list[tuple[Page | None, str]] = [
        (None, ""),
        (CLOSED + "Allow: /blog/\n", ""),
        (Reply(status=301, headers={"Location": "/other.txt"}), ""),
        (Reply(status=403, body=CLOSED.encode()), ""),
        (CLOSED, "blocks all crawlers."),
        (CLOSED + "User-agent: GoodBot\nDisallow:\n", "all crawlers but GoodBot."),
        (CLOSED + "User-agent: BadBot\nDisallow: /\n", "blocks all crawlers."),
        ("\ufeffUSER-AGENT : *  # all\r\nDISALLOW:/ # of it\r\n", "blocks all"),
        (CLOSED + "#" * 600_000, "blocks all crawlers"),
        (Reply(status=503), "fails with status 503"),
    ]
    for page, problem in pages:
        site.pages |= {} if page is None else {"/robots.txt": page}
        finding = own_files.check_live_robots(site.origin, timeout=5, private=True)
        assert finding.is_good is not bool(problem), page
        assert problem in finding.text
        assert bool(finding.fix) is bool(problem)


def test_a_site_that_is_private_or_down_is_reported(site: FakeSite) -> None:
    private = own_files.check_live_robots(site.origin, timeout=5)
    assert "not a public address" in private.text
    # A tenant has no BASE_URL.
    assert "BASE_URL, or the tenant's domain" in private.fix
    assert site.requests == []
    site.stop()
    finding = own_files.check_live_robots(site.origin, timeout=5, private=True)
    assert not finding.is_good
    assert "Connection refused" in finding.text
