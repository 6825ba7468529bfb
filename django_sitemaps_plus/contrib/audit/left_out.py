"""What the patterns of the settings and of classes leave out, counted on all rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.protocol.locations import ORIGIN_MARK
from django_sitemaps_plus.protocol.patterns import Pattern, matcher
from django_sitemaps_plus.rendering.listing import location_of, locations_of
from django_sitemaps_plus.sitemaps.leaving_out import own_patterns
from django_sitemaps_plus.sitemaps.sections import SectionSource, source
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE, Site, rendering_context

from .sides import pages_as_built


@dataclass
class Count:
    """How many URLs a pattern leaves out."""

    pattern: str
    #: The section that declares it; empty for one of ``EXCLUDE``.
    section: str
    #: How many URLs there would be without any pattern.
    total: int = 0
    count: int = 0
    #: The first of them.
    example: str = ""

    @property
    def is_wrong(self) -> bool:
        """Whether it leaves out nothing, or all there is."""
        return self.count in (0, self.total)


def count_left_out(names: Sequence[str]) -> list[Count]:
    """Read all URLs of some sections, and count what each pattern leaves out."""
    everywhere = [_counter(pattern, "") for pattern in get_settings().EXCLUDE]
    counts = [count for count, _ in everywhere]
    for name in names:
        section = source(name)
        of_class = [
            _counter(pattern, name) for pattern in own_patterns(section.sitemap)
        ]
        counts += [count for count, _ in of_class]
        counters = [*everywhere, *of_class]
        for path in _paths(section) if counters else ():
            for count, matches in counters:
                count.total += 1
                if matches(path):
                    count.count += 1
                    count.example = count.example or path
    return counts


def _counter(pattern: Pattern, section: str) -> tuple[Count, Callable[[str], bool]]:
    shown = pattern if isinstance(pattern, str) else f"re.compile({pattern.pattern!r})"
    return Count(shown, section), matcher([pattern])


def _paths(section: SectionSource) -> Iterator[str]:
    """Yield the path of each URL that a section would list without patterns."""
    # Where no address is configured paths have no prefix either.
    site = Site.current().address() or PLACEHOLDER_SITE
    with rendering_context(site):
        for _, reader, batches in pages_as_built(section, site, lists_all=True):
            for _, texts in reader.texts(batches):
                for location in locations_of(texts.whole.encode()):
                    yield location_of(location, ORIGIN_MARK)
