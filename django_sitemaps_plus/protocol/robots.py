"""robots.txt: RFC 9309, and the lines that others have added to it.

https://www.rfc-editor.org/rfc/rfc9309,
https://www.sitemaps.org/protocol.html#submit_robots,
https://rslstandard.org/guide/robots-txt (RSL 1.0 of 2025-12-10),
https://datatracker.ietf.org/doc/html/draft-ietf-aipref-attach-05 (2026-08-19)

AI crawlers are listed by purpose, as their operators document them for robots.txt (as
of 2026-11-23); ``docs/robots.md`` says what each does, and which may not follow it.
"""

from __future__ import annotations

import re
import string
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from .errors import EntryError, PageFull, excerpt
from .limits import MAX_ROBOTS_BYTES
from .locations import quote, resolve
from .values import decimal_text, matches, several

# Wider than the product token of the RFC, which has no digits: AI2Bot is a crawler.
_USER_AGENT = re.compile(r"\*|[!-\"$-9;-~](?:[ -\"$-9;-~]*[!-\"$-9;-~])?")
_LINE = re.compile("[^\x00-\x1f\x7f-\x9f\ud800-\udfff]*")
# https://yandex.com/support/webmaster/en/robot-workings/clean-param
_CLEAN_PARAM = re.compile(r"(?=.{1,500}\Z)[\w.~&-]+(?: [/*][!-~]*)?", re.ASCII)
_ENCODED = re.compile("%([0-9A-Fa-f]{2})")
# https://www.rfc-editor.org/rfc/rfc3986#section-2.3
_UNRESERVED = frozenset(string.ascii_letters + string.digits + "-._~")
_WHOLE_SITE = frozenset({"/", "/*", "*"})
#: The signals of Content-Signal lines: to be found by a search, to be put into a
#: model's prompt, and to train models. https://contentsignals.org and
#: https://datatracker.ietf.org/doc/draft-romm-aipref-contentsignals
SIGNALS = ("search", "ai-input", "ai-train")
#: How far what is read may be used, as "use" in such a line says: not stored, excerpts
#: with a link, or in full. Cloudflare's managed robots.txt has it, since August 2026:
#: https://developers.cloudflare.com/changelog/post/2026-08-31-crawl-content-use/
USES = ("immediate", "reference", "full")
#: The categories of Content-Usage lines: to be found by a search, to be the input of a
#: generative model, and to train one.
#: https://datatracker.ietf.org/doc/html/draft-ietf-aipref-vocab-08 (2026-09-13)
USAGES = ("search", "ai-use", "train-ai")
#: What may be done with content, by the name of the signal or category; and "use".
Permissions = tuple[tuple[str, bool | str], ...]
#: What begins the name of a group that no crawler has: one of usage, for all of them.
#: https://datatracker.ietf.org/doc/draft-kelley-aipref-training-preference-signal
_USAGE_GROUP = "__usage_"


@dataclass(frozen=True)
class Group:
    """Rules for some crawlers; ``*`` means all that no other group names."""

    user_agents: tuple[str, ...]
    #: Paths; ``*`` stands for any characters, ``$`` for the end.
    allow: tuple[str, ...] = ()
    disallow: tuple[str, ...] = ()
    #: Seconds between requests. Not of the RFC; Google ignores it, others do not.
    crawl_delay: float | Decimal | None = None
    #: What may be done with what they read, by the name of the signal.
    signals: Permissions = ()
    #: The same by path and category, as the IETF drafts it; "" stands for all paths.
    usage: tuple[tuple[str, Permissions], ...] = ()
    #: Parameters that do not change a page, and a path. Of Yandex.
    clean_param: tuple[str, ...] = ()


def rules_txt(groups: Iterable[Group], licenses: Sequence[str] = ()) -> str:
    """Write a robots.txt that names no sitemap; licenses are absolute URLs.

    Raises:
        EntryError: A name, a path, a delay or a URL that may not stand there.
        PageFull: More than the 500 KiB that crawlers must read.
    """
    # Licenses are of no group, so that every crawler reads them.
    blocks = [_urls("License", licenses), *("".join(_lines(one)) for one in groups)]
    return with_sitemaps("\n".join(filter(None, blocks)), [])


def with_sitemaps(rules: str, sitemaps: Sequence[str]) -> str:
    """Return a robots.txt that names sitemaps, too, by absolute URLs.

    Raises as ``rules_txt``.
    """
    text = "\n".join(filter(None, [rules, _urls("Sitemap", sitemaps)]))
    if len(text) > MAX_ROBOTS_BYTES:  # all ASCII
        raise PageFull(f"robots.txt: {len(text)} bytes, over {MAX_ROBOTS_BYTES}")
    return text


def _urls(word: str, urls: Sequence[str]) -> str:
    return "".join(f"{word}: {resolve(url, None)}\n" for url in urls)


def read(text: str) -> list[Group]:
    """Return the groups of anybody's robots.txt; other lines are ignored.

    https://www.rfc-editor.org/rfc/rfc9309#section-2.1
    """
    found: list[tuple[list[str], list[str], list[str]]] = []
    for line in text.removeprefix("\ufeff").splitlines():
        name, _, value = line.partition("#")[0].partition(":")
        word, value = name.strip().lower(), value.strip()
        if word == "user-agent":
            if not found or found[-1][1] or found[-1][2]:
                found.append(([], [], []))
            found[-1][0].append(value)
        elif word in ("allow", "disallow") and found:
            found[-1][1 if word == "allow" else 2].append(value)
    return [Group(tuple(a), tuple(b), tuple(c)) for a, b, c in found]


def sitemaps_of(text: str) -> list[str]:
    """Return the addresses of the Sitemap lines of anybody's robots.txt."""
    return re.findall(r"(?im)^[ \t]*sitemap[ \t]*:[ \t]*(\S+)", text)


def closed(groups: Iterable[Group], crawler: str = "*") -> bool:
    """Return whether the groups of a crawler, or for all, forbid the whole site."""
    own = [group for group in groups if crawler in group.user_agents]
    is_shut = any(_WHOLE_SITE.intersection(group.disallow) for group in own)
    return is_shut and not any(rule for group in own for rule in group.allow)


def shut_out(groups: Sequence[Group]) -> str:
    """Return whom a robots.txt that is ``closed`` keeps out: some may have groups."""
    names = dict.fromkeys(name for group in groups for name in group.user_agents)
    own = (name for name in names if not name.startswith(_USAGE_GROUP))
    let_in = [name for name in own if not closed(groups, name)]
    return f"all crawlers but {', '.join(let_in)}" if let_in else "all crawlers"


def not_repeated(groups: Sequence[Group]) -> dict[str, list[str]]:
    """Return what ``*`` says that does not hold for crawlers which groups name.

    By the crawler's name. It follows the groups that name it, and no others:
    https://www.rfc-editor.org/rfc/rfc9309#section-2.2.1. A site that is closed to all
    but some is meant to be. A group of usage is of no crawler.
    """
    rules: dict[str, list[str]] = {}
    statements: dict[str, dict[tuple[str, ...], str]] = {}
    names: dict[str, str] = {}
    for group in groups:
        for name in group.user_agents:
            names.setdefault(name.lower(), name)
            rules.setdefault(name.lower(), []).extend(filter(None, group.disallow))
            statements.setdefault(name.lower(), {}).update(_statements(group))
    common = [rule for rule in rules.pop("*", []) if rule not in _WHOLE_SITE]
    said = statements.pop("*", {})
    found = {
        names[key]: [
            *(rule for rule in common if rule not in own),
            *(line for what, line in said.items() if what not in statements[key]),
        ]
        for key, own in rules.items()
        if not (_WHOLE_SITE.intersection(own) or key.startswith(_USAGE_GROUP))
    }
    return {name: missing for name, missing in found.items() if missing}


def octets(path: str) -> str:
    """Return a path as it is compared: %41 is an A, %c3 is %C3.

    https://www.rfc-editor.org/rfc/rfc9309#section-2.2.2
    """
    return _ENCODED.sub(_octet, path) if "%" in path else path


def _octet(found: re.Match[str]) -> str:
    character = chr(int(found[1], 16))
    return character if character in _UNRESERVED else found[0].upper()


def _lines(group: Group) -> Iterator[str]:
    names = several(group.user_agents, str, "user_agents")
    if not names:
        raise EntryError("user_agents: none")
    for name in names:
        if not matches(name, _USER_AGENT):
            raise EntryError.of("user_agents", name, "not the name of a crawler")
        yield f"User-agent: {name}\n"
    if group.signals:
        yield f"{_signal(*group.signals)}\n"
    for path, preferences in group.usage:
        yield f"{_usage(path, *preferences)}\n"
    yield from _rules("Allow", group.allow)
    yield from _rules("Disallow", group.disallow)
    if not group.allow and not group.disallow:
        # Else the names of the next group would belong to this one: blank lines do
        # not end a group. https://www.rfc-editor.org/rfc/rfc9309#section-2.1
        yield "Disallow:\n"
    if group.crawl_delay is not None:
        seconds = decimal_text(group.crawl_delay, "crawl_delay", (0, 1_000_000))
        yield f"Crawl-delay: {seconds}\n"
    for given in several(group.clean_param, str, "clean_param"):
        if not matches(given, _CLEAN_PARAM):
            example = '"sort&page /news/", of at most 500 characters'
            raise EntryError.of("clean_param", given, f"not like {example}")
        yield f"Clean-param: {given}\n"


def _signal(*given: tuple[str, bool | str]) -> str:
    words: dict[bool | str, str] = {True: "yes", False: "no"}
    said = (f"{name}={words.get(value, str(value))}" for name, value in given)
    return f"Content-Signal: {', '.join(said)}"


def _usage(path: str, *given: tuple[str, bool | str]) -> str:
    """Write a line of preferences: a dictionary of RFC 9651, after the path if any."""
    said = ", ".join(f"{name}={'y' if may else 'n'}" for name, may in given)
    parts = ["Content-Usage:", _rule(path, "content_usage"), said]
    return " ".join(filter(None, parts))


def _statements(group: Group) -> Iterator[tuple[tuple[str, ...], str]]:
    """Yield what a group says of the use of content: what of, and the line."""
    for name, may in group.signals:
        yield (name,), _signal((name, may))
    for path, preferences in group.usage:
        for name, may in preferences:
            yield (path, name), _usage(path, (name, may))


def _rules(word: str, rules: Sequence[str]) -> Iterator[str]:
    field = word.lower()
    for rule in several(rules, str, field):
        yield f"{word}: {_rule(rule, field)}\n" if rule else f"{word}:\n"


def _rule(rule: str, field: str) -> str:
    """Return a path as it is written; raise ``EntryError`` if it is none."""
    if not matches(rule, _LINE):
        raise EntryError.of(field, rule, "not one line of text")
    if rule and not rule.startswith(("/", "*")):
        remedy = f"write {excerpt(f'/{rule}')}"
        raise EntryError.of(field, rule, f"begins with neither / nor *: {remedy}")
    return quote(rule)


_AMAZON = "https://developer.amazon.com/amazonbot"
_ANTHROPIC = "https://support.claude.com/en/articles/8896518"
_APPLE = "https://support.apple.com/en-us/119829"
_COMMON_CRAWL = "https://commoncrawl.org/ccbot"
_DUCKDUCKGO = "https://duckduckgo.com/duckduckgo-help-pages/results/duckassistbot"
_GOOGLE = "https://developers.google.com/crawling/docs/crawlers-fetchers/google-common-crawlers"
_META = "https://developers.facebook.com/docs/sharing/webmasters/web-crawlers"
_MISTRAL = "https://docs.mistral.ai/en/robots"
_OPENAI = "https://developers.openai.com/api/docs/bots"
_PERPLEXITY = "https://docs.perplexity.ai/docs/resources/perplexity-crawlers"

#: The crawlers of each preset of the setting ``ROBOTS``, by their names there, and
#: where their operators document them.
PRESETS = {
    # What they read may train models. Search engines and answers do not need them.
    "ai-training": {
        "GPTBot": _OPENAI,
        "ClaudeBot": _ANTHROPIC,
        "Google-Extended": _GOOGLE,
        "Applebot-Extended": _APPLE,
        "meta-externalagent": _META,
        "Amazonbot": _AMAZON,
        "MistralAI-Training": _MISTRAL,
        "CCBot": _COMMON_CRAWL,
    },
    # They build the index that an assistant searches and links to.
    "ai-search": {
        "OAI-SearchBot": _OPENAI,
        "Claude-SearchBot": _ANTHROPIC,
        "PerplexityBot": _PERPLEXITY,
        "Meta-WebIndexer": _META,
        "Amzn-SearchBot": _AMAZON,
        "MistralAI-Index": _MISTRAL,
    },
    # They fetch a page because somebody asked about it.
    "ai-user": {
        "ChatGPT-User": _OPENAI,
        "Claude-User": _ANTHROPIC,
        "Perplexity-User": _PERPLEXITY,
        "meta-externalfetcher": _META,
        "Amzn-User": _AMAZON,
        "MistralAI-User": _MISTRAL,
        "DuckAssistBot": _DUCKDUCKGO,
    },
    # They check the pages that somebody advertises with an assistant; documented since
    # 2026-04-21.
    "ai-ads": {"OAI-AdsBot": _OPENAI},
}
