"""
Take the pictures of the documentation, by Chromium without a window.

From the repository's root: ``python example_project/take_screenshots.py``. It needs
Debian's ``chromium`` and ``faketime``, and the extras ``test`` and ``google``. The
site lives through a month of its own, in a temporary folder: it grows, notes change,
fake engines are notified, and crawlers come by. The pictures are written to
``docs/pictures/``, and have the same dates each time.
"""

from __future__ import annotations

import contextlib
import datetime as dt
import json
import logging
import math
import os
import re
import sys
import tempfile
import threading
import time
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from io import StringIO
from pathlib import Path

ROOT = Path(__file__).parent.parent
FOLDER = ROOT / "docs" / "pictures"
NAME = "http://unicode.example"

#: The last day, and how many there are.
TODAY, DAYS = dt.date(2026, 3, 2), 30
#: The last character of the first day, and of the last.
FIRST, LAST = 0xFFFF, 0x1FFFF
#: Characters come on Mondays, Wednesdays and Fridays.
WEEKDAYS = (0, 2, 4)
#: Every how many days a crawler comes.
CRAWLERS = {"Googlebot": 1, "bingbot": 2, "YandexBot": 4, "Applebot": 5, "GPTBot": 7}
#: Pages that are wrong, of those in unicode_book/faults.py.
FAULTS = {
    "/about/?utm_source=mail",
    "/faults/gone/",
    "/faults/moved/",
    "/faults/hidden/",
}

ADMIN, NOTES = "/admin/sitemaps_plus/", "/sitemap-note-1.xml"
#: By the name of the picture: what is shown, and the headings of the first and the last
#: section; or how high it is.
PICTURES: dict[str, tuple[str, tuple[str, str] | int]] = {
    "admin": (ADMIN, ("", "sections")),
    "audit": (ADMIN, ("audit", "audit")),
    "indexed": (ADMIN, ("indexed", "indexed")),
    "sitemap": (NOTES, 620),
}
#: What Google says of so many URLs in a hundred; of the others, that they are indexed.
NOT_INDEXED = {
    "Crawled - currently not indexed": 9,
    "Discovered - currently not indexed": 4,
}
#: Where a section of the admin begins and ends.
_PLACE = (
    "(r => [r.top + scrollY, r.bottom + scrollY])(document.querySelector"
    "('#sitemaps-{}').closest('section').getBoundingClientRect())"
)


def main() -> None:
    """Start once more with a clock that can be set, then take them all."""
    if "LD_PRELOAD" not in os.environ:
        (library,) = Path("/usr/lib").glob("*/faketime/libfaketime.so.1")
        os.environ |= {
            "LD_PRELOAD": str(library),
            "FAKETIME": "+0",
            "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        }
        os.execv(sys.executable, [sys.executable, *sys.argv])  # noqa: S606 (this script)
    # Chromium has the time of the machine.
    del os.environ["LD_PRELOAD"]
    # The library refuses the call that time.sleep() makes.
    time.sleep = lambda seconds: threading.Event().wait(seconds)
    sys.path.insert(0, str(ROOT))
    FOLDER.mkdir(exist_ok=True)
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        set_clock(0, "00:00")
        with serving(Path(folder)) as address:
            live()
            photograph(address)


# The clock


def set_clock(day: int, hour: str) -> dt.date:
    """Let it be an hour of a day, and return its date; the last is ``DAYS - 1``."""
    os.environ["FAKETIME"] = "+0"
    date = TODAY - dt.timedelta(days=DAYS - 1 - day)
    wanted = dt.datetime.fromisoformat(f"{date} {hour}+00:00")
    os.environ["FAKETIME"] = f"{math.ceil(wanted.timestamp() - time.time()):+}"
    return date


# The site


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Serve the example site, with two engines to notify; yields its address."""
    from tests.support.fakes.indexnow import FakeIndexNow
    from tests.support.fakes.inspection import FakeInspection
    from tests.support.fakes.ports import free_port

    port = free_port()
    address = f"http://127.0.0.1:{port}"
    with ExitStack() as stack:
        indexnow = stack.enter_context(FakeIndexNow("api", site=address))
        owned = {f"{NAME}/": "siteOwner"}
        google = stack.enter_context(FakeInspection(owned, site=address))
        google.says = inspected
        credentials = folder / "google.json"
        credentials.write_text(json.dumps(google.credentials))
        os.environ |= {
            "DJANGO_SETTINGS_MODULE": "encyclopedia_site.settings",
            "EXAMPLE_BASE_URL": NAME,
            "EXAMPLE_CREDENTIALS": str(credentials),
            "EXAMPLE_DATABASE": str(folder / "unicode.sqlite3"),
            "EXAMPLE_DEBUG": "0",
            "EXAMPLE_FAULTS": "1",
            "EXAMPLE_INDEXNOW": indexnow.url,
            "EXAMPLE_SEARCH_CONSOLE": google.endpoint,
            "EXAMPLE_SERVER": address,
        }
        import django

        django.setup()
        from django.contrib.staticfiles.handlers import StaticFilesHandler
        from django.core.servers.basehttp import run
        from django.core.wsgi import get_wsgi_application

        from django_sitemaps_plus.delivery.thread import background_thread

        handler = StaticFilesHandler(get_wsgi_application())
        listening = partial(run, "127.0.0.1", port, handler, threading=True)
        threading.Thread(target=listening, daemon=True).start()
        stack.callback(background_thread.stop)
        yield address


def inspected(url: str) -> dict[str, str]:
    """Return what Google says of a URL: the same each time."""
    from tests.support.fakes.inspection import INDEXED

    place = zlib.crc32(url.encode()) % 100
    said = {**INDEXED, "lastCrawlTime": f"{TODAY - dt.timedelta(days=9)}T02:03:04Z"}
    for reason, share in NOT_INDEXED.items():
        if 0 <= place < share:
            said |= {"verdict": "NEUTRAL", "coverageState": reason}
        place -= share
    return said


def live() -> None:
    """Live through the days."""
    from django.contrib.auth import get_user_model
    from django.core.management import CommandError, call_command
    from django.test import Client
    from unicode_book import faults
    from unicode_book.models import Note

    from django_sitemaps_plus.contrib.insight.readers import reader_counts

    def run(name: str, *arguments: str) -> None:
        call_command(name, *arguments, stdout=StringIO(), stderr=StringIO())

    def read(crawler: str, path: str) -> str:
        agent = {"user-agent": f"Mozilla/5.0 (compatible; {crawler})"}
        known = {"if-none-match": tags.get((crawler, path), "")}
        answer = client.get(path, headers={**agent, **known})
        tags[crawler, path] = answer.headers["ETag"]
        return answer.content.decode()

    for path in set(faults.FAULTS) - FAULTS:
        del faults.FAULTS[path]
    client = Client(headers={"host": "unicode.example"})
    tags: dict[tuple[str, str], str] = {}
    for day in range(DAYS):
        date = set_clock(day, "04:00")
        if day == 0 or date.weekday() in WEEKDAYS:
            last = FIRST + (LAST - FIRST) * day // (DAYS - 1)
            run("load_unicode", "--last", f"U+{last:X}")
        set_clock(day, "06:10")
        for note in Note.objects.all()[day % 4 :: 7]:
            note.updated = dt.datetime.now(dt.UTC)
            note.save()
        run("ping_sitemaps")
        # Unless the server's thread does so at this moment.
        with contextlib.suppress(CommandError):
            run("sitemap_coverage", "--force")
        for number, (crawler, every) in enumerate(CRAWLERS.items()):
            if day % every == 0:
                set_clock(day, f"06:{15 + 3 * number}")
                # Notes change each day, so the index is never the one of last time.
                index = read(crawler, "/sitemap.xml")
                for page in re.findall(rf"<loc>{NAME}(/.*?)</loc>", index):
                    read(crawler, page)
    reader_counts.store(at_once=True)
    set_clock(DAYS - 1, "08:00")
    # They end with 1 where something is wrong.
    with contextlib.suppress(CommandError):
        run("check_sitemaps")
    with contextlib.suppress(CommandError):
        run("check_sitemaps", "faults", "pages", "note", "--fetch")
    get_user_model().objects.create_superuser("admin", "", "admin")


def photograph(address: str) -> None:
    """Take the pictures."""
    from tests.support.browser import browser
    from tests.support.example_site import log_in

    with browser() as tab:
        log_in(tab, address)
        for name, (path, part) in PICTURES.items():
            set_clock(DAYS - 1, "09:30")
            tab.show_as(width=1280)
            tab.open(f"{address}{path}")
            top, bottom = 0, part
            if isinstance(part, tuple):
                first, last = part
                top = tab.run(_PLACE.format(first))[0] - 16 if first else 0
                bottom = tab.run(_PLACE.format(last))[1] + 16
            clip = {"x": 0, "y": top, "width": 1280, "height": bottom - top, "scale": 1}
            tab.screenshot(FOLDER / f"{name}.png", clip)


if __name__ == "__main__":
    main()
