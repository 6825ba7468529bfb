"""``manage.py build_sitemaps``: do the requests' work ahead of them."""

from __future__ import annotations

import time
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DatabaseError

from django_sitemaps_plus import builder, definitions, ledger
from django_sitemaps_plus.builder import SectionReport
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import NotReady, SitemapsPlusError
from django_sitemaps_plus.models import tables_exist
from django_sitemaps_plus.origin import Place, configured
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.rows import Source

FAILED, MISUSED = 1, 2
#: Seconds between two lines of progress.
_EVERY = 2.0
#: How many bad rows of a section are printed.
_SHOWN = 5


class Command(BaseCommand):
    """Find page bounds, make pages, or compare them with their rows."""

    help = (
        "Make the pages of all sections, or of those named, so that no request has "
        "to. Pages that are fresh are left as they are."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "sections",
            nargs="*",
            metavar="SECTION",
            help="the sections to work on; all if none is named",
        )
        parser.add_argument(
            "--ledger",
            action="store_true",
            help="only find the bounds of pages; goes on where an earlier run stopped",
        )
        parser.add_argument(
            "--reconcile",
            action="store_true",
            help="also make again each page whose rows' number or newest lastmod is "
            "another than when it was made, and remove sections that are no longer "
            "registered",
        )
        parser.add_argument(
            "--deep",
            action="store_true",
            help="with --reconcile: make every page again and compare its bytes",
        )

    def handle(
        self,
        *,
        sections: list[str],
        ledger: bool,
        reconcile: bool,
        deep: bool,
        **options: Any,
    ) -> None:
        """Work on each section; one sentence for each, errors at the end."""
        if deep and not reconcile:
            raise CommandError("--deep needs --reconcile.", returncode=MISUSED)
        if ledger and reconcile:
            raise CommandError(
                "Choose --ledger or --reconcile, not both.", returncode=MISUSED
            )
        try:
            failed = [
                source.name
                for source in self._sources(sections)
                if self._work(source, ledger=ledger, reconcile=reconcile, deep=deep)
            ]
            if reconcile and not sections:
                self._remove_unregistered()
        except SitemapsPlusError as error:
            raise CommandError(str(error), returncode=FAILED) from error
        except DatabaseError as error:
            raise _database_trouble(error) from error
        if failed:
            raise CommandError(
                f"Could not make all pages of: {', '.join(failed)}.", returncode=FAILED
            )

    def _sources(self, names: list[str]) -> list[Source]:
        known = registry.sources()
        for name in names:
            if name not in known:
                raise CommandError(
                    f"There is no section {name!r}. Registered: "
                    f"{', '.join(known) or 'none'}.",
                    returncode=MISUSED,
                )
        if not known:
            self.stdout.write(
                "Nothing to build: no sitemap is registered. Add @register to a "
                "Sitemap class in an app's sitemaps.py."
            )
        return [definitions.source(name) for name in names or known]

    def _work(
        self, source: Source, *, ledger: bool, reconcile: bool, deep: bool
    ) -> bool:
        """Work on one section; returns whether something failed."""
        try:
            if ledger:
                done = builder.fill(source, self._line(source, "{} pages so far"))
            elif reconcile:
                done = builder.reconcile(
                    source, _place(), deep=deep, progress=self._progress(source)
                )
            else:
                done = builder.build(source, _place(), self._progress(source))
        except SitemapsPlusError as error:
            # The other sections are none the worse for it.
            again = isinstance(error, NotReady)
            advice = " Run the command again when it is done." if again else ""
            self.stderr.write(self.style.ERROR(f"{error}{advice}"))
            return True
        self._tell(done, ledger=ledger)
        return bool(done.errors)

    def _remove_unregistered(self) -> None:
        for name, pages in builder.remove_unregistered(registry.sources()):
            self.stdout.write(
                f"Section {name!r}: no longer registered; {_count(pages, 'page')} "
                "removed."
            )

    def _tell(self, done: SectionReport, *, ledger: bool) -> None:
        if done.by_position:
            self.stdout.write(
                f"Section {done.name!r}: made on request; nothing to do ahead."
            )
            return
        entries = ""
        if done.entries is not None:
            entries = f", {_count(done.entries, 'entry', 'entries')}"
        work = "" if ledger else f"; {done.changed} made, {done.unchanged} unchanged"
        self.stdout.write(
            f"Section {done.name!r}: {_count(done.pages, 'page')}{entries}{work}."
        )
        if done.bad:
            self.stdout.write(
                self.style.WARNING(
                    f"  {_count(done.bad, 'row')} left out: "
                    + "; ".join(f"{key}: {why}" for key, why in done.problems[:_SHOWN])
                    + ("; …" if done.bad > _SHOWN else ".")
                )
            )
        if done.waiting:
            minutes = _count(max(1, get_settings().SPLIT_GRACE // 60), "minute")
            self.stdout.write(
                f"  {_count(done.waiting, 'page')} split: for {minutes} the left part "
                "keeps the bytes it had, so that no crawler misses a URL."
            )
        for error in done.errors:
            self.stderr.write(self.style.ERROR(f"  {error}"))

    def _progress(self, source: Source) -> Callable[[int, int], None]:
        line = self._line(source, "{} of {} pages")
        return lambda seen, total: None if seen == total else line(seen, total)

    def _line(self, source: Source, text: str) -> Callable[..., None]:
        """Return what prints a line of progress, at most every other second."""
        printed = time.monotonic()

        def write(*numbers: int) -> None:
            nonlocal printed
            if time.monotonic() - printed >= _EVERY:
                printed = time.monotonic()
                self.stdout.write(f"Section {source.name!r}: {text.format(*numbers)}")

        return write


def _count(number: int, one: str, many: str = "") -> str:
    return f"1 {one}" if number == 1 else f"{number:,} {many or one + 's'}"


def _place() -> Place:
    place = configured()
    if place is None:
        raise CommandError(
            "The site's address is not known outside of a request: set "
            "SITEMAPS_PLUS['BASE_URL'], for example 'https://www.example.com'.",
            returncode=MISUSED,
        )
    return place


def _database_trouble(error: DatabaseError) -> CommandError:
    if not tables_exist(ledger.pages().db):
        return CommandError(
            "The tables of django_sitemaps_plus are missing: run "
            "'manage.py migrate sitemaps_plus'.",
            returncode=FAILED,
        )
    return CommandError(f"The database failed: {error}", returncode=FAILED)
