"""
Pages that were never built, some at once: one claim and one transaction for all.

A full build of a large section has a page every few milliseconds, so what a page costs
besides its rows counts. Of a page that was never built nothing is known, and there is
nothing to compare. What needs a closer look is left to ``pages.serve``: a page that has
to be split, or for which changes wait.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any

from django_sitemaps_plus.db import retrying
from django_sitemaps_plus.pagination.bounds import bounds_of, refuse_disorder
from django_sitemaps_plus.pagination.deploys import is_outdated
from django_sitemaps_plus.pagination.models import Page
from django_sitemaps_plus.pagination.queries import ledger, pages
from django_sitemaps_plus.rendering.digest import definition
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress
from django_sitemaps_plus.storing import storage

from .page_build import Build, can_store, note
from .page_writer import PageWriter
from .pages import claimed_new

#: Pages that one query looks at and one transaction builds, and the seconds after
#: which it gets no more: what a builder loses that is killed, and what requests for
#: these pages wait for.
MOST, SECONDS = 20, 1.0

#: A page that was built, and what was written.
BuiltPage = tuple[Page, PageWriter]


def build_new(
    source: SectionSource, found: Sequence[Page], site: SiteAddress
) -> list[BuiltPage]:
    """
    Build the first of some neighbouring pages that nobody has built, and nobody builds.

    They must be given in the order of their keys. Returns what was built: the page
    after that, if there is one, is another's by now, has to be served by itself, or
    there was no time for it.
    """
    if not can_store(source):
        return []
    own = Site.current().stored_address(site).with_scheme(source.sitemap.protocol)
    current = definition(source)
    with claimed_new(found) as claim:
        if claim is None or is_outdated(claim.pages[0].section, current.digest):
            return []
        mine = {page.pk: page for page in claim.pages}
        rows = [mine[page.pk] for page in takewhile(lambda p: p.pk in mine, found)]
        run = _NewPages(source, current, own, claim.pages[0], claim.renew)
        return run.build(rows)


@dataclass
class _NewPages(Build):
    """One run that builds pages of which nothing is known."""

    def build(self, rows: Sequence[Page]) -> list[BuiltPage]:
        """Read rows until one page does not fit, or is bad; write those before it."""
        self._begin()
        built: list[BuiltPage] = []
        for page in rows:
            writer, overflow = self._write_range(*bounds_of(self.source, page))
            if overflow is not None or writer.is_too_bad:
                break
            if not writer.items:
                refuse_disorder(self.source, page)
            built.append((page, writer))
            if self.clock.now() - self.clock.started_at > SECONDS:
                break
        if not built:
            return []
        written = retrying(ledger(), lambda: self._commit_all(built))
        done = built[: len(written)]
        self._log_done([writer for _, writer in done])
        # Only now: a transaction that is tried again must find them as they were.
        for (page, _), values in zip(done, written, strict=True):
            note(page, values)
        return done

    def _commit_all(self, built: Sequence[BuiltPage]) -> list[dict[str, Any]]:
        """
        Write pages and bytes, up to a page that somebody else has marked.

        Return what was written of each page.
        """
        written: list[dict[str, Any]] = []
        with self._writing():
            for page, writer in built:
                values = self._values(writer, page)
                if not pages().write(page, **values):
                    break
                written.append(values)
            done = built[: len(written)]
            storage.write_all(
                [(page, writer.checksum, writer.stored) for page, writer in done]
            )
        return written
