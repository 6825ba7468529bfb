"""robots.txt: the rules that the setting ``ROBOTS`` declares, and the sitemaps."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings as django_settings
from django.db import DatabaseError
from django.http import HttpRequest
from django.urls import NoReverseMatch
from django.utils import translation

from django_sitemaps_plus import hooks
from django_sitemaps_plus.conf import (
    advice,
    are_addresses,
    mapping,
    of_settings,
    options_of,
    refusal,
    setting,
    texts,
)
from django_sitemaps_plus.protocol.errors import ProtocolError
from django_sitemaps_plus.protocol.robots import (
    PRESETS,
    SIGNALS,
    USAGES,
    USES,
    Group,
    Permissions,
    closed,
    rules_txt,
    with_sitemaps,
)
from django_sitemaps_plus.sitemaps.media import settled
from django_sitemaps_plus.sitemaps.site import (
    Site,
    SiteAddress,
    address_of_host,
    working_for,
)

from .index import extra_sitemaps, index_places

#: The keys of a group of robots.txt.
_GROUP_KEYS = (
    *("user_agent", "crawlers", "allow", "disallow", "crawl_delay", "content_signal"),
    *("content_usage", "license", "clean_param"),
)


@dataclass(frozen=True)
class Rules:
    """What the settings say of crawlers."""

    groups: list[Group]
    #: What robots.txt says before it names sitemaps.
    text: str
    #: Whether all crawlers are kept from the whole site.
    are_closed: bool


@of_settings
def rules() -> Rules:
    """
    Return ``ROBOTS``, also while other settings are wrong.

    Raises ``ConfigurationError`` for what RFC 9309 does not allow.
    """
    groups: list[Group] = []
    licenses: list[str] = []
    try:
        # Once for all requests: in one language, whoever asks.
        with translation.override(django_settings.LANGUAGE_CODE):
            given = settled(setting("ROBOTS"))
        for index, entry in enumerate(given):
            if urls := _licenses(index, entry):
                licenses += urls
            else:
                groups.append(_group(index, entry))
        return Rules(groups, rules_txt(groups, licenses), closed(groups))
    except (ProtocolError, NoReverseMatch) as error:
        raise refusal(f"cannot be written: {error}", "ROBOTS") from error


def _group(index: int, entry: Any) -> Group:
    path = "ROBOTS", index
    options_of(entry, _GROUP_KEYS, "keys", '{"user_agent": "*"}', *path)
    found = {
        key: texts(entry.get(key, ()), *path, key)
        for key in ("user_agent", "crawlers", "allow", "disallow", "clean_param")
    }
    crawlers = _crawlers(found["crawlers"], *path, "crawlers")
    is_for_all = not {"user_agent", "crawlers"} & set(entry)
    return Group(
        user_agents=("*",) if is_for_all else (*found["user_agent"], *crawlers),
        allow=found["allow"],
        disallow=found["disallow"],
        crawl_delay=entry.get("crawl_delay"),
        signals=_signals(entry.get("content_signal", {}), *path, "content_signal"),
        clean_param=found["clean_param"],
        usage=_usage(entry.get("content_usage", {}), *path, "content_usage"),
    )


def _licenses(index: int, entry: Any) -> tuple[str, ...]:
    """Return the licenses that an entry of ``ROBOTS`` names; none if it is a group."""
    if not isinstance(entry, Mapping) or "license" not in entry:
        return ()
    path = "ROBOTS", index, "license"
    example = '{"license": "https://www.example.com/license.xml"}'
    if len(entry) > 1:
        raise refusal(
            f"holds for all crawlers. Give it an entry of its own: {example}.", *path
        )
    urls = texts(entry["license"], *path)
    if not urls or not are_addresses(urls):
        raise refusal(
            f"is {entry['license']!r}; use the whole URL of the license, for example "
            f"{example}.",
            *path,
        )
    return urls


def _crawlers(presets: Iterable[str], *path: object) -> list[str]:
    """Return the names of the crawlers of presets."""
    found: list[str] = []
    for preset in presets:
        if preset not in PRESETS:
            raise refusal(
                f"has {preset!r}. {advice(preset, PRESETS, 'presets')}", *path
            )
        found += PRESETS[preset]
    return found


def _signals(given: Any, *path: object) -> Permissions:
    """Return what Content-Signal says, in a fixed order."""
    example = '{"search": True, "ai-train": False}'
    options_of(given, (*SIGNALS, "use"), "signals", example, *path)
    some = {name: given[name] for name in given if name != "use"}
    found = _permissions(some, SIGNALS, "signals", example, *path)
    if "use" not in given:
        return found
    if given["use"] not in USES:
        known = ", ".join(map(repr, USES))
        raise refusal(f"is {given['use']!r}; use one of {known}.", *path, "use")
    return (*found, ("use", given["use"]))


def _usage(given: Any, *path: object) -> tuple[tuple[str, Permissions], ...]:
    """Return what Content-Usage says: of all paths first, then of single ones."""
    example = '{"train-ai": False, "/docs/": {"train-ai": True}}'
    some = mapping(given, example, *path)
    paths = {name: some[name] for name in some if str(name).startswith("/")}
    common = {name: some[name] for name in some if name not in paths}
    found = [("", _permissions(common, USAGES, "categories", example, *path))]
    for name, said in paths.items():
        whole = _permissions(said, USAGES, "categories", example, *path, name)
        found.append((name, whole))
    return tuple((name, said) for name, said in found if said)


def _permissions(
    given: Any, known: Collection[str], what: str, example: str, *path: object
) -> Permissions:
    """Return what may be done and what not, in the order of the known names."""
    for name, value in options_of(given, known, what, example, *path).items():
        if not isinstance(value, bool):
            raise refusal(f"is {value!r}; use True or False.", *path, name)
    return tuple((name, given[name]) for name in known if name in given)


logger = logging.getLogger("django_sitemaps_plus")


def robots_for(request: HttpRequest, site: str) -> str:
    """Return the robots.txt of a request; ``site`` is one of ``SITES``, or empty."""
    if rules().are_closed:
        return rules().text
    try:
        with working_for(Site.of_request(request, site)):
            return robots_of(Site.current().address_for(request))
    except DatabaseError as error:
        logger.warning("The domain of the current Site cannot be read: %s", error)
        return robots_of(address_of_host(request))


def robots_of(site: SiteAddress) -> str:
    """Return the robots.txt of a site; it names the sitemaps that crawlers may read."""
    if rules().are_closed:
        return rules().text
    return with_sitemaps(rules().text, [*index_places(site), *others_in_robots(site)])


def others_in_robots(site: SiteAddress) -> list[str]:
    """Return what robots.txt names beside the sitemaps of the core."""
    return [*hooks.sitemaps(site), *extra_sitemaps(site, in_index=False)]
