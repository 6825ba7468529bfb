"""``manage.py sitemap_coverage``: ask Google about URLs, and print the figures."""

from __future__ import annotations

import csv
from typing import Any

from django.core.management.base import CommandParser

from django_sitemaps_plus.contrib.webmasters import coverage, shares
from django_sitemaps_plus.contrib.webmasters.conf import inspections
from django_sitemaps_plus.db import database_time
from django_sitemaps_plus.health.words import until
from django_sitemaps_plus.management.utils import SitemapsCommand, counted, misused
from django_sitemaps_plus.protocol.markup import cell


class Command(SitemapsCommand):
    """Inspect what is left of the day, and say what share of sections is indexed."""

    help = (
        "Ask Search Console about URLs of each section, as many as are left of "
        "INSPECTIONS today, and print what share is indexed. Exits with 0 when done, 1 "
        "if Google refuses, 2 if misused."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Add the options."""
        parser.add_argument(
            "--stored", action="store_true", help="print what is stored; ask nobody"
        )
        parser.add_argument(
            "--format",
            choices=["text", "csv"],
            default="text",
            help="text (the figures) or csv (the URLs that were inspected)",
        )
        parser.add_argument(
            "--force", action="store_true", help="ask even if this is not a public site"
        )

    def run(self, **options: Any) -> str:
        """Inspect, and print; return what is wrong."""
        problem = "" if options["stored"] else self._inspect(force=options["force"])
        if options["format"] == "csv":
            writer = csv.writer(self.stdout)
            writer.writerow(shares.SHARE_COLUMNS)
            for row in shares.lately().order_by("section", "url").iterator():
                columns = shares.SHARE_COLUMNS.values()
                writer.writerow(cell(value(row)) for value in columns)
        else:
            self._print()
        return problem

    def _inspect(self, *, force: bool) -> str:
        if wrong := coverage.inspection_refusal(force=force):
            raise misused(f"{wrong.text} {wrong.fix}")
        # Somebody may have corrected what kept Google from answering.
        coverage.quotas().exclude(problem="").update(closed_until=0)
        done = coverage.inspect(lambda: False, most=inspections())
        row = coverage.quota_state()
        if row.problem:
            return f"{row.problem} {coverage.LOOKS_AGAIN}"
        if done is None and row.claimed_by:
            return "Another process inspects URLs. Run the command again in a while."
        self.say(f"{counted(done or 0, 'URL')} inspected; today {row.used}.")
        if row.closed_until > database_time(coverage.inspected().db):
            self.say(f"Google asks for a pause. Continues {until(row.closed_until)}.")
        return ""

    def _print(self) -> None:
        every = shares.shares()
        for share in every:
            if not share.inspected:
                self.say(f"{share.section}: none of {share.urls:,} URLs inspected yet")
                continue
            self.say(
                f"{share.section}: {share.figure} indexed, "
                f"inspected {share.window} ({share.inspected:,} of {share.urls:,} URLs)"
            )
            for reason, count in share.reasons:
                self.say(f"    {count:,} {reason}")
            if share.others:
                self.say(f"    and {share.others:,} others")
            for state in ("lost", "canonical", "uncrawled"):
                if share.counts[state]:
                    self.say(f"    {share.counts[state]:,} {shares.NAMES[state]}")
        for name, why in shares.not_inspected(every).items():
            self.say(f"{name}: not inspected: {why}")
        if worth := shares.worth_requesting():
            self.say("Worth “Request indexing”:")
        for row in worth:
            self.say(f"    {row.url}  {row.link}")
