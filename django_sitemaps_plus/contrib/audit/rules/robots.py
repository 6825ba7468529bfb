"""What robots.txt disallows of that which is listed, and how long it is."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from django_sitemaps_plus.contrib.audit.kinds import _, error, warning
from django_sitemaps_plus.protocol.limits import MAX_ROBOTS_BYTES
from django_sitemaps_plus.protocol.robots import closed, forbids, named

from . import Listed, Problem, Section, rule

DISALLOWED = warning(
    "A018",
    _("URLs that robots.txt disallows"),
    _(
        "exclude them in items(), or change robots.txt (SITEMAPS_PLUS['ROBOTS']): what "
        "is listed should be allowed"
    ),
)
DISALLOWED_FOR_ONE = warning(
    "A019",
    _("URLs that robots.txt disallows for one search engine"),
    _("let the crawler's group in robots.txt allow what is listed"),
)
ROBOTS_FAILS = error(
    "A020",
    _("robots.txt returns an error"),
    _("correct the view that answers /robots.txt"),
)
ROBOTS_TOO_LONG = error(
    "A025",
    _("robots.txt is longer than crawlers read"),
    _(
        "shorten it to 500 KiB: with * one rule holds for many paths, and what is "
        "listed nowhere needs none"
    ),
)
DISALLOWED_IMAGE = warning(
    "A051",
    _("images that robots.txt disallows"),
    _("let robots.txt allow the images, or leave them out of images"),
)

#: The crawlers of search engines. What robots.txt forbids others, such as those that
#: train models, is meant.
CRAWLERS: Final = (
    "Googlebot",
    "bingbot",
    "YandexBot",
    "Baiduspider",
    "Applebot",
    "DuckDuckBot",
)


@rule(Listed)
def disallowed(seen: Listed) -> Iterator[Problem]:
    """Find URLs that crawlers may not fetch."""
    origin = str(seen.section.site.origin)
    forbidden: set[str] = set()
    for crawler, is_forbidden in seen.section.kept(rules):
        found = DISALLOWED_FOR_ONE if crawler else DISALLOWED
        for url in seen.urls:
            if url in forbidden or not url.startswith(f"{origin}/"):
                continue
            if is_forbidden(url[len(origin) :]):
                forbidden.add(url)
                text = f"by the rules for {crawler or 'all crawlers'}"
                yield Problem(found, text, url)


@rule(Listed)
def disallowed_images(seen: Listed) -> Iterator[Problem]:
    """Find images that Google's crawler of images may not fetch."""
    for entry in seen.special:
        for image in entry.images:
            path = image.removeprefix(str(seen.section.site.origin))
            if path.startswith("/") and seen.section.kept(_image_rules)(path):
                text = f"has the image {image}"
                yield Problem(DISALLOWED_IMAGE, text, entry.location)


def rules(section: Section) -> list[tuple[str, Callable[[str], bool]]]:
    """
    Return what robots.txt forbids to all crawlers, and to single search engines.

    By the crawler's name; empty: to all. Crawlers kept from the whole site are left
    out: that is meant.
    """
    groups = section.robots
    of_each = [("", list(groups)), *((name, named(groups, name)) for name in CRAWLERS)]
    return [
        (crawler, forbids(some))
        for crawler, some in of_each
        if not closed(some) and any(any(group.disallow) for group in some)
    ]


def _image_rules(section: Section) -> Callable[[str], bool]:
    groups = section.robots
    own = named(groups, "Googlebot-Image") or named(groups, "Googlebot") or groups
    return forbids(() if closed(own) else own)


def problems_of_length(body: bytes) -> Iterator[Problem]:
    """Yield that crawlers leave out the end of a robots.txt."""
    if len(body) > MAX_ROBOTS_BYTES:
        text = f"has more than {MAX_ROBOTS_BYTES:,} bytes: the rules behind do not hold"
        yield Problem(ROBOTS_TOO_LONG, text)
