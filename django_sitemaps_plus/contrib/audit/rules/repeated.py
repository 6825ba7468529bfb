"""URLs that are listed more than once, or written in several ways."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from django_sitemaps_plus.contrib.audit import together
from django_sitemaps_plus.contrib.audit.kinds import _, warning
from django_sitemaps_plus.contrib.audit.together import Wrong, form_of

from . import Place, Problem

REPEATED = warning(
    "A014",
    _("URLs that a section lists more than once"),
    _(
        "exclude repeated rows in items(), or use a column for the URL that is unique; "
        "with i18n, write {language} into the path of the Route"
    ),
)
SHARED = warning(
    "A015",
    _("URLs that several sections list"),
    _("exclude them in items() of all sections but one"),
)
SIMILAR = warning(
    "A021",
    _("URLs that differ only in how they are written"),
    _(
        "list one of them, and let the others redirect: case, a slash, index.html and "
        "the order of parameters make copies of a page"
    ),
)

#: The kinds that are counted where they are remembered.
KINDS = {
    together.REPEATED: REPEATED,
    together.SHARED: SHARED,
    together.SIMILAR: SIMILAR,
}
#: The pages that list a URL, one of them as often as it does.
Places = Mapping[str, Sequence[Place]]


def repeated_urls(places: Places) -> Iterator[Problem]:
    """Yield URLs that are listed several times, in a section or in several."""
    for url, on in places.items():
        sections = Counter(place.section for place in on)
        for name, count in sections.items():
            if count > 1:
                pages = [place.page for place in on if place.section == name]
                how = "twice" if count == 2 else f"{count:,} times"
                text = f"listed {how}: on {' and '.join(dict.fromkeys(pages))}"
                yield Problem(REPEATED, text, url, name, pages[0])
        lasting = [place for place in on if not place.is_news]
        others = [one.page for one in lasting if one.section != lasting[0].section]
        if others:
            text = f"also on {' and '.join(dict.fromkeys(others))}"
            yield Problem(SHARED, text, url, lasting[0].section, lasting[0].page)


def similar(places: Places, wrong: Wrong) -> Iterator[Problem]:
    """Yield URLs that are written in several ways."""
    groups: dict[int, list[str]] = {}
    for url in places:
        groups.setdefault(hash(form_of(url)), []).append(url)
    for form in wrong.similar:
        first, *others = groups.get(form, [""])
        if first:
            text = f"listed as {' and '.join(others)}, too"
            place = places[first][0]
            yield Problem(SIMILAR, text, first, place.section, place.page)
