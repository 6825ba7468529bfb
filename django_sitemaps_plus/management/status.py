"""
How engines are doing and what they say of sitemaps, as commands print it.

In the active language: they make it English.
"""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeAlias

from django_sitemaps_plus.delivery.engines import EngineHealth, engines
from django_sitemaps_plus.engines.base import SitemapStatus
from django_sitemaps_plus.health import words
from django_sitemaps_plus.health.words import plain_ago

#: The width of lines where no terminal says how wide it is, and the widest.
_WIDTH, _WIDEST = 80, 100


#: A heading, and labels with their values; those without one are not printed.
Block: TypeAlias = tuple[str, Sequence[tuple[str, str]]]


def engine_block(one: EngineHealth) -> Block:
    """Return how an engine is doing for one host."""
    state = one.state
    message = engines()[state.engine].redact(state.message)
    health = str(one.health.label)
    rest = [one.reason] if one.reason else []
    if one.next_try is not None:
        rest.append(f"Next try {words.until(one.next_try)}.".replace("\xa0", " "))
    verified, answered = plain_ago(state.verified_at), plain_ago(state.answered_at)
    if answered and state.status:
        answered += f", with status {state.status}"
    return (
        f"{state.engine} for {state.host}" if state.host else state.engine,
        [
            ("Health", f"{health}: {' '.join(rest)}" if rest else health),
            ("Waiting", f"{one.waiting:,}"),
            ("Last success", plain_ago(state.succeeded_at)),
            ("Last answer", answered),
            # What keeps it from working stands above.
            ("It says", "" if message == one.reason else message),
            ("Ownership", f"verified {verified}" if verified else ""),
        ],
    )


def sitemap_block(alias: str, one: SitemapStatus) -> Block:
    """Return what an engine says of a sitemap."""
    submitted = ", ".join(f"{kind} {count:,}" for kind, count in one.submitted.items())
    last_read = "not yet" if one.is_pending else _moment(one.last_downloaded)
    return (
        f"{alias} on {one.location}",
        [
            ("Problem", one.problem),
            ("Submitted", _moment(one.last_submitted)),
            ("Last read", last_read),
            ("URLs", submitted),
            ("Errors", _count(one.errors)),
            ("Warnings", _count(one.warnings)),
        ],
    )


def wrapped(text: str) -> list[str]:
    """Return the lines of a text, no wider than the terminal."""
    return textwrap.wrap(text, _width(), subsequent_indent="  ", break_on_hyphens=False)


def _width() -> int:
    return min(_WIDEST, shutil.get_terminal_size((_WIDTH, 24)).columns)


def printed(blocks: Iterable[Block]) -> Iterator[str]:
    """Yield the lines of some blocks, no wider than the terminal."""
    width = _width()
    for heading, values in blocks:
        yield from textwrap.wrap(heading, width, break_on_hyphens=False)
        shown = [(label, value) for label, value in values if value]
        indent = 4 + max((len(label) for label, _ in shown), default=0)
        for label, value in shown:
            yield from textwrap.wrap(
                value,
                max(20, width),
                initial_indent=f"  {label}".ljust(indent),
                subsequent_indent=" " * indent,
                break_on_hyphens=False,
            )
        yield ""


def _moment(text: str | None) -> str:
    """Return a time as an engine writes it (RFC 3339), as the others are printed."""
    return plain_ago(words.seconds_of(text) or 0.0) or text or ""


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
