"""``check_sitemaps --compare``: what is compared, and how it is printed."""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from django.utils.module_loading import import_string

from django_sitemaps_plus import views
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.contrib.audit import sides
from django_sitemaps_plus.contrib.audit.comparison import EXAMPLES, SitemapsCompared
from django_sitemaps_plus.contrib.audit.entries import (
    Entry,
    ListedEntry,
    Unreadable,
    parse,
    walk,
)
from django_sitemaps_plus.contrib.audit.saved import formers_of, saved
from django_sitemaps_plus.engines.base import TransportError
from django_sitemaps_plus.engines.http import send
from django_sitemaps_plus.management import utils
from django_sitemaps_plus.management.utils import counted, misused
from django_sitemaps_plus.protocol.errors import LocationError
from django_sitemaps_plus.protocol.limits import MAX_BYTES
from django_sitemaps_plus.protocol.locations import Origin
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import SiteAddress

#: What this package gives in the place of contrib's views.
_OURS: sides.Views = {"index": views.index, "sitemap": views.sitemap}
#: Seconds that one sitemap may take: contrib's may be slow.
_TIMEOUT = 300.0
#: Bytes within which this package's own sitemaps name their stylesheet.
_BEGINNING = 200


@dataclass
class Sides:
    """Both sides of a comparison: what they are, and what they list."""

    site: SiteAddress
    #: The sections to compare; all if empty.
    names: Sequence[str]
    formers: Sequence[str]
    #: Whether what is listed before is saved, and not compared.
    saves: bool = False
    problems: list[str] = field(default_factory=list)
    before: list[Iterator[ListedEntry]] = field(default_factory=list)
    #: What our views list in the place of contrib's.
    after: list[Iterator[ListedEntry]] = field(default_factory=list)
    former_names: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        for former in self.formers:
            self._add(former)
        self.before_name = " and ".join(self.former_names)
        if registry.sources():
            names = utils.named_sections(self.names) or list(registry.sources())
            self.after = [sides.registered_entries(names, self.site, self.problems)]
            self.after_name = counted(len(names), "registered section")
        else:
            self.after_name = (
                "the same sitemaps by django_sitemaps_plus.views, as none is registered"
            )

    def refuse_incomplete(self) -> None:
        """Refuse a comparison for which one side is missing."""
        if not registry.sources() and len(self.after) < len(self.formers):
            raise misused(
                "There is nothing to compare with: no sitemap is registered. Name the "
                "dict of your sitemaps in SITEMAPS_PLUS['SITEMAPS']; or compare that, "
                "by its dotted path, as in --compare news.sitemaps.sitemaps."
            )

    @property
    def both(self) -> tuple[Iterator[ListedEntry], Iterator[ListedEntry]]:
        """What is listed before, and after."""
        return chain(*self.before), chain(*self.after)

    def _add(self, former: str) -> None:
        """Find out what a former sitemap is, and what our views list in its place."""
        site, path = self.site, Path(former)
        if _is_url(former):
            self.former_names.append(former)
            self.before.append(walk(former, self._fetched))
        elif paths := sides.paths_of_name(former, site):
            self.former_names.append(f"the view {former!r} ({', '.join(paths)})")
            _refuse_ours(former, [n for one in paths for n in sides.ours_at(one, site)])
            self.before.append(sides.of_url_name(sides.CONTRIB, former, site))
            self._replace(former)
        elif path.exists():
            self.former_names.append(former)
            self.before.append(saved(path))
            for origin in formers_of(path):
                self._replace(origin)
        else:
            sitemaps, paths = self._dict(former)
            served = f" ({', '.join(paths)})" if paths else ""
            self.former_names.append(f"contrib's view of {former}{served}")
            _refuse_ours(former, sides.ours_in(sitemaps))
            before = sides.of_dict(sides.CONTRIB, sitemaps, site, paths=paths)
            self.before.append(before)
            self._replace(former)

    def _fetched(self, url: str) -> Iterator[Entry]:
        """Fetch a sitemap; refuse to compare one that this package wrote."""
        body = _fetch(url)
        own = f'href="{get_settings().stylesheet}"?>'.encode()
        if not self.saves and own in body[:_BEGINNING]:
            raise misused(
                f"This package serves {url} already: it names its stylesheet. Both "
                "sides would lack the same URLs, which proves nothing. Compare with "
                "what you saved before (--compare before). To see what a change of "
                "your own sitemaps does, save what is listed (--compare "
                f"{url} --save before), make the change, and compare with that."
            )
        return parse(url, io.BytesIO(body))

    def _replace(self, former: str) -> None:
        """Add what our views list in the place of contrib's, if nothing else does."""
        if registry.sources():
            return
        site, problems = self.site, self.problems
        if paths := sides.paths_of_name(former, site):
            if all(sides.is_contrib(one, site) for one in paths):
                self.after.append(sides.of_url_name(_OURS, former, site, problems))
        elif not _is_url(former) and not Path(former).exists():
            sitemaps, paths = self._dict(former)
            self.after.append(sides.of_dict(_OURS, sitemaps, site, problems, paths))

    def _dict(self, former: str) -> tuple[Mapping[str, Any], list[str]]:
        """
        Import a dict of sitemaps, and find out where the site lists it.

        Of the sitemaps those that were named.
        """
        try:
            sitemaps = import_string(former)
        except ImportError as error:
            raise misused(
                f"{former!r} is not a URL, a file, a folder or the name of a URL "
                f"without arguments, and cannot be imported: {error}"
            ) from error
        if not isinstance(sitemaps, Mapping):
            raise misused(
                f"{former} is {type(sitemaps).__name__}, not a dict of sitemaps."
            )
        for name in self.names:
            if name not in sitemaps:
                raise misused(
                    f"{former} has no section {name!r}. It has: {', '.join(sitemaps)}."
                )
        named = {name: sitemaps[name] for name in self.names or sitemaps}
        return named, sides.paths_of(sitemaps, self.site)


def _is_url(former: str) -> bool:
    return former.startswith(("http://", "https://"))


def site_of_former(former: str) -> str:
    """Return the name in ``SITES`` of the site that a former sitemap is of; or ""."""
    host, path = "", Path(former)
    if _is_url(former):
        host = _host_of(former)
    elif path.exists():
        host = _host_of(next((entry.location for _, entry in saved(path)), ""))
    for name, site in get_settings().SITES.items():
        if host == _host_of(site["BASE_URL"]) or former == site.get("SITEMAPS"):
            return name
    return ""


def _host_of(url: str) -> str:
    with suppress(LocationError, ValueError):
        parts = urlsplit(url)
        return Origin.parse(f"{parts.scheme}://{parts.netloc}").host
    return ""


def _refuse_ours(former: str, names: Sequence[str]) -> None:
    """Refuse to compare this package with itself, which proves nothing."""
    if names:
        raise misused(
            f"{former!r} is not a former sitemap: this package serves "
            f"{', '.join(dict.fromkeys(names))} in it already. Both sides would lack "
            "the same URLs, which proves nothing. Compare with the address of the live "
            "site, if it still runs the former code; or go back to that code, save "
            f"what it lists (--compare {former} --save before), and compare with that "
            "(--compare before)."
        )


def _fetch(url: str) -> bytes:
    """Fetch a sitemap; ``Unreadable`` if that fails."""
    try:
        answer = send("GET", url, timeout=_TIMEOUT, limit=2 * MAX_BYTES, plain=True)
    except TransportError as error:
        raise Unreadable(f"{url} cannot be fetched: {error}") from error
    if answer.status in (301, 302, 303, 307, 308):
        raise Unreadable(
            f"{url} redirects to {answer.headers.get('location')}. Name that address."
        )
    if not answer.is_success:
        raise Unreadable(f"{url} answers {answer.status}.")
    if answer.flaw:
        raise Unreadable(f"{url} is incomplete: {answer.flaw}")
    return answer.body


_HEADLINES = {
    "lost": "{} listed before and not now",
    "new": "{} listed now and not before",
    "lastmod": "{} with another lastmod",
    "changefreq": "{} with another changefreq",
    "priority": "{} with another priority",
    "alternates": "{} with other alternates",
    "media": "{} with other images, videos or news",
    "repeated before": "{} listed more than once before",
    "repeated": "{} listed more than once now",
}


def sentences(sides: Sides, comparison: SitemapsCompared) -> Iterator[str]:
    """Yield a comparison, line by line."""
    yield f"Before: {counted(comparison.before, 'URL')}, {sides.before_name}."
    yield f"Now: {counted(comparison.after, 'URL')}, {sides.after_name}."
    if comparison.with_time:
        yield (
            f"{counted(comparison.with_time, 'URL')} with the same day in lastmod, and "
            "the time too, which contrib's template cuts off."
        )
    yield from comparison.problems
    for kind, difference in comparison.differences.items():
        headline = _HEADLINES[kind].format(counted(difference.count, "URL"))
        yield ""
        yield f"{headline}:"
        yield from (f"  {example}" for example in difference.examples)
        if difference.count > EXAMPLES:
            yield f"  and {difference.count - EXAMPLES:,} more"
        yield from difference.advice
    yield ""
    if comparison.before and not comparison.lost:
        yield "Nothing is lost."
