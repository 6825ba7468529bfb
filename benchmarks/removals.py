"""
A page of 10,000 URLs that is built again while other URLs were removed just now.

What a section lists no longer another one may list: a build looks through the removals
of all sections since it last read its rows.
"""

from __future__ import annotations

import datetime as dt
import sys
import time
from functools import partial

from django.utils import timezone

from . import bench, data, site
from .timing import Contestant, medians, ratio

ROWS = 10_000
PATH = "/sitemap-track-1.xml"
#: Removed URLs, and how many times as slow the build may be.
MOST = {1_000: 2, 5_000: 2.5}


def main() -> int:
    """Run it, and return the exit code."""
    parser = bench.parser(__doc__, rounds=15)
    options = bench.start(parser, "track", "article")
    data.load(track=ROWS)
    site.build("track")
    report = bench.Report(f"A page of {ROWS:,} URLs, built again after removals")
    runs = [
        Contestant(str(count), partial(site.page, PATH, **site.GZIP), prepare)
        for count, prepare in ((n, partial(stale, n)) for n in (0, *MOST))
    ]
    taken = medians(runs, options.rounds)
    for count, target in MOST.items():
        ratios = ratio(taken[str(count)], taken["0"])
        report.at_most(f"{count:,} URLs removed / none", *ratios, target=target)
    report.check("removals: other events", differences())
    data.forget()
    return report.finish()


def stale(removed: int) -> None:
    """Have an object saved, after another section lost some URLs."""
    from django_sitemaps_plus.changes.queries import location_digest
    from django_sitemaps_plus.models import UrlChange

    from .shop.models import Track

    UrlChange.objects.all().delete()
    paths = [f"/articles/{number}/" for number in range(removed)]
    UrlChange.objects.bulk_create(
        UrlChange(
            section="article",
            kind="removed",
            location=path,
            digest=location_digest(path),
            at=time.time(),
        )
        for path in paths
    )
    track = Track.objects.get(pk=1)
    # Another second each time: that is what the page says.
    track.updated = max(timezone.now(), track.updated + dt.timedelta(seconds=1))
    track.save()


def differences() -> list[str]:
    """Return what is wrong with the events of a build after many removals."""
    from django_sitemaps_plus.models import UrlChange

    stale(max(MOST))
    site.page(PATH, **site.GZIP)
    said = list(UrlChange.objects.filter(section="track").values_list("kind"))
    return [] if said == [("changed",)] else [f"one saved object: {said}"]


if __name__ == "__main__":
    sys.exit(main())
