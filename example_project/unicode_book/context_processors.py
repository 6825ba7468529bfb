"""What every template knows."""

from __future__ import annotations

import sys
import unicodedata

from django.conf import settings
from django.http import HttpRequest


def site(request: HttpRequest) -> dict[str, str]:
    """Return the site's origin, and which Unicode and Python it runs on."""
    return {
        "base_url": settings.BASE_URL,
        "unicode_version": unicodedata.unidata_version,
        "python_version": f"{sys.version_info.major}.{sys.version_info.minor}",
    }
