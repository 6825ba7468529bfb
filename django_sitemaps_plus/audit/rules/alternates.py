"""The alternates of URLs: are their languages known, and do they link back?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import groupby
from operator import attrgetter

from django_sitemaps_plus.audit import kinds
from django_sitemaps_plus.audit.entries import Entry
from django_sitemaps_plus.audit.together import Together
from django_sitemaps_plus.protocol.languages import unknown_in

from .urls import Problem


def problems_of(
    entries: Iterable[Entry], together: Together, origin: str
) -> Iterator[tuple[str, Problem]]:
    """
    Yield the URLs whose own alternates are wrong, and remember their links.

    ``origin`` is that of the site: of its own URLs it is known whether they are listed.
    The languages of an item mostly stand one after another, with the same alternates:
    what these say of each other is seen at once, and need not be remembered.
    """
    for alternates, group in groupby(entries, key=attrgetter("alternates")):
        if not alternates:
            continue
        urls = [entry.location for entry in group]
        equal, targets = set(urls), {href for _, href in alternates}
        own = {
            href
            for language, href in alternates
            if language.lower() != "x-default" and href.startswith(f"{origin}/")
        }
        problems = list(_of_set(alternates))
        for url in urls:
            yield from ((url, problem) for problem in problems)
            if url not in targets:
                yield url, (kinds.NOT_ITSELF, "its alternates do not name it")
        together.link(
            (url, target, target in own)
            for url in urls
            for target in targets
            if url != target and not (url in targets and target in equal)
        )


def _of_set(alternates: Iterable[tuple[str, str]]) -> Iterator[Problem]:
    """Yield what is wrong with a set of alternates, whichever URL has it."""
    urls: dict[str, str] = {}
    for language, href in alternates:
        if problem := _unknown_in(language):
            yield kinds.UNKNOWN_LANGUAGE, problem
        if urls.setdefault(language.lower(), href) != href:
            yield kinds.TWO_OF_A_LANGUAGE, f"has several URLs for {language!r}"
    schemes = {href.partition(":")[0]: href for href in urls.values()}
    if len(schemes) > 1 and "http" in schemes:
        yield kinds.MIXED_SCHEMES, f"has the alternate {schemes['http']}"
    languages: dict[str, str] = {}
    for language, href in urls.items():
        first = _first_part(language)
        if first != "x" and languages.setdefault(href, first) != first:
            text = f"{href} is for {languages[href]!r} and {language!r}"
            yield kinds.ONE_FOR_ALL, text


def _first_part(language: str) -> str:
    """Return a language without its region; of two names of one the one in use."""
    first = language.partition("-")[0]
    return {"nb": "no", "nn": "no", "iw": "he", "in": "id"}.get(first, first)


#: There are few languages, and they repeat with each URL.
_unknown_in = lru_cache(maxsize=1_000)(unknown_in)
