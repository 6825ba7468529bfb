"""
What docs/extending.md lists for apps is what these import.

They are ``django_sitemaps_plus.contrib.audit``, ``django_sitemaps_plus.contrib.edge``,
``django_sitemaps_plus.contrib.formats``, ``django_sitemaps_plus.contrib.insight`` and
``django_sitemaps_plus.contrib.webmasters``.
"""

from __future__ import annotations

from tests.test_rooms import imported_by_apps, listed_for_apps


def test_no_module_is_listed_that_no_app_imports() -> None:
    assert sorted(listed_for_apps() - imported_by_apps()) == []
