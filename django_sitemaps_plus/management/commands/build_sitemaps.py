"""``manage.py build_sitemaps``: build pages before they are requested."""

from __future__ import annotations

from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandError

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import NotReady, SitemapsPlusError
from django_sitemaps_plus.management import utils
from django_sitemaps_plus.management.utils import (
    MISUSED,
    SitemapsCommand,
    counted,
    site_address,
)
from django_sitemaps_plus.publishing import build
from django_sitemaps_plus.publishing.build import SectionReport
from django_sitemaps_plus.sitemaps import sections as declared_sections
from django_sitemaps_plus.sitemaps.registry import registry

#: How many bad rows of a section are printed.
_SHOWN = 5


class Command(SitemapsCommand):
    """Find page boundaries, build pages, or compare them with their rows."""

    help = (
        "Build the pages of all sections, or of those named, so that no request has "
        "to. Pages that are fresh are left as they are."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "sections",
            nargs="*",
            metavar="SECTION",
            help="the sections to build; all if none is named",
        )
        parser.add_argument(
            "--ledger",
            action="store_true",
            help="only find the page boundaries; goes on where an earlier run stopped",
        )
        parser.add_argument(
            "--reconcile",
            action="store_true",
            help="also rebuild each page whose number of rows or newest lastmod has "
            "changed, and remove sections that are no longer registered",
        )
        parser.add_argument(
            "--deep",
            action="store_true",
            help="with --reconcile: rebuild every page and compare its bytes",
        )

    def run(
        self,
        *,
        sections: list[str],
        ledger: bool,
        reconcile: bool,
        deep: bool,
        **options: Any,
    ) -> str:
        """Work on each section; one sentence for each, errors at the end."""
        if deep and not reconcile:
            raise CommandError("--deep needs --reconcile.", returncode=MISUSED)
        if ledger and reconcile:
            raise CommandError(
                "Choose --ledger or --reconcile, not both.", returncode=MISUSED
            )
        named, known = utils.sections(sections), list(registry.sources())
        if not known:
            self.stdout.write(
                "Nothing to build: no sitemap is registered. Add @register to a "
                "Sitemap class in an app's sitemaps.py."
            )
        failed = [
            name
            for name in named or known
            if not self._work(name, ledger=ledger, reconcile=reconcile, deep=deep)
        ]
        if reconcile and not sections:
            self._remove_unregistered()
        return f"Not all pages could be built: {', '.join(failed)}." if failed else ""

    def _work(self, name: str, *, ledger: bool, reconcile: bool, deep: bool) -> bool:
        """Work on one section; returns whether nothing failed."""
        start = f"Section {name!r}:"
        try:
            source = declared_sections.source(name)
            if ledger:
                done = build.fill(source, self.progress(f"{start} {{}} pages so far"))
            else:
                progress = _unless_done(self.progress(f"{start} {{}} of {{}} pages"))
                site = site_address()
                if reconcile:
                    done = build.reconcile(source, site, deep=deep, progress=progress)
                else:
                    done = build.build(source, site, progress)
        except SitemapsPlusError as error:
            # The other sections are none the worse for it.
            again = isinstance(error, NotReady)
            advice = " Run the command again when it is done." if again else ""
            self.stderr.write(self.style.ERROR(f"{start} {error}{advice}"))
            return False
        self._print(done, ledger=ledger)
        return not done.errors

    def _remove_unregistered(self) -> None:
        for name, pages in build.remove_unregistered(registry.sources()):
            self.stdout.write(
                f"Section {name!r}: no longer registered; {counted(pages, 'page')} "
                "removed."
            )

    def _print(self, done: SectionReport, *, ledger: bool) -> None:
        start = f"Section {done.name!r}:"
        if done.by_position:
            self.stdout.write(
                f"{start} built on each request, because it has more than ten pages by "
                "position; search engines are not notified of its changes."
            )
            return
        entries = ""
        if done.entries is not None:
            entries = f", {counted(done.entries, 'entry', 'entries')}"
        work = "" if ledger else f"; {done.changed} built, {done.unchanged} unchanged"
        self.stdout.write(f"{start} {counted(done.pages, 'page')}{entries}{work}.")
        if done.bad:
            self.stdout.write(
                self.style.WARNING(
                    f"  {counted(done.bad, 'row')} left out: "
                    + "; ".join(f"{key}: {why}" for key, why in done.problems[:_SHOWN])
                    + ("; …" if done.bad > _SHOWN else ".")
                )
            )
        if done.repeated:
            self.stdout.write(
                self.style.WARNING(
                    f"  {counted(done.repeated, 'entry', 'entries')} with the URL of "
                    "another entry of the same page. Run: manage.py check_sitemaps"
                )
            )
        for key, why in done.omitted[:_SHOWN]:
            self.stdout.write(self.style.WARNING(f"  Row {key} is {why}."))
        if done.waiting:
            minutes = counted(max(1, get_settings().SPLIT_GRACE // 60), "minute")
            self.stdout.write(
                f"  {counted(done.waiting, 'page')} split: for {minutes} the left part "
                "serves its former bytes, so that no crawler misses a URL."
            )
        for error in done.errors:
            self.stderr.write(self.style.ERROR(f"  {error}"))


def _unless_done(write: Callable[..., None]) -> Callable[[int, int], None]:
    return lambda seen, total: None if seen == total else write(seen, total)
