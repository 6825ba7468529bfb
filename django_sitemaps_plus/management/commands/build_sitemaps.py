"""``manage.py build_sitemaps``: do the requests' work ahead of them."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import NotReady, SitemapsPlusError
from django_sitemaps_plus.management import utils
from django_sitemaps_plus.management.utils import (
    FAILED,
    MISUSED,
    Pace,
    counted,
    site_place,
)
from django_sitemaps_plus.publishing import build
from django_sitemaps_plus.publishing.build import SectionReport
from django_sitemaps_plus.sitemaps import sections as declared_sections
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import SectionSource

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
        with utils.sentences():
            failed = [
                source.name
                for source in self._sources(sections)
                if self._work(source, ledger=ledger, reconcile=reconcile, deep=deep)
            ]
            if reconcile and not sections:
                self._remove_unregistered()
        if failed:
            raise CommandError(
                f"Could not make all pages of: {', '.join(failed)}.", returncode=FAILED
            )

    def _sources(self, names: list[str]) -> list[SectionSource]:
        named, known = utils.sections(names), registry.sources()
        if not known:
            self.stdout.write(
                "Nothing to build: no sitemap is registered. Add @register to a "
                "Sitemap class in an app's sitemaps.py."
            )
        return [declared_sections.source(name) for name in named or known]

    def _work(
        self, source: SectionSource, *, ledger: bool, reconcile: bool, deep: bool
    ) -> bool:
        """Work on one section; returns whether something failed."""
        try:
            if ledger:
                done = build.fill(source, self._line(source, "{} pages so far"))
            elif reconcile:
                done = build.reconcile(
                    source, site_place(), deep=deep, progress=self._progress(source)
                )
            else:
                done = build.build(source, site_place(), self._progress(source))
        except SitemapsPlusError as error:
            # The other sections are none the worse for it.
            again = isinstance(error, NotReady)
            advice = " Run the command again when it is done." if again else ""
            self.stderr.write(self.style.ERROR(f"{error}{advice}"))
            return True
        self._tell(done, ledger=ledger)
        return bool(done.errors)

    def _remove_unregistered(self) -> None:
        for name, pages in build.remove_unregistered(registry.sources()):
            self.stdout.write(
                f"Section {name!r}: no longer registered; {counted(pages, 'page')} "
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
            entries = f", {counted(done.entries, 'entry', 'entries')}"
        work = "" if ledger else f"; {done.changed} made, {done.unchanged} unchanged"
        self.stdout.write(
            f"Section {done.name!r}: {counted(done.pages, 'page')}{entries}{work}."
        )
        if done.bad:
            self.stdout.write(
                self.style.WARNING(
                    f"  {counted(done.bad, 'row')} left out: "
                    + "; ".join(f"{key}: {why}" for key, why in done.problems[:_SHOWN])
                    + ("; …" if done.bad > _SHOWN else ".")
                )
            )
        if done.waiting:
            minutes = counted(max(1, get_settings().SPLIT_GRACE // 60), "minute")
            self.stdout.write(
                f"  {counted(done.waiting, 'page')} split: for {minutes} the left part "
                "keeps the bytes it had, so that no crawler misses a URL."
            )
        for error in done.errors:
            self.stderr.write(self.style.ERROR(f"  {error}"))

    def _progress(self, source: SectionSource) -> Callable[[int, int], None]:
        line = self._line(source, "{} of {} pages")
        return lambda seen, total: None if seen == total else line(seen, total)

    def _line(self, source: SectionSource, text: str) -> Callable[..., None]:
        """Return what prints a line of progress, at most every other second."""
        pace = Pace()

        def write(*numbers: int) -> None:
            if pace.allows():
                self.stdout.write(f"Section {source.name!r}: {text.format(*numbers)}")

        return write
