"""How engines are doing and what they say of sitemaps, as commands print it."""

from __future__ import annotations

import shutil
import textwrap
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

from django.utils.dateparse import parse_datetime

from django_sitemaps_plus.delivery.dispatcher import in_words
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.delivery.health import EngineHealth, Health
from django_sitemaps_plus.engines.base import SitemapStatus

#: The width of lines where no terminal says how wide it is, and the widest.
WIDTH, WIDEST = 80, 100

_WORDS = {
    Health.REFUSED: "nothing is sent",
    Health.BLOCKED: "needs attention",
    Health.PAUSED: "paused",
    Health.UNUSED: "ready, nothing sent yet",
    Health.FINE: "works",
    Health.UNKNOWN: "not in the settings",
}
#: Seconds of the units in which ages are said, each from two of it on.
_UNITS = ((86_400, "days"), (3_600, "hours"), (60, "minutes"))


@dataclass(frozen=True)
class Block:
    """A heading, and labels with their values; those without one are not printed."""

    heading: str
    values: Sequence[tuple[str, str]]


def of_engine(one: EngineHealth) -> Block:
    """Return how an engine is doing for one host."""
    state = one.state
    engine = engines().get(state.engine)
    message = state.message if engine is None else engine.redact(state.message)
    health = _WORDS[one.health]
    rest = [one.reason] if one.reason else []
    if one.health in (Health.PAUSED, Health.BLOCKED):
        left = state.paused_until - time.time()
        rest.append(f"Next try {f'in {in_words(left)}' if left > 0 else 'now'}.")
    answered = ago(state.answered_at)
    if answered and state.status:
        answered += f", with status {state.status}"
    return Block(
        f"{state.engine} for {state.host}" if state.host else state.engine,
        [
            ("Health", f"{health}: {' '.join(rest)}" if rest else health),
            ("Waiting", f"{one.waiting:,}"),
            ("Last success", ago(state.succeeded_at)),
            ("Last answer", answered),
            # What keeps it from working stands above.
            ("It says", "" if message == one.reason else message),
            ("Ownership", verified(state.verified_at)),
        ],
    )


def verified(seconds: float) -> str:
    """Return when the ownership proof was found; empty if it never was."""
    return f"verified {ago(seconds)}" if seconds else ""


def of_sitemap(alias: str, one: SitemapStatus) -> Block:
    """Return what an engine says of a sitemap."""
    submitted = ", ".join(f"{kind} {count:,}" for kind, count in one.submitted.items())
    return Block(
        f"{alias} on {one.location}",
        [
            ("Problem", one.problem),
            ("Submitted", _moment(one.last_submitted)),
            (
                "Last read",
                "not yet" if one.is_pending else _moment(one.last_downloaded),
            ),
            ("URLs", submitted),
            ("Errors", _count(one.errors)),
            ("Warnings", _count(one.warnings)),
        ],
    )


def printed(blocks: Iterable[Block], width: int | None = None) -> Iterator[str]:
    """Yield the lines of some blocks, no wider than the terminal."""
    if width is None:
        width = min(WIDEST, shutil.get_terminal_size((WIDTH, 24)).columns)
    for block in blocks:
        yield from textwrap.wrap(block.heading, width, break_on_hyphens=False)
        shown = [(label, value) for label, value in block.values if value]
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


def ago(seconds: float) -> str:
    """Return how long ago a time is: "8 minutes ago"; empty for none."""
    if not seconds:
        return ""
    age = time.time() - seconds
    for unit, name in _UNITS:
        if age >= 2 * unit:
            return f"{int(age // unit)} {name} ago"
    return "a minute ago" if age >= 60 else "just now"


def _moment(text: str | None) -> str:
    """Return a time as an engine writes it (RFC 3339), as the others are printed."""
    try:
        moment = parse_datetime(text or "")
    except ValueError:
        moment = None
    if moment is None:
        return text or ""
    aware: datetime = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return ago(aware.timestamp())


def _count(value: int | None) -> str:
    return "" if value is None else f"{value:,}"
