"""
What crawlers ask for most often: a stored page, and a 304.

Against Django's smallest views with one query, by the ORM and without it, and what
counting readers adds to it. And the statements of the request that finds its page
stale, because an object was saved, and builds it.
"""

from __future__ import annotations

import sys
from functools import partial

from django.utils import timezone

from . import bench, data, site
from .timing import Contestant, medians, ratio, shown

PATH = "/sitemap-product-1.xml"
GOOGLEBOT = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"


def main() -> int:
    """Run it, and return the exit code."""
    options = bench.start(bench.parser(__doc__, rounds=200), "product")
    data.load(product=50_000)
    site.build("product")
    report = bench.Report("A stored page of 50,000 URLs")
    tag = site.page(PATH, **site.GZIP).headers["ETag"]
    seen = {**site.GZIP, "HTTP_IF_NONE_MATCH": tag}
    crawler = {**seen, "HTTP_USER_AGENT": GOOGLEBOT}
    statuses = [site.ask(PATH, **site.GZIP).status, site.ask(PATH, **seen).status]
    wrong = [] if statuses == [200, 304] else [f"answered {statuses}"]
    report.check("stored page and 304: other answers", wrong)
    taken = medians(
        [
            Contestant("smallest", lambda: site.page("/smallest/"), times=5),
            Contestant("select", lambda: site.page("/select/"), times=5),
            Contestant("page", lambda: site.page(PATH, **site.GZIP), times=5),
            Contestant("unpacked", lambda: site.page(PATH), times=1),
            Contestant("304", lambda: site.ask(PATH, **seen), times=5),
            Contestant(
                "counted",
                lambda: site.ask(PATH, **crawler),
                prepare=lambda: count_readers(True),
                times=5,
            ),
            Contestant(
                "uncounted",
                lambda: site.ask(PATH, **crawler),
                prepare=lambda: count_readers(False),
                times=5,
            ),
        ],
        options.rounds,
        collect=False,
    )
    milliseconds, how = taken["page"].median * 1000, "to a client that accepts gzip"
    report.at_most("a stored page, in ms", milliseconds, how, target=5)
    report.note("a stored page, unpacked", shown(taken["unpacked"].median))
    report.at_most(
        "a 304 / the smallest view with one query",
        *ratio(taken["304"], taken["smallest"]),
        target=1.2,
    )
    report.at_most(
        "a 304 / a view with one SELECT, without the ORM",
        *ratio(taken["304"], taken["select"]),
        target=1.6,
    )
    report.at_most(
        "a 304 / the same without counting readers",
        *ratio(taken["counted"], taken["uncounted"]),
        target=1.03,
    )
    count_readers(True)
    statements = stale(report, target=15)
    code = report.finish()
    for number, statement in enumerate(statements, 1):
        print(f"{number:3} {statement[:160]}")
    return code


def count_readers(is_on: bool) -> None:
    """Have requests counted by crawler, or not."""
    from django_sitemaps_plus.contrib.insight.readers import ReaderCounts, reader_counts

    how = ReaderCounts.count if is_on else ignore
    reader_counts.count = partial(how, reader_counts)


def ignore(*given: object) -> None:
    """Count nothing."""


def stale(report: bench.Report, target: int) -> list[str]:
    """Save an object, and return the statements of the request for its page."""
    from .shop.models import Product

    product = Product.objects.get(pk=1)
    product.updated = timezone.now()
    product.save()
    statements = site.queries_of(PATH, **site.GZIP)
    read = [statement for statement in statements if "shop_" in statement]
    wrong = [] if read else ["the page was not built"]
    report.check("a stale page: not compared with its rows", wrong)
    own = [line for line in statements if line not in ("BEGIN", "COMMIT")]
    text = "a stale page: statements"
    how = f"{len(read)} on the rows; {len(statements)} with BEGIN and COMMIT"
    report.at_most(text, len(own), how, target=target)
    return statements


if __name__ == "__main__":
    sys.exit(main())
