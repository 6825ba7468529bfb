"""``manage.py build_sitemaps``: build pages before they are requested."""

from __future__ import annotations

import logging
from argparse import ArgumentParser
from collections.abc import Callable
from typing import Any

from django.core.management.base import CommandError

from django_sitemaps_plus import hooks
from django_sitemaps_plus.building import build
from django_sitemaps_plus.building.build import SectionReport
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.db import has_failed
from django_sitemaps_plus.delivery import build_jobs, gate, workers
from django_sitemaps_plus.exceptions import NotReady, SitemapsPlusError, describe
from django_sitemaps_plus.health.unlooked import is_audited
from django_sitemaps_plus.management import utils
from django_sitemaps_plus.management.utils import SitemapsCommand, counted, misused
from django_sitemaps_plus.pagination.queries import ledger as ledger_database
from django_sitemaps_plus.rendering.reader import Reader
from django_sitemaps_plus.sitemaps import sections as declared_sections
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import PLACEHOLDER_SITE

logger = logging.getLogger("django_sitemaps_plus")

#: Where jobs are enqueued, as people call it.
_CALLED = {"celery": "Celery", "tasks": "Django Tasks"}
#: How many jobs are enqueued at a time, unless somebody says.
_JOBS = 4
#: How many bad rows are named at the end.
_SHOWN = 10
#: The options without a value, and what each does.
_FLAGS = {
    "--ledger": "only find the page boundaries; goes on where an earlier run stopped",
    "--reconcile": "also rebuild each page whose number of rows or newest lastmod has "
    "changed, and remove sections that are no longer registered",
    "--deep": "with --reconcile: rebuild every page and compare its bytes",
    "--divide": "rebuild every page of the sections named and compare it with its "
    "rows, then join neighbouring pages with few entries",
}


class Command(SitemapsCommand):
    """Find page boundaries, build pages, or compare them with their rows."""

    help = (
        "Build the pages of all sections, or of those named, so that no request has "
        "to. Pages that are fresh are left as they are. Exits with 0 when done, 1 if "
        "a page could not be built, 2 if misused."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Declare the options."""
        parser.add_argument(
            "sections",
            nargs="*",
            metavar="SECTION",
            help="the sections to build; all if none is named",
        )
        for flag, text in _FLAGS.items():
            parser.add_argument(flag, action="store_true", help=text)
        parser.add_argument(
            "--enqueue",
            choices=list(workers.WORKERS),
            help="have the workers of Celery, or of Django Tasks, build the pages",
        )
        parser.add_argument(
            "--jobs",
            type=int,
            help=f"with --enqueue: how many jobs at a time (default: {_JOBS})",
        )

    def run(self, **options: Any) -> str:
        """Work on each section; one sentence for each, errors at the end."""
        self.options = options
        sections, ledger = options["sections"], options["ledger"]
        reconcile, enqueue = options["reconcile"], options["enqueue"]
        jobs = options["jobs"]
        if options["deep"] and not reconcile:
            raise misused("--deep needs --reconcile.")
        if ledger and reconcile:
            raise misused("Choose --ledger or --reconcile, not both.")
        if options["divide"] and (ledger or reconcile or enqueue or not sections):
            raise misused("--divide goes alone, with the names of sections.")
        if enqueue and (ledger or reconcile):
            raise misused(
                "--enqueue builds pages: it does not go with --ledger or --reconcile."
            )
        if jobs is not None and not enqueue:
            raise misused("--jobs needs --enqueue.")
        if jobs is not None and jobs < 1:
            raise misused("--jobs must be 1 or more.")
        named, known = utils.named_sections(sections), list(registry.sources())
        if not known:
            self.say(
                "Nothing to build: no sitemap is registered. Add @register to a "
                "Sitemap class in the sitemaps.py of an app in INSTALLED_APPS."
            )
        wanted = list(dict.fromkeys(named or known))
        if enqueue and wanted:
            self._enqueue(enqueue, wanted, _JOBS if jobs is None else jobs)
            return ""
        self._bad: list[str] = []
        self._bad_rows = 0
        failed = [name for name in wanted if not self._work(name)]
        if reconcile and not sections:
            for name, pages in build.remove_unregistered(registry.sources()):
                gone = f"{counted(pages, 'page')} removed"
                self.say(f"Section {name!r}: no longer registered; {gone}.")
        if not ledger:
            if not get_settings().ENGINES:
                # Nobody else may do so, and no engine that is named later should hear.
                gate.pass_on()
            hooks.rebuilt(lambda: False, is_asked=True)
        self._print_bad()
        return f"Not all pages could be built: {', '.join(failed)}." if failed else ""

    def _enqueue(self, where: str, wanted: list[str], jobs: int) -> None:
        """Have workers build the pages; say what was handed over, and to whom."""
        self.site_address()
        if package := workers.missing_package(where):
            raise CommandError(
                f"Nothing was enqueued: {package} is not installed. Type: pip install "
                f'"django-sitemaps-plus[{where}]"; or run the command without '
                "--enqueue."
            )
        problem = workers.problem(where)
        if not problem and (name := workers.without_workers(where)):
            problem = f"TASKS has the {name}, which hands no task to a worker"
        if problem:
            raise CommandError(
                f"Nothing was enqueued: {problem}. Run the command without --enqueue, "
                f"or correct the settings of {_CALLED[where]}."
            )
        try:
            build_jobs.enqueue_builds(where, wanted, jobs)
        except Exception as error:  # a broker's client raises errors of its own
            text = f"Not all jobs were enqueued: {describe(error)}"
            raise CommandError(text) from error
        self.say(
            f"{counted(jobs, 'job')} for {_CALLED[where]} enqueued, which will build "
            f"{counted(len(wanted), 'section')}.{_seen('To see how far they are, run')}"
        )

    def _work(self, name: str) -> bool:
        """Work on one section; returns whether nothing failed."""
        start, options = f"Section {name!r}:", self.options
        try:
            source = declared_sections.source(name)
            if options["ledger"]:
                done = build.fill(source, self.progress(f"{start} {{}} pages so far"))
            else:
                progress = _unless_done(self.progress(f"{start} {{}} of {{}} pages"))
                site = self.site_address()
                build.forget_errors(name)
                if options["divide"]:
                    done = build.divide(source, site, progress)
                elif options["reconcile"]:
                    deep = options["deep"]
                    done = build.reconcile(source, site, deep=deep, progress=progress)
                else:
                    done = build.build(source, site, progress)
        except SitemapsPlusError as error:
            # The other sections are unaffected.
            again = isinstance(error, NotReady)
            advice = " Run the command again when it is done." if again else ""
            self.complain(f"{start} {error}{advice}")
            return False
        except CommandError:
            raise
        except Exception as error:  # items() may raise whatever it likes
            is_asked = get_settings().ON_ERROR == "raise"
            if is_asked or has_failed(error, ledger_database()):
                raise
            logger.exception("Section %r cannot be built.", name)
            self.complain(f"{start} {describe(error)}")
            return False
        self._print(done)
        if options["verbosity"] > 1 and source.key is not None:
            self.say(f"  {Reader(source, PLACEHOLDER_SITE).read_as}")
        return not done.errors

    def _print(self, done: SectionReport) -> None:
        start, ledger = f"Section {done.name!r}:", self.options["ledger"]
        number = done.entries
        entries = "" if number is None else f", {counted(number, 'entry', 'entries')}"
        work = "" if ledger else f"; {done.changed} built, {done.unchanged} unchanged"
        if done.joined:
            work += f"; {done.joined} joined to others"
        if done.by_position:
            work = "; by position, built for each request"
        bad = f"; {counted(done.bad, 'row')} left out" if done.bad else ""
        self.say(f"{start} {counted(done.pages, 'page')}{entries}{work}{bad}.")
        if done.is_outdated and not ledger:
            self.warn(
                f"{start} nothing was stored, because servers run other code. Run the "
                "command again when they have been restarted with this code."
            )
        self._bad_rows += done.bad
        for key, why in done.problems[: _SHOWN - len(self._bad)]:
            self._bad.append(f"  {done.name} {key}: {why}")
        if done.repeated:
            entries = counted(done.repeated, "entry", "entries")
            self.say(
                f"  {entries} with the URL of another entry of the same page."
                f"{_seen('Run')}"
            )
        for key, why in done.omitted[:_SHOWN]:
            self.say(f"  Row {key} is {why}.")
        for error in done.errors:
            self.complain(f"  {error}")

    def _print_bad(self) -> None:
        """Name the rows that were left out, where they are seen: at the end."""
        if self._bad_rows:
            rest = self._bad_rows - len(self._bad)
            more = [f"  and {rest:,} more: see the log, or the admin"] if rest else []
            self.say("\n".join(["Left out, because they are bad:", *self._bad, *more]))


def _unless_done(write: Callable[..., None]) -> Callable[[int, int], None]:
    return lambda seen, total: None if seen == total else write(seen, total)


def _seen(advice: str) -> str:
    """Return the advice to look by ``check_sitemaps``, if there is that command."""
    return f" {advice}: manage.py check_sitemaps" if is_audited() else ""
