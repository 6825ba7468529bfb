"""News that is too old, or not published yet."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from django_sitemaps_plus.contrib.audit.kinds import _, warning
from django_sitemaps_plus.protocol.dates import parse_w3c

from . import Listed, Problem, rule
from .lastmods import FIRST_ZONE, LENGTH_OF_DAY, TOLERANCE

OLD_NEWS = warning(
    "A035",
    _("news that is older than two days"),
    _("list articles of the last two days only, and let expires remove them"),
)
FUTURE_NEWS = warning(
    "A037",
    _("news with a date in the future"),
    _("list articles from their publication on: see appears"),
)

#: How long news may be listed.
#: https://developers.google.com/search/docs/crawling-indexing/sitemaps/news-sitemap
_NEWS = dt.timedelta(days=2)


@rule(Listed)
def news(seen: Listed) -> Iterator[Problem]:
    """Find news that is too old, or not published yet."""
    for entry in seen.special:
        published = entry.published
        try:
            first = last = parse_w3c(published)
        except ValueError:
            continue  # none is news, and of others the schema says so
        if len(published) == LENGTH_OF_DAY:
            first, last = first - FIRST_ZONE, last + dt.timedelta(days=1)
        text = f"published {published}"
        if seen.section.now - last > _NEWS:
            yield Problem(OLD_NEWS, text, entry.location)
        elif first > seen.section.now + TOLERANCE:
            yield Problem(FUTURE_NEWS, text, entry.location)
