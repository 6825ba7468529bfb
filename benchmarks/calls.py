"""
How long the way is: the package's own functions that one request calls.

Of a fresh page, a page of 500 that is stale because a row of it was saved, and the
index: how many calls there are, and of how many modules.
"""

from __future__ import annotations

import inspect
import sys
from collections import Counter
from pathlib import Path
from types import FrameType

import django_sitemaps_plus

from . import bench, data, site
from .one_file import save

SECTION, ROWS = "small", 50_000
PAGE, INDEX = f"/sitemap-{SECTION}-1.xml", "/sitemap.xml"
PACKAGE = str(Path(django_sitemaps_plus.__file__).parent)


def calls_of(path: str) -> Counter[tuple[str, str]]:
    """Return how often ``GET path`` calls each function: its module and its name."""
    found: Counter[tuple[str, str]] = Counter()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        # A generator is called once, however often it goes on.
        goes_on = code.co_flags & inspect.CO_GENERATOR and frame.f_lasti > 0
        if event == "call" and code.co_filename.startswith(PACKAGE) and not goes_on:
            module = code.co_filename.removeprefix(f"{PACKAGE}/")
            found[module, code.co_qualname] += 1

    sys.setprofile(note)
    try:
        site.page(path, **site.GZIP)
    finally:
        sys.setprofile(None)
    return found


def main() -> int:
    """Run it, and return the exit code."""
    parser = bench.parser(__doc__, rounds=1)
    parser.add_argument("--list", action="store_true", help="list the functions too")
    options = bench.start(parser, SECTION)
    data.load(book=ROWS)
    from django_sitemaps_plus.models import Page

    report = bench.Report("Calls of one request")
    site.build(SECTION)
    for path in (PAGE, INDEX, PAGE, INDEX):  # what is done once in a process
        site.page(path, **site.GZIP)
    found = {"a fresh page": calls_of(PAGE), "the index": calls_of(INDEX)}
    # Just after its first build a page looks up what was saved once more.
    Page.objects.update(unknown_at=0)
    for key in (1, 2):
        save("book", key)
        found["a stale page"] = calls_of(PAGE)
    most = {"a fresh page": 90, "a stale page": 600, "the index": 150}
    for what, calls in found.items():
        how = f"of {len({module for module, _ in calls})} modules"
        report.at_most(f"{what}: calls", calls.total(), how, target=most[what])
        if options.list:
            for (module, name), count in calls.most_common():
                print(f"{count:5} {module} {name}")
    return report.finish()


if __name__ == "__main__":
    sys.exit(main())
