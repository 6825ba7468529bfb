"""
Pagination: which keys belong to which page.

The tables of sections and pages, the boundaries between pages, how a page that
is full is split, and the leases of who may do it.
"""

from __future__ import annotations
