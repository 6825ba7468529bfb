"""``manage.py load_unicode``: create the tables and fill them."""

from __future__ import annotations

import argparse
import sys
import unicodedata
from collections.abc import Iterable, Iterator
from io import StringIO
from time import perf_counter
from typing import Any

from django.core.management import call_command
from django.core.management.base import (
    BaseCommand,
    CommandError,
    CommandParser,
    OutputWrapper,
)
from django.db import DatabaseError, connection
from django.utils import timezone

from unicode_book import loading
from unicode_book.loading import LAST_CODE_POINT, RANGE, Report

PLAIN_LINE_EVERY = 20_000


def code_point(text: str) -> int:
    """Read a code point in hexadecimal, with or without "U+"."""
    try:
        number = int(text.upper().removeprefix("U+"), 16)
    except ValueError:
        number = -1
    if not 0 <= number <= LAST_CODE_POINT:
        raise argparse.ArgumentTypeError(
            f"{text!r} is no code point; give one like U+2FFF."
        )
    return number


class Command(BaseCommand):
    """Load what this Python knows of Unicode into the database."""

    help = (
        "Create the tables if they are missing (as migrate does) and load all named "
        "characters that this Python knows, their blocks, and the notes. Rows that "
        "are right already are left alone, so it can be stopped and run again at any "
        "time. Then make the sitemaps agree (build_sitemaps --reconcile). Ends with 0 "
        "when all is loaded, 1 when the database refused or the "
        "run was stopped, 2 when an argument is wrong."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--last",
            type=code_point,
            default=LAST_CODE_POINT,
            metavar="U+XXXX",
            help="Load up to this code point only, and leave what is above it as it "
            "is. U+2FFF is enough for a quick look.",
        )

    def handle(self, *, last: int, verbosity: int, **options: Any) -> None:
        started = perf_counter()
        try:
            characters, notes = self.load(last, quiet=verbosity == 0)
        except DatabaseError as error:
            raise CommandError(f"{_database()} refused: {error}") from error
        except KeyboardInterrupt as error:
            raise CommandError(
                "Stopped. What was loaded is kept; the same command goes on from there."
            ) from error
        out = self.stdout if verbosity else OutputWrapper(StringIO())
        out.write(self.sentence(characters, notes, perf_counter() - started))
        # Bulk inserts send no signals, so the sitemaps learn of them here.
        call_command("build_sitemaps", reconcile=True, stdout=out)
        out.write(f"Next, type: {_command('show_sitemap')}")

    def load(self, last: int, *, quiet: bool) -> tuple[Report, Report]:
        """Migrate, load, and return what was done to characters and notes."""
        call_command("migrate", interactive=False, verbosity=0)
        moment = timezone.now()
        characters = Report()
        ranges = loading.load_characters(moment, last)
        if not quiet:
            ranges = self.with_progress(ranges, last // RANGE + 1)
        for report in ranges:
            characters += report
        return characters, loading.load_notes(moment)

    def with_progress(self, ranges: Iterable[Report], total: int) -> Iterator[Report]:
        """Yield ``ranges`` and show how far they are: a bar, or lines without rich."""
        try:
            from rich.console import Console
            from rich.progress import track
        except ImportError:
            pass
        else:
            console = Console(stderr=True)
            if console.is_terminal:
                yield from track(ranges, "Characters", total, console=console)
                return
        done, said = 0, 0
        for report in ranges:
            yield report
            done += report.total
            if done - said >= PLAIN_LINE_EVERY:
                self.stderr.write(f"{done:,} characters", style_func=str)
                said = done

    def sentence(self, characters: Report, notes: Report, seconds: float) -> str:
        """Return what was done as one sentence."""
        return (
            f"The encyclopedia has {characters.total:,} characters of Unicode "
            f"{unicodedata.unidata_version} ({characters.added:,} added, "
            f"{characters.changed:,} changed, {characters.removed:,} removed) and "
            f"{notes.total} notes in two languages, after {seconds:.1f} s."
        )


def _database() -> str:
    """Return what an error message calls the database."""
    return f"The database {connection.settings_dict['NAME']}"


def _command(name: str) -> str:
    """Return the line to type for another command of this site."""
    return f"{sys.executable} {sys.argv[0]} {name}"
