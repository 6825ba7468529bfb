from __future__ import annotations

import os

from django_sitemaps_plus.contrib.webmasters import google_auth
from tests.engines.conftest import site

__all__ = ["site"]

#: The tests of an extra that is not installed, as in one environment of tox.
collect_ignore = (
    []
    if google_auth.is_installed()
    else [
        "test_google.py",
        "test_google_indexing.py",
        "test_inspections.py",
        "test_month.py",
        "test_shares.py",
        "test_unlisted.py",
    ]
)
if os.environ.get("TEST_DATABASE_URL"):
    # Its clock is moved: that of a server cannot be.
    collect_ignore.append("test_month.py")
