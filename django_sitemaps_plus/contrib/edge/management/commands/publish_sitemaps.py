"""``manage.py publish_sitemaps``: put what has changed into the storage."""

from __future__ import annotations

import time
from typing import Any

from django_sitemaps_plus.contrib.edge.conf import own_settings
from django_sitemaps_plus.contrib.edge.publish import publish
from django_sitemaps_plus.contrib.edge.published import PUBLISHED_FOR
from django_sitemaps_plus.management.utils import SitemapsCommand, counted, misused

#: Seconds between two looks whether another process is done.
_POLL = 0.2


class Command(SitemapsCommand):
    """Put the sitemaps whose bytes changed; build nothing."""

    help = (
        "Put what has changed into the storage of PUBLISH. No page is built: run "
        "build_sitemaps before. Exits with 0 when done, 1 if a file could not be "
        "published, 2 if misused."
    )

    def run(self, **options: Any) -> str:
        """Publish what has changed; return what is wrong."""
        if own_settings().publish is None:
            raise misused(
                "publish_sitemaps needs a storage: set SITEMAPS_PLUS['PUBLISH'], for "
                'example {"STORAGE": "sitemaps"}, with an alias of STORAGES.'
            )
        site, puts, deleted = self.site_address(), 0, 0
        end = time.monotonic() + 2 * PUBLISHED_FOR
        while time.monotonic() < end:
            done = publish(site, at_once=True)
            if done is None:
                # Another process is at it, or was killed.
                time.sleep(_POLL)
                continue
            puts, deleted = puts + done.puts, deleted + done.deleted
            if done.is_cut_short:
                continue
            for text in done.errors:
                self.complain(text)
            gone = f", {deleted} deleted" if deleted else ""
            self.say(f"Published: {counted(done.files, 'file')}; {puts:,} put{gone}.")
            return "Not all files could be published." if done.errors else ""
        return "Another process is publishing. Run the command again when it is done."
