"""
Publishing: the bytes of pages.

How they are built, stored and refreshed, whether a page is fresh or stale, and
the index that lists the pages.
"""

from __future__ import annotations
