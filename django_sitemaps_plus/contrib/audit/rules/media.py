"""What is wrong with the images and videos of URLs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator

from django_sitemaps_plus.contrib.audit.entries import Entry
from django_sitemaps_plus.contrib.audit.kinds import _, error, warning
from django_sitemaps_plus.protocol.dates import parse_w3c

from . import Listed, Problem, rule

INSECURE_IMAGE = warning(
    "A050",
    _("images with http on pages with https"),
    _("give images the https address: browsers may not show them otherwise"),
)
VIDEO_IS_PAGE = error(
    "A052",
    _("videos whose content is the page itself"),
    _("give content_loc the address of the file, or player_loc that of the player"),
)
EXPIRED_VIDEO = warning(
    "A053",
    _("videos that have expired"),
    _("leave videos out after their expiration_date"),
)


@rule(Listed)
def media(seen: Listed) -> Iterator[Problem]:
    """Find images that browsers do not show, and invalid videos."""
    for entry in seen.special:
        for image in entry.images:
            if entry.location.startswith("https:") and image.startswith("http:"):
                yield Problem(INSECURE_IMAGE, f"has the image {image}", entry.location)
        if entry.players:
            yield from _of_videos(entry, seen.section.now)


def _of_videos(entry: Entry, now: dt.datetime) -> Iterator[Problem]:
    if entry.location in entry.players:
        text = "is the content or the player of its own video"
        yield Problem(VIDEO_IS_PAGE, text, entry.location)
    for text in entry.expires:
        try:
            end = parse_w3c(text)
        except ValueError:
            continue  # the build says so
        # A day lasts until its end in the last zone.
        if end + dt.timedelta(hours=36 * ("T" not in text)) < now:
            expired = f"has a video that expired {text}"
            yield Problem(EXPIRED_VIDEO, expired, entry.location)
