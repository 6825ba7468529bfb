"""The apps beside the core: one whose folder is deleted is not missed."""

from __future__ import annotations

from pathlib import Path

import django_sitemaps_plus

#: As ``INSTALLED_APPS`` has them.
APPS = [
    f"django_sitemaps_plus.contrib.{path.parent.name}"
    for path in sorted(
        Path(django_sitemaps_plus.__file__).parent.glob("contrib/*/apps.py")
    )
]
