"""
For a project's own tests: the engines that its settings name, by their aliases.

::

    from django_sitemaps_plus.testing import engines

    submitted = [url for batch in engines()["memory"].sent for url in batch.urls]

They are made anew whenever a test overrides ``SITEMAPS_PLUS``.
"""

from __future__ import annotations

from .delivery.engines import engines

__all__ = ["engines"]
