"""
What docs/extending.md lists for apps is what these import.

They are ``django_sitemaps_plus.contrib.audit``, ``django_sitemaps_plus.contrib.edge``,
``django_sitemaps_plus.contrib.formats``, ``django_sitemaps_plus.contrib.insight`` and
``django_sitemaps_plus.contrib.webmasters``.
"""

from __future__ import annotations

from tests.test_rooms import LISTED, listed_for_apps, reached_by_apps


def test_no_name_is_listed_that_no_app_uses() -> None:
    assert sorted(listed_for_apps() - reached_by_apps().keys()) == [], (
        f"Remove these from the table of docs/extending.md below {LISTED.strip()!r}."
    )
