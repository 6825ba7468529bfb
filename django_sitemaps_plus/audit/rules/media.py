"""What is wrong with the images and videos of URLs."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator
from itertools import chain

from django_sitemaps_plus.audit import kinds
from django_sitemaps_plus.audit.entries import Entry
from django_sitemaps_plus.protocol.dates import parse_w3c
from django_sitemaps_plus.protocol.errors import DateError

from .urls import Problem, Urls


def problems_of(
    entries: Iterable[Entry], urls: Urls, now: dt.datetime
) -> Iterator[tuple[str, Problem]]:
    """Yield the URLs with whose images or videos something is wrong, and what."""
    for entry in entries:
        if entry.images or entry.players:
            for problem in chain(_of_images(entry, urls), _of_videos(entry, now)):
                yield entry.location, problem


def _of_images(entry: Entry, urls: Urls) -> Iterator[Problem]:
    is_secure, origin = entry.location.startswith("https:"), str(urls.site.origin)
    for image in entry.images:
        if is_secure and image.startswith("http:"):
            yield kinds.INSECURE_IMAGE, f"has the image {image}"
        path = image.removeprefix(origin)
        if path.startswith("/") and urls.forbids_image(path):
            yield kinds.DISALLOWED_IMAGE, f"has the image {image}"


def _of_videos(entry: Entry, now: dt.datetime) -> Iterator[Problem]:
    if entry.location in entry.players:
        yield kinds.VIDEO_IS_PAGE, "is the content or the player of its own video"
    for text in entry.expires:
        try:
            end = parse_w3c(text)
        except DateError:
            continue  # the build says so
        # A day lasts until its end in the last zone.
        if end + dt.timedelta(hours=36 * ("T" not in text)) < now:
            yield kinds.EXPIRED_VIDEO, f"has a video that expired {text}"
