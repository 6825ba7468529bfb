"""``check_sitemaps``: the audit, and how it is printed."""

from __future__ import annotations

import textwrap
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from django_sitemaps_plus.contrib.audit import crawler, queries
from django_sitemaps_plus.contrib.audit.kinds import LEVELS, known
from django_sitemaps_plus.contrib.audit.models import Audit, Finding
from django_sitemaps_plus.contrib.audit.run import Request, run_audit
from django_sitemaps_plus.contrib.audit.sides import compared_site
from django_sitemaps_plus.management.utils import SitemapsCommand, counted, misused

from .fetching import in_process, over_http
from .progress import progress

#: Findings of a kind that are printed; JSON has all that are remembered.
SHOWN = 5
#: Requests a second over HTTP.
_RATE = 5.0


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
        help=f"requests a second with --live (default: {_RATE:g})",
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
        help="exit with 1 if the checks or the audit find this, or worse (default: "
        "error)",
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
            raise misused(f"--{name} does nothing without {needed}.")


class Result(NamedTuple):
    """An audit, and the findings that it remembers."""

    audit: Audit
    findings: Sequence[Finding]


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
        audit, findings = run_audit(
            Request(
                site=site,
                sections=names,
                fetch=fetch,
                fetched=fetched,
                sample=options["sample"],
                seed=options["seed"] or 0,
                rate=(options["rate"] or _RATE) if options["live"] else None,
                **shown,
            )
        )
    queries.store(audit, findings)
    return Result(audit, findings)


def crawl(command: SitemapsCommand, options: Mapping[str, Any]) -> Result:
    """Read the sitemaps as crawlers do, and store what is wrong."""
    label, text = "Reading sitemaps as a crawler", "{:,} of {:,} files read"
    with progress(command, label, text) as show:
        how = {"rate": options["rate"] or _RATE, "most": options["sample"]}
        return Result(*crawler.crawl_and_store(compared_site(), progress=show, **how))


_ASKED = (("asked", "Fetching URLs", "{:,} of {:,} URLs fetched"),)


def failed(result: Result, fail_on: str | None) -> str:
    """Return what makes the command fail: what was found, or not looked at."""
    audit = result.audit
    numbers = {"error": audit.errors}
    if fail_on == "warning":
        numbers["warning"] = audit.warnings
    found = f"{_sum(numbers)}." if any(numbers.values()) else ""
    if audit.fetched == Audit.Fetched.CRAWLED:
        # What this machine cannot look at, as over IPv6, is no fault of the site.
        return f"Reading the sitemaps as crawlers do found {found}" if found else ""
    return " ".join(filter(None, (found and f"The audit found {found}", audit.missed)))


def _sum(numbers: Mapping[str, int]) -> str:
    return " and ".join(counted(number, level) for level, number in numbers.items())


# How it is printed


def as_dict(result: Result) -> dict[str, Any]:
    """Return what an audit found, for JSON."""
    audit = result.audit
    numbers = {"urls": audit.urls, "fetched": audit.fetched_urls}
    findings = [
        {"id": one.kind, "level": one.level, "fix": one.about.fix}
        | {name: getattr(one, name) for name in _OF_FINDING}
        for one in result.findings
    ]
    said = {name: getattr(audit, name) for name in _OF_AUDIT}
    return {**numbers, **said, "findings": findings}


_OF_AUDIT = ("missed", "errors", "warnings", "times", "counts")
_OF_FINDING = ("section", "page", "url", "text", "row")


def audit_table(result: Result) -> Iterator[str]:
    """Yield what an audit found, kind by kind, and what to do about it."""
    numbers = result.audit.counts
    for kind, some in groupby(result.findings, key=attrgetter("kind")):
        about, number = known()[kind], sum(numbers[kind].values())
        yield ""
        yield _filled(f"{about.level} {about.number}: {about.title} ({number:,})")
        shown = list(some)[:SHOWN]
        for one in shown:
            yield from _lines(one)
        if number > len(shown):
            yield f"  and {number - len(shown):,} more"
        yield _filled(f"  Next: {about.fix}. {about.see}")
    if result.findings:
        yield ""
    yield from map(_filled, _times(result))
    yield _filled(_summary(result))


def _lines(one: Finding) -> Iterator[str]:
    """Yield a finding: the URL by itself, as it may be long, then where and what."""
    if one.url:
        yield f"  {one.url}"
    row = f"row {one.row}" if one.row else ""
    where = ", ".join(filter(None, (one.page or one.section, row)))
    yield _filled(f"{'    ' if one.url else '  '}{where or 'site'}: {one.text}")


def _filled(text: str) -> str:
    """Return a text in lines of 80 columns, except longer words."""
    indent = " " * (len(text) - len(text.lstrip()) + 2)
    return textwrap.fill(
        text,
        width=80,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _times(result: Result) -> Iterator[str]:
    for name, times in result.audit.times.items():
        p50, p95, longest = (f"{1000 * times[key]:,.0f}" for key in _PERCENTILES)
        yield (
            f"Section {name!r} answers: median {p50} ms, 95th percentile {p95} ms, "
            f"slowest {longest} ms."
        )


_PERCENTILES = "p50", "p95", "max"


def _summary(result: Result) -> str:
    """Return an audit in one sentence."""
    audit = result.audit
    numbers = {"error": audit.errors, "warning": audit.warnings}
    if audit.fetched == Audit.Fetched.CRAWLED:
        files = f"{audit.fetched_urls:,} of {counted(audit.urls, 'sitemap')}"
        text = f"As crawlers see it: {files} requested; {_sum(numbers)}."
        return f"{text} {audit.missed}".rstrip()
    urls = counted(audit.urls, "URL")
    if audit.fetched:
        urls += f", {audit.fetched_urls:,} of them fetched"
    return " ".join(filter(None, (f"Audit: {urls}; {_sum(numbers)}.", audit.missed)))


def annotated(result: Result) -> Iterator[str]:
    """Yield what an audit found as workflow commands of GitHub Actions."""
    for one in result.findings:
        where = " ".join(filter(None, (one.url, one.page or one.section)))
        row = f" (row {one.row})" if one.row else ""
        yield annotation(
            one.level,
            one.kind,
            f"{where}{row}: {one.text}. Next: {one.about.fix}. {one.about.see}",
        )


def annotation(level: str, title: str, message: str) -> str:
    """
    Return a workflow command that shows a message.

    https://docs.github.com/en/actions/reference/workflow-commands-for-github-actions
    """
    title, text = title.translate(_IN_TITLES), message.translate(_IN_MESSAGES)
    return f"::{level} title={title}::{text}"


_IN_MESSAGES = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_IN_TITLES = _IN_MESSAGES | str.maketrans({":": "%3A", ",": "%2C"})
