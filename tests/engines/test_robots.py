"""The robots.txt that crawlers get, whoever serves it."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.engines import robots_check
from tests.support.fakes.faults import Reply
from tests.support.fakes.site import FakeSite, Page

CLOSED = "User-agent: *\nDisallow: /\n"


@pytest.mark.parametrize(
    ("page", "said"),
    [
        (None, ""),
        ("", ""),
        ("User-agent: *\nDisallow: /cart/\n", ""),
        ("User-agent: BadBot\nDisallow: /\n", ""),
        (CLOSED + "Allow: /blog/\n", ""),
        (Reply(status=301, headers={"Location": "/other.txt"}), ""),
        (Reply(status=403, body=CLOSED.encode()), ""),
        (CLOSED, "keeps all crawlers out"),
        ("\ufeffUSER-AGENT : *  # all\r\nDISALLOW:/ # of it\r\n", "keeps all crawlers"),
        (CLOSED + "#" * 600_000, "keeps all crawlers out"),
        (Reply(status=503), "has an error (503)"),
    ],
)
def test_what_is_served_and_what_it_means(
    page: Page | None, said: str, site: FakeSite
) -> None:
    if page is not None:
        site.pages["/robots.txt"] = page
    finding = robots_check.look(site.origin, timeout=5, private=True)
    assert finding.is_good is not bool(said)
    assert said in finding.text
    assert bool(finding.fix) is bool(said)


def test_a_site_that_cannot_be_reached(site: FakeSite) -> None:
    assert "no public address" in robots_check.look(site.origin, timeout=5).text
    assert site.requests == []
    site.stop()
    finding = robots_check.look(site.origin, timeout=5, private=True)
    assert not finding.is_good
    assert "refuses connections" in finding.text
