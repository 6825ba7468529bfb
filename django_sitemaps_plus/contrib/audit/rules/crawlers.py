"""Pages that are others for crawlers than for visitors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from django_sitemaps_plus.contrib.audit.kinds import _, error, warning
from django_sitemaps_plus.engines.addresses import is_private
from django_sitemaps_plus.protocol.errors import excerpt

from . import Answered, Problem
from .arrivals import origin_of
from .canonical import elsewhere
from .indexing import forbidden

OTHER_PAGE = error(
    "A118",
    _("pages that differ for crawlers"),
    _(
        "send crawlers what visitors get: look for rules by User-Agent in the view, "
        "the cache and the web server"
    ),
)
SHUT_OUT = warning(
    "A119",
    _("pages that are refused to whoever says to be a crawler"),
    _(
        "protection against forged crawlers may be the reason: test the URL in Search "
        "Console, which asks as the real one"
    ),
)
UNKNOWN = warning(
    "A120",
    _("addresses that do not exist answer 200"),
    _(
        "answer 404, also where the web server or a last route sends a page of its "
        "own: what is deleted stays in search results otherwise"
    ),
)
TWICE = warning(
    "A121",
    _("pages that answer 200 at another address of the site, too"),
    _(
        "redirect http, and the host with or without www., to the site's address with "
        "301: search engines may list the other address"
    ),
)

#: What only who fetches pages sees.
KINDS = frozenset({OTHER_PAGE, SHUT_OUT, UNKNOWN, TWICE})


def twins(url: str) -> list[str]:
    """
    Return where a page may be sent a second time: by http, and at the other host.

    Nowhere for a site with a private address, an IP address, or a port of its own.
    """
    scheme, host = origin_of(url)
    if ":" in host or host.rpartition(".")[2].isdigit() or is_private(host):
        return []
    bare = host.removeprefix("www.")
    other = bare if bare != host else f"www.{host}"
    path = url.removeprefix(f"{scheme}://{host}")
    by_http = [f"http://{host}{path}"] if scheme == "https" else []
    return [*by_http, f"{scheme}://{other}{path}"]


def repeated_at(seen: Answered, own: Answered) -> Iterator[Problem]:
    """Yield that another address sends a page of the site in place of a redirect."""
    there, here = seen.reading.page, own.reading.page
    has_text = here.start and there.start == here.start
    has_titles = any(here.titles.values()) and there.titles == here.titles
    if seen.is_whole and (has_text or has_titles):
        yield Problem(TWICE, f"answers 200 with the page {own.url}")


def unknown_answered(seen: Answered) -> Iterator[Problem]:
    """Yield that a page is sent where there is none."""
    if seen.is_whole and "html" in seen.answer.media_type:
        yield Problem(UNKNOWN, "answers 200, although no page has this address")


def difference_for(
    agent: str, seen: Answered, own: Sequence[Answered]
) -> Iterator[Problem]:
    """Yield how a page differs for a crawler from what visitors get each time."""
    if not all(one.is_whole for one in own):
        return
    status, who = seen.answer.status, seen.challenger
    if status in (401, 403, 429) or who:
        how = f"{who} challenges" if who else f"answers {status}"
        yield Problem(SHUT_OUT, f"{how} as {agent}, and 200 otherwise")
    elif status and status != 200:
        yield Problem(OTHER_PAGE, f"answers {status} as {agent}, and 200 otherwise")
    elif seen.is_whole:
        if seen.is_empty and not any(one.is_empty for one in own):
            yield Problem(OTHER_PAGE, f"has no words as {agent}, and some otherwise")
        first, *others = map(_facts, own)
        for name, value in _facts(seen).items():
            always = all(one[name] == first[name] for one in others)
            if always and value != first[name]:
                there, here = value or f"no {name}", first[name] or f"no {name}"
                yield Problem(OTHER_PAGE, f"{there} as {agent}, and {here} otherwise")


def _facts(seen: Answered) -> dict[str, str]:
    """Return what a page must say to everybody."""
    title = " ".join(seen.reading.page.titles.get("title", "").split())
    return {
        "title": title and f"is called {excerpt(title)}",
        "other canonical": " and ".join(one.text for one in elsewhere(seen)),
        "noindex": " and ".join(one.text for one in forbidden(seen)),
    }
