"""Listed URLs that robots.txt disallows, and a robots.txt that is too long."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from django_sitemaps_plus.contrib.audit.kinds import _, error, warning
from django_sitemaps_plus.protocol.limits import MAX_ROBOTS_BYTES
from django_sitemaps_plus.protocol.locations import quote
from django_sitemaps_plus.protocol.robots import Group, closed, octets

from . import AuditedSection, Listed, Problem, rule

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
CLOSED = error(
    "A026",
    _("sections that robots.txt closes"),
    _(
        "change robots.txt (SITEMAPS_PLUS['ROBOTS']), or do not register the section: "
        "nobody may fetch what it lists"
    ),
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
    _("let robots.txt allow the images, or remove them from 'images'"),
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
    for crawler, is_forbidden in seen.section.kept(robots_rules):
        found = DISALLOWED_FOR_ONE if crawler else DISALLOWED
        for url in seen.urls:
            if url in forbidden or not url.startswith(f"{origin}/"):
                continue
            if is_forbidden(url[len(origin) :]):
                forbidden.add(url)
                text = f"by the rules for {crawler or 'all crawlers'}"
                yield Problem(found, text, url)
                if crawler in ("", "Googlebot"):
                    seen.section.disallowed += 1


@rule(Listed)
def disallowed_images(seen: Listed) -> Iterator[Problem]:
    """Find images that Google's crawler of images may not fetch."""
    for entry in seen.special:
        for image in entry.images:
            path = image.removeprefix(str(seen.section.site.origin))
            if path.startswith("/") and seen.section.kept(_image_rules)(path):
                text = f"has the image {image}"
                yield Problem(DISALLOWED_IMAGE, text, entry.location)


def robots_rules(section: AuditedSection) -> list[tuple[str, Callable[[str], bool]]]:
    """
    Return what robots.txt forbids to all crawlers, and to single search engines.

    By the crawler's name; empty: to all. Crawlers kept from the whole site are left
    out: that is meant.
    """
    groups = section.robots
    of_each = [
        ("", list(groups)),
        *((name, groups_naming(groups, name)) for name in CRAWLERS),
    ]
    return [
        (crawler, forbids(some))
        for crawler, some in of_each
        if not closed(some) and any(any(group.disallow) for group in some)
    ]


def _image_rules(section: AuditedSection) -> Callable[[str], bool]:
    groups = section.robots
    own = (
        groups_naming(groups, "Googlebot-Image")
        or groups_naming(groups, "Googlebot")
        or groups
    )
    return forbids(() if closed(own) else own)


def problems_of_length(body: bytes) -> Iterator[Problem]:
    """Yield that crawlers leave out the end of a robots.txt."""
    if len(body) > MAX_ROBOTS_BYTES:
        text = f"has more than {MAX_ROBOTS_BYTES:,} bytes: crawlers ignore the rest"
        yield Problem(ROBOTS_TOO_LONG, text)


def decode(body: bytes) -> str:
    """Return the text of anybody's robots.txt: as much as every crawler reads."""
    return body[:MAX_ROBOTS_BYTES].decode("utf-8", "replace")


def groups_naming(groups: Iterable[Group], crawler: str) -> list[Group]:
    """Return the groups that name a crawler, as if they were for all; none if none do.

    https://www.rfc-editor.org/rfc/rfc9309#section-2.2.1
    """
    return [
        Group(("*",), group.allow, group.disallow, group.crawl_delay)
        for group in groups
        if crawler.lower() in map(str.lower, group.user_agents)
    ]


def forbids(groups: Iterable[Group]) -> Callable[[str], bool]:
    """Return what says whether the groups for all crawlers forbid a path.

    A path with its query, percent-encoded. The longest of the rules that match decides,
    and of two as long the one that allows.
    https://www.rfc-editor.org/rfc/rfc9309#section-2.2.2
    """
    common = [group for group in groups if "*" in group.user_agents]
    known = {(octets(quote(rule)), False) for one in common for rule in one.disallow}
    known |= {(octets(quote(rule)), True) for one in common for rule in one.allow}
    # An empty rule is none.
    ordered = sorted((len(rule), allows, rule) for rule, allows in known if rule)
    rules = [(_match(rule), allows) for _, allows, rule in reversed(ordered)]
    # Most paths match no rule that disallows, which is found out at once.
    disallowed = [rule for _, allows, rule in ordered if not allows]
    begins = tuple(rule.removesuffix("$") for rule in disallowed if "*" not in rule)
    globs = [_match(rule) for rule in disallowed if "*" in rule]

    def is_forbidden(path: str) -> bool:
        path = octets(path)
        may_be = path.startswith(begins) or any(match(path) for match in globs)
        return may_be and not next(
            (allows for match, allows in rules if match(path)), True
        )

    return is_forbidden


def _match(rule: str) -> Callable[[str], bool]:
    """
    Return what tells whether a rule is about a path: ``*`` is any characters.

    Each part is looked for where the one before ends. No other place can be better, so
    that nothing is looked for twice, as regular expressions do.
    """
    pattern = rule[:-1] if rule.endswith("$") else f"{rule}*"
    first, *parts = pattern.split("*")
    if not parts:
        return pattern.__eq__
    last = parts.pop()

    def matches(path: str) -> bool:
        if not (path.startswith(first) and path.endswith(last)):
            return False
        at, end = len(first), len(path) - len(last)
        for part in parts:
            at = path.find(part, at, end)
            if at < 0:
                return False
            at += len(part)
        return at <= end

    return matches
