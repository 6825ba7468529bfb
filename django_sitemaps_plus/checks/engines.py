"""Checks of the search engines in the settings, and of who notifies them."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import Any

from django.core.checks import CheckMessage

from django_sitemaps_plus.conf import NAME, advice, get_settings
from django_sitemaps_plus.delivery import engines, workers
from django_sitemaps_plus.engines import asking
from django_sitemaps_plus.engines.base import EVENTS, Engine
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.protocol.errors import page

from .messages import check, message, section_names_of_all_sites, without_address


@check()
def check_engines(**kwargs: Any) -> Iterator[CheckMessage]:
    """E030 to E032, E034, W030, W031 and W034: the engines in the settings."""
    aliases = get_settings().ENGINES
    for name in aliases:
        yield from _check_engine(name)
    yield from _check_services()
    if aliases:
        text = "Engines are configured, but the site's address is not: nothing is sent."
        yield from without_address("W030", text)


def _check_engine(name: str) -> Iterator[CheckMessage]:
    try:
        engines.backend(name)
    except ConfigurationError as error:
        yield message(
            "E030",
            str(error),
            'Use {"BACKEND": "django_sitemaps_plus.engines.indexnow.IndexNow", '
            f'"OPTIONS": {{…}}}}; {page("engines")} lists the engines.',
        )
        return
    try:
        engine = engines.make(name)
    except ConfigurationError as error:
        hint = "Correct the option."
        if "pip install" in str(error):
            hint = "Type that command, or remove the engine."
        yield message("E031", str(error), hint)
        return
    where = f"{NAME}['ENGINES'][{name!r}]"
    for found in asking.check_machine(engine):
        text = f"{where} cannot be used on this machine: {found.text}"
        yield message("W031", text, found.fix)
    known = section_names_of_all_sites()
    for option in ("sections", "exclude"):
        for section in getattr(engine, option):
            if known and section not in known:
                yield message(
                    "E034",
                    f"{where}['OPTIONS'][{option!r}] has {section!r}, which is not a "
                    f"section. {advice(section, known, 'sections')}",
                    "Correct the name, or remove it.",
                )
    for option, sentence in engines.retired_addresses(engine):
        yield message(
            "E032",
            f"{where}['OPTIONS'][{option!r}] is an address that no longer works. "
            f"{sentence}",
            "Remove the engine, or use the one that took its place.",
        )


def _check_services() -> Iterator[CheckMessage]:
    """W034: a service that receives the same URLs from two engines."""
    try:
        usable = engines.engines()
    except ConfigurationError:
        return  # E030 and E031 say so
    known = section_names_of_all_sites() or [""]
    for (alias, one), (name, other) in combinations(usable.items(), 2):
        if one.service and one.service == other.service and _share(one, other, known):
            yield message(
                "W034",
                f"{NAME}['ENGINES'] has {alias!r} and {name!r}, which notify the same "
                f"service: {one.name} receives each URL twice.",
                "Remove one of them, or give them different 'sections' or 'events'.",
            )


def _share(one: Engine, other: Engine, sections: list[str]) -> bool:
    """Return whether two engines are notified of the same events of some section."""
    return (one.wants_documents and other.wants_documents) or any(
        one.wants(section, event) and other.wants(section, event)
        for section in sections
        for event in EVENTS
    )


@check()
def check_workers(**kwargs: Any) -> Iterator[CheckMessage]:
    """E033 and W033: what ``BACKGROUND`` hands the work to is missing."""
    how = get_settings().BACKGROUND
    if how not in workers.WORKERS:
        return
    start, instead = f"{NAME}['BACKGROUND'] is {how!r}", "or set it to True."
    if package := workers.missing_package(str(how)):
        text = f"{start}, but {package} is not installed."
        hint = f'Type: pip install "django-sitemaps-plus[{how}]"; {instead}'
        yield message("E033", text, hint)
    elif problem := workers.problem(str(how)):
        where = "TASKS" if how == "tasks" else "Celery"
        text = f"{start}, which cannot be used: {problem}"
        yield message("E033", text, f"Correct the settings of {where}; {instead}")
    elif name := workers.without_workers(str(how)):
        does = "runs none" if name == "DummyBackend" else "runs it itself, at once"
        yield message(
            "W033",
            f"{start}, but TASKS has the {name}, which hands no task to a worker: it "
            f"{does}.",
            f"Give TASKS a backend with workers, such as django-tasks-db's; {instead}",
        )
