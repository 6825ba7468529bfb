"""What the tests of the core use, too."""

from __future__ import annotations

from tests.health.conftest import sound
from tests.support.further_apps import APPS

__all__ = ["sound"]

#: What is shown of audits is tested where there are any.
collect_ignore = (
    []
    if "django_sitemaps_plus.contrib.audit" in APPS
    else [
        *("test_lists.py", "test_metrics.py", "test_overview.py", "test_plans.py"),
        *("test_audits.py", "test_story.py"),
    ]
)
