"""The alternates of URLs: are their languages known, and do they link back?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import groupby
from operator import attrgetter

from django_sitemaps_plus.contrib.audit.kinds import _, error, warning
from django_sitemaps_plus.contrib.audit.languages import unknown_in
from django_sitemaps_plus.contrib.audit.together import Wrong

from . import Listed, Place, Problem, rule

UNKNOWN_LANGUAGE = error(
    "A040",
    _("alternates with an unknown language or region"),
    _(
        "use a language of ISO 639-1 and, after it, a region of ISO 3166-1: en-gb, not "
        "en-uk; or x-default"
    ),
)
NOT_RETURNED = error(
    "A041",
    _("alternates that do not link back"),
    _(
        "give each of the URLs the same set of alternates; engines ignore one-sided "
        "ones"
    ),
)
NOT_ITSELF = warning(
    "A042",
    _("URLs whose alternates do not name the URL itself"),
    _("add the URL under its own language to its alternates"),
)
TWO_OF_A_LANGUAGE = error(
    "A043",
    _("URLs with several alternates of one language"),
    _("give one URL for each language"),
)
NOT_LISTED = warning(
    "A044",
    _("alternates of the site that no section lists"),
    _("list all languages of a page, or leave those out that are not public"),
)
MIXED_SCHEMES = warning(
    "A045",
    _("alternates that mix http and https"),
    _("write all of them with the scheme that visitors use"),
)
ONE_FOR_ALL = warning(
    "A046",
    _("alternates that give several languages one URL"),
    _("give each language its own URL, and one for the rest as x-default"),
)


@rule(Listed)
def alternates(seen: Listed) -> Iterator[Problem]:
    """
    Find URLs whose own alternates are wrong, and remember the others' links.

    The languages of an item mostly stand one after another, with the same alternates:
    what these say of each other is seen at once, and need not be remembered.
    """
    start = f"{seen.section.site.origin}/"
    for links, group in groupby(seen.special, key=attrgetter("alternates")):
        if not links:
            continue
        urls = [entry.location for entry in group]
        equal, targets = set(urls), {href for _, href in links}
        own = {
            href
            for language, href in links
            if language.lower() != "x-default" and href.startswith(start)
        }
        problems = list(_of_set(links))
        for url in urls:
            yield from (problem._replace(url=url) for problem in problems)
            if url not in targets:
                yield Problem(NOT_ITSELF, "its alternates do not name it", url)
        if seen.together is None:
            continue
        if not any(problem.kind == ONE_FOR_ALL for problem in problems):
            named = ((href, plain_language(language)) for language, href in links)
            seen.together.name(named)
        seen.together.link(
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
            yield Problem(UNKNOWN_LANGUAGE, problem)
        if urls.setdefault(language.lower(), href) != href:
            yield Problem(TWO_OF_A_LANGUAGE, f"has several URLs for {language!r}")
    schemes = {href.partition(":")[0]: href for href in urls.values()}
    if len(schemes) > 1 and "http" in schemes:
        yield Problem(MIXED_SCHEMES, f"has the alternate {schemes['http']}")
    named: dict[tuple[str, bool], tuple[str, str]] = {}
    for code, href in urls.items():
        for is_script, name in enumerate((plain_language(code), _script_of(code))):
            if not name:
                continue
            known, first = named.setdefault((href, bool(is_script)), (name, code))
            if known != name:
                yield Problem(ONE_FOR_ALL, f"{href} is for {first!r} and {code!r}")
                break


def named_differently(
    languages: Mapping[str, Mapping[str, Place]],
) -> Iterator[Problem]:
    """Yield URLs that different entries name for different languages."""
    for url, by_language in languages.items():
        text = f"entries name it for {' and '.join(map(repr, by_language))}"
        place = next(iter(by_language.values()))
        yield Problem(ONE_FOR_ALL, text, url, place.section, place.page)


def one_sided(
    places: Mapping[str, Sequence[Place]], links: Mapping[str, set[str]], wrong: Wrong
) -> Iterator[Problem]:
    """Yield URLs with alternates that no section lists, or that do not link back."""
    for source, on in places.items():
        place = on[0]
        for target in sorted(links[source]):
            if hash(source) in wrong.unlisted.get(hash(target), ()):
                text = f"{target} is not listed"
                yield Problem(NOT_LISTED, text, source, place.section, place.page)
            is_meant = hash(source) in wrong.one_sided.get(hash(target), ())
            if is_meant and source not in links.get(target, {source}):
                text = f"{target} does not link back"
                yield Problem(NOT_RETURNED, text, source, place.section, place.page)


def plain_language(code: str) -> str:
    """
    Return a language without its region; of two names of one the one in use.

    Empty for ``x-default``.
    """
    first = code.lower().partition("-")[0]
    return {"x": "", "nb": "no", "nn": "no", "iw": "he", "in": "id"}.get(first, first)


def _script_of(code: str) -> str:
    """Return the script that a language is written in, if its code says that."""
    first, *others = code.lower().split("-")
    for part in others:
        script = part if len(part) == len("hans") and part.isalpha() else ""
        if first == "zh":
            script = _CHINESE.get(part, script)
        if script:
            return f"{first}-{script}"
    return ""


#: Where Chinese is written in which script.
_CHINESE = {
    **dict.fromkeys(("cn", "sg", "my"), "hans"),
    **dict.fromkeys(("tw", "hk", "mo"), "hant"),
}
#: There are few languages, and they repeat with each URL.
_unknown_in = lru_cache(maxsize=1_000)(unknown_in)
