"""
The section of the accidents; importing this registers it.

Its builders sleep, or are killed, in the middle of a page, where the test has put a
file of that name into its folder.
"""

from __future__ import annotations

import os
import signal
import time
from pathlib import Path
from typing import Any

from django_sitemaps_plus import Sitemap, register
from tests.testapp.models import Article

from . import site
from .truth import LIMIT


@register(name="slow")
class SlowSitemap(Sitemap):
    limit = LIMIT

    def items(self) -> Any:
        return Article.objects.filter(live=True)

    def location(self, item: Article) -> str:  # type: ignore[override]
        folder = Path(site.GIVEN["folder"])
        if (folder / "die").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        if (folder / "sleep").exists():
            # The first page takes longest.
            time.sleep(0.3 if item.pk <= LIMIT else 0.1)
        return f"/articles/{item.slug}/"
