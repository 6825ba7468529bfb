"""``check_sitemaps``: the audit, and how it is printed."""

from __future__ import annotations

from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from itertools import groupby
from typing import Any

from django.core.management import CommandError

from django_sitemaps_plus.audit.findings import Found
from django_sitemaps_plus.audit.kinds import KINDS, LEVELS
from django_sitemaps_plus.audit.models import Audit
from django_sitemaps_plus.audit.run import Request, Result, run
from django_sitemaps_plus.audit.sides import compared_site

from .fetching import in_process, over_http
from .progress import progress
from .utils import MISUSED, SitemapsCommand, counted

#: Findings of a kind that are printed; JSON has all that are remembered.
SHOWN = 5
#: Requests a second over HTTP.
RATE = 5.0


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the options of the audit."""
    fetching = parser.add_mutually_exclusive_group()
    fetching.add_argument(
        "--fetch",
        action="store_true",
        help="also fetch the listed URLs, in this process, through Django's test "
        "client: status, redirects, noindex, canonical, empty and login pages",
    )
    fetching.add_argument(
        "--live",
        action="store_true",
        help="the same over HTTP, at the site's public address",
    )
    parser.add_argument(
        "--rate",
        type=_positive,
        metavar="N",
        help=f"requests a second with --live (default: {RATE:g})",
    )
    parser.add_argument(
        "--sample",
        type=_count,
        metavar="N",
        help="fetch only N of the listed URLs, chosen at random",
    )
    parser.add_argument(
        "--seed",
        type=int,
        metavar="S",
        help="with --sample: choose the same URLs again, from the same list "
        "(default: 0)",
    )
    parser.add_argument(
        "--fail-on",
        choices=LEVELS[::-1],
        default="error",
        help="end with 1 where the audit finds this, or worse (default: error)",
    )


def _positive(text: str) -> float:
    value = float(text)
    if not 0 < value < float("inf"):
        raise ArgumentTypeError("not above 0")
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 1:
        raise ArgumentTypeError("not above 0")
    return value


def refuse_idle(options: Mapping[str, Any]) -> None:
    """Refuse options that would do nothing."""
    fetches = options["fetch"] or options["live"]
    for name, needed, is_given in (
        ("sample", "--fetch or --live", fetches),
        ("rate", "--live", options["live"]),
        ("seed", "--sample", options["sample"] is not None),
    ):
        if options[name] is not None and not is_given:
            raise CommandError(
                f"--{name} does nothing without {needed}.", returncode=MISUSED
            )


def audit(
    command: SitemapsCommand, names: Sequence[str], options: Mapping[str, Any]
) -> Result:
    """Run the audit that the options ask for, and store it."""
    fetched = Audit.Fetched.NOTHING
    if options["fetch"]:
        fetched = Audit.Fetched.IN_PROCESS
    if options["live"]:
        fetched = Audit.Fetched.LIVE
    site = compared_site()
    with ExitStack() as stack:
        fetch = over_http if options["live"] else stack.enter_context(in_process(site))
        shown = {
            name: stack.enter_context(progress(command, label, text))
            for name, label, text in (
                ("read", "Reading pages", "{:,} of {:,} pages read"),
                *_ASKED[: bool(fetched)],
            )
        }
        result = run(
            Request(
                site=site,
                sections=names,
                fetch=fetch,
                fetched=fetched,
                sample=options["sample"],
                seed=options["seed"] or 0,
                rate=(options["rate"] or RATE) if options["live"] else None,
                **shown,
            )
        )
    result.store()
    return result


_ASKED = (("asked", "Fetching URLs", "{:,} of {:,} URLs fetched"),)


def failed(result: Result, fail_on: str) -> str:
    """Return what the audit found that makes the command fail; empty if nothing."""
    levels = LEVELS[: LEVELS.index(fail_on) + 1]
    numbers = {level: result.findings.total(level) for level in levels}
    if not any(numbers.values()):
        return ""
    return f"The audit found {_sum(numbers)}."


def _sum(numbers: Mapping[str, int]) -> str:
    return " and ".join(counted(number, level) for level, number in numbers.items())


# How it is printed


def as_dict(result: Result) -> dict[str, Any]:
    """Return what an audit found, for JSON."""
    audit = result.audit
    return {
        "urls": audit.urls,
        "fetched": audit.fetched_urls,
        "errors": audit.errors,
        "warnings": audit.warnings,
        "times": audit.times,
        "counts": audit.counts,
        "findings": [
            {"id": one.kind, "level": one.about.level, "fix": one.about.fix}
            | {name: value for name, value in asdict(one).items() if name != "kind"}
            for one in result.found
        ],
    }


def table(result: Result) -> Iterator[str]:
    """Yield what an audit found, as a table, and what to do about it."""
    numbers = result.findings.by_kind()
    found = {
        kind: list(some)[:SHOWN]
        for kind, some in groupby(result.found, key=lambda one: one.kind)
    }
    rows = [_HEAD]
    for kind, some in found.items():
        rows += map(_cells, some)
        more = sum(numbers[kind].values()) - len(some)
        if more > 0:
            about = KINDS[kind]
            rows.append((about.level, _short(kind), "", "", f"and {more:,} more", ""))
    if found:
        yield ""
        *widths, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
        for row in rows:
            cells = zip(row, [*widths, 0], strict=True)
            yield "  ".join(cell.ljust(width) for cell, width in cells).rstrip()
        yield ""
    for kind in found:
        about = KINDS[kind]
        number = sum(numbers[kind].values())
        yield f"{_short(kind)}: {about.title} ({number:,}). Next: {about.fix}."
    yield from _times(result)
    yield summary(result)


_HEAD = ("level", "id", "page", "row", "URL", "what")


def _cells(one: Found) -> tuple[str, str, str, str, str, str]:
    where = one.page or one.section
    return one.about.level, _short(one.kind), where, one.row, one.url, one.text


def _short(kind: str) -> str:
    """Return an id without what all have in common."""
    return kind.rpartition(".")[2]


def _times(result: Result) -> Iterator[str]:
    for name, times in result.audit.times.items():
        p50, p95, longest = (f"{1000 * times[key]:,.0f}" for key in _PERCENTILES)
        yield (
            f"Section {name!r} answers within {p50} ms (half of the URLs), {p95} ms "
            f"(95 in 100), {longest} ms (all)."
        )


_PERCENTILES = "p50", "p95", "max"


def summary(result: Result) -> str:
    """Return an audit in one sentence."""
    audit = result.audit
    urls = counted(audit.urls, "URL")
    if audit.fetched:
        urls += f", {audit.fetched_urls:,} of them fetched"
    found = {"error": audit.errors, "warning": audit.warnings}
    return f"Audit: {urls}; {_sum(found)}."


def annotated(result: Result) -> Iterator[str]:
    """Yield what an audit found as workflow commands of GitHub Actions."""
    for one in result.found:
        where = " ".join(filter(None, (one.url, one.page or one.section)))
        row = f" (row {one.row})" if one.row else ""
        yield annotation(
            one.about.level,
            one.kind,
            f"{where}{row}: {one.text}. Next: {one.about.fix}.",
        )


def annotation(level: str, title: str, message: str) -> str:
    """
    Return a workflow command that shows a message.

    https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
    """
    for character, written in (("%", "%25"), ("\r", "%0D"), ("\n", "%0A")):
        message = message.replace(character, written)
        title = title.replace(character, written)
    for character, written in ((":", "%3A"), (",", "%2C")):
        title = title.replace(character, written)
    return f"::{level} title={title}::{message}"
