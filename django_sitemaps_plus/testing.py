"""
For a project's own tests, with unittest and with pytest.

::

    from django_sitemaps_plus import testing

    sent = [url for batch in testing.engines()["memory"].sent for url in batch.urls]

The engines are those that the settings name, by their aliases. They are created
again whenever a test overrides ``SITEMAPS_PLUS``.
"""

from __future__ import annotations

from .delivery.engines import engines

__all__ = ["engines"]
