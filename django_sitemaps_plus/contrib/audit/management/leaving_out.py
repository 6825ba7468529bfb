"""``check_sitemaps --left-out``: what patterns leave out."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import asdict

from django_sitemaps_plus.contrib.audit.left_out import Count, count_left_out
from django_sitemaps_plus.management.utils import SitemapsCommand, counted


def add_arguments(parser: ArgumentParser) -> None:
    """Declare the option."""
    parser.add_argument(
        "--left-out",
        action="store_true",
        help="read all rows, and count how many URLs each pattern of EXCLUDE, and of "
        "the exclude of classes, leaves out; no checks are run; exits with 1 if one "
        "leaves out none or all",
    )


def report_left_out(
    command: SitemapsCommand, names: Sequence[str], *, as_json: bool
) -> str:
    """Print what each pattern leaves out; returns what is wrong."""
    counts = count_left_out(names)
    if as_json:
        command.print_json(left_out=list(map(asdict, counts)))
    else:
        for count in counts:
            command.say(_sentence(count), is_error=count.is_wrong)
        if not counts:
            command.say("No section has a pattern, and EXCLUDE is empty.")
    wrong = sum(count.is_wrong for count in counts)
    if not wrong:
        return ""
    return f"{counted(wrong, 'pattern leaves', 'patterns leave')} out none or all."


def _sentence(count: Count) -> str:
    where = f"exclude of section {count.section!r}" if count.section else "EXCLUDE"
    # Texts begin with / or *.
    is_text = count.pattern[0] in "/*"
    shown = repr(count.pattern) if is_text else count.pattern
    text = f"{where}: {shown} leaves out"
    if not count.count:
        return f"{text} nothing: none of {count.total:,} URLs matches."
    if count.count == count.total:
        return f"{text} everything: all of {count.total:,} URLs match."
    return f"{text} {count.count:,} of {count.total:,} URLs, {count.example!r} first."
