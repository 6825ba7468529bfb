"""
One section in the database and the same section said plainly, side by side.

Every operation is done to both, and then both must be the same.
"""

from __future__ import annotations

import contextlib
import copy
import datetime as dt
import math
import random
import re
import time
from collections.abc import Callable, Iterator
from typing import Any

from django.db import connections, transaction
from django.db.models import F, Q, QuerySet
from django.test import Client

from django_sitemaps_plus import Route, Sitemap, touch
from django_sitemaps_plus.building import refresh
from django_sitemaps_plus.exceptions import Filling
from django_sitemaps_plus.models import Change, Page, PageFile, Section
from django_sitemaps_plus.pagination import bounds
from django_sitemaps_plus.sitemaps import sections
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress
from tests.support.helpers import later, told
from tests.support.ledger_kinds import Key, Kind
from tests.support.ledger_plain import Content, Entry, PlainLedger, PlainPage, Row

_URL = re.compile(
    r"<url><loc>https://www\.example\.com/things/r(\d+)-(\d+)/</loc>"
    r"(?:<lastmod>([^<]+)</lastmod>)?<changefreq>(\w+)</changefreq></url>\n"
)
_LISTED = re.compile(
    r"<sitemap><loc>https://www\.example\.com/sitemap-[\w-]+-(\d+)\.xml</loc>"
    r"(?:<lastmod>([^<]+)</lastmod>)?</sitemap>\n"
)
_EMPTY = re.compile(r"(<\?xml\b[^>]*>\s*){1,2}<urlset\b[^>]*>\s*</urlset>\s*")
_PATH = re.compile(r"/things/r(\d+)-(\d+)/")

#: Seconds: more than VERIFY_AFTER, and less than bytes may be old that stand in.
HOURS = 3 * 3600
#: Rows are dated from here on, and only ever get newer.
_FIRST = 1_700_000_000


def sitemap_class(
    kind: Kind, limit: int, changefreq: str = "daily", **attributes: Any
) -> type[Sitemap]:
    """Return a section of ``kind``'s rows, on the row path."""

    def items(self: Sitemap) -> QuerySet[Any]:
        rows = kind.model._default_manager.order_by("-slug")
        return rows.filter(live=True) if kind.dated else rows

    declared = {
        "items": items,
        "limit": limit,
        "page_by": kind.page_by,
        "location": Route("thing", code=F("slug")),
        "changefreq": changefreq,
        **({"lastmod": F("updated")} if kind.dated else {}),
        **attributes,
    }
    return type("LedgerSitemap", (Sitemap,), {"__module__": __name__, **declared})


def place() -> SiteAddress:
    """Return where the site stands."""
    found = Site.current().address()
    assert found is not None
    return found


def read_entries(body: str) -> Content:
    """Return what a urlset says. All of it must be understood."""
    found = _URL.findall(body)
    assert _EMPTY.fullmatch(_URL.sub("", body)), body[:500]
    entries = tuple(
        Entry(
            int(rank),
            int(revision),
            round(dt.datetime.fromisoformat(stamp).timestamp()) if stamp else None,
        )
        for rank, revision, stamp, _ in found
    )
    changefreqs = {frequency for *_, frequency in found}
    assert len(changefreqs) <= 1
    return Content("".join(changefreqs), entries)


class _RolledBackError(Exception):
    """The transaction ends here."""


class Killed(BaseException):
    """The process was killed: nothing that catches errors may catch it."""


@contextlib.contextmanager
def killed_before(moment: int) -> Iterator[None]:
    """
    Let no statement through from the ``moment``-th on, as if the process died.

    Whatever tidies up is dead too, but for the database, which rolls back.
    """
    count = 0

    def execute(run: Any, sql: str, *args: Any) -> Any:
        nonlocal count
        if "SAVEPOINT" in sql:
            return run(sql, *args)
        count += 1
        if count >= moment:
            raise Killed
        return run(sql, *args)

    with contextlib.ExitStack() as stack:
        for connection in connections.all():
            stack.enter_context(connection.execute_wrapper(execute))
        try:
            yield
        finally:
            for connection in connections.all():
                # A DELETE has no savepoint here, where all is one transaction.
                connection.needs_rollback = False


class World:
    """A section, and the plain ledger that it must be equal to."""

    def __init__(
        self, kind: Kind, register: Callable[..., Any], seed: int, limit: int = 10
    ) -> None:
        self.kind = kind
        self.name = "world"
        self.rng = rng = random.Random(seed)  # noqa: S311 (nothing secret)
        self.register = register
        self.keys = kind.universe(rng)
        self.ranks = {key: rank for rank, key in enumerate(self.keys)}
        self.plain = PlainLedger(limit=limit)
        self.client = Client()
        self.now = _FIRST
        self.log: list[str] = []
        #: The text of every content seen: the same rows must give the same bytes.
        self.bytes: dict[tuple[int, Content], tuple[str, bytes]] = {}
        #: What engines know that look at each URL of which they are notified.
        self.known: dict[tuple[int, int], bool] = {}
        self.former: dict[int, dict[str, Any]] = {}
        Section.objects.filter(name=self.name).delete()
        self.deploy("daily")

    # Rows

    def deploy(self, changefreq: str) -> None:
        """Run another version of the project's code."""
        self.register(self.name, sitemap_class(self.kind, self.plain.limit, changefreq))
        self.plain.changefreq = changefreq

    def _row(self, rank: int, row: Row) -> dict[str, Any]:
        values: dict[str, Any] = {"slug": f"r{rank}-{row.revision}"}
        if self.kind.dated:
            values["live"] = row.live
            values["updated"] = None
            if row.updated is not None:
                values["updated"] = dt.datetime.fromtimestamp(row.updated, dt.UTC)
        return values

    def _date(self) -> int | None:
        self.now += self.rng.randrange(900)
        return self.now if self.kind.dated and self.rng.random() < 0.9 else None

    def free(self) -> list[int]:
        """Return the ranks that no row has."""
        return sorted(set(range(len(self.keys))) - set(self.plain.rows))

    def insert(self, ranks: list[int]) -> None:
        """Add rows."""
        for rank in ranks:
            # A key that comes back is another row.
            revision = self.rng.randrange(10**6)
            self.plain.rows[rank] = Row(revision=revision, updated=self._date())
        self.kind.insert(
            [
                {
                    **dict(zip(self.kind.columns, self.keys[rank], strict=True)),
                    **self._row(rank, self.plain.rows[rank]),
                }
                for rank in ranks
            ]
        )
        if self.kind.model._meta.all_parents:
            # Only one by one can they be saved, and that is recorded.
            self.plain.record(ranks)

    def _rows(self, rank: int) -> QuerySet[Any]:
        key = dict(zip(self.kind.columns, self.keys[rank], strict=True))
        return self.kind.all().filter(**key)

    def delete(self, ranks: list[int]) -> None:
        """Delete rows."""
        for rank in ranks:
            self._rows(rank).delete()
            del self.plain.rows[rank]
        self.plain.record(ranks)

    def update(self, rank: int) -> None:
        """Change what a row's entry says."""
        row = self.plain.rows[rank]
        row.revision += 1
        row.updated = self._date()
        self._write(rank, row)

    def publish(self, ranks: list[int], *, live: bool) -> None:
        """Let rows pass the section's filter, or not."""
        for rank in ranks:
            self.plain.rows[rank].live = live
            self._write(rank, self.plain.rows[rank])

    def _write(self, rank: int, row: Row) -> None:
        if self.kind.model._meta.all_parents:
            # One UPDATE could not reach two tables.
            self._save(rank, row)
            self.plain.record([rank])
        else:
            self._rows(rank).update(**self._row(rank, row))

    def _save(self, rank: int, row: Row) -> None:
        found = self._rows(rank).get()
        for name, value in self._row(rank, row).items():
            setattr(found, name, value)
        found.save()

    # What is recorded

    def save(self, rank: int, *, roll_back: bool = False) -> None:
        """Save a row's object in a transaction, and roll it back if asked to."""
        former = self.plain.rows[rank]
        row = copy.deepcopy(former)
        row.revision += 1
        row.updated = self._date()
        row.live = self.kind.dated is False or self.rng.random() < 0.8
        using = self.kind.database
        with contextlib.suppress(_RolledBackError), transaction.atomic(using=using):
            self._save(rank, row)
            if roll_back:
                # What was saved before stands, and so does its record.
                raise _RolledBackError
        if roll_back:
            return
        self.plain.rows[rank] = row
        self.plain.record([rank])

    def touch(self, ranks: list[int]) -> None:
        """Change rows behind the signals, and say so."""
        for rank in ranks:
            self.update(rank)
            touch(self._rows(rank))
        self.plain.record(ranks)

    def touch_everything(self) -> None:
        """Say that any row may have changed."""
        touch(self.kind.model)
        self.plain.all_pending = True

    def assign(self) -> None:
        """Assign what was saved to pages, as the background does."""
        refresh.assign_all([self.source])
        self.plain.assign_all()

    def refresh(self) -> None:
        """Assign it, and rebuild the pages that it concerns."""
        self.assign()
        # In the order of their changes, those with new rows first.
        rows = Change.objects.exclude(page=None).order_by("pk")
        found = list(rows.values_list("page", "created"))
        refresh.refresh_all([self.source], place())
        new = dict.fromkeys(page for page, created in found if created)
        self.plain.refresh([*new], [page for page, _ in found])

    # The ledger, by its parts

    @property
    def source(self) -> SectionSource:
        """The section as it is read."""
        return sections.source(self.name)

    def stored(self, page: PlainPage) -> Page:
        """Return the ledger's page."""
        return Page.objects.select_related("section").get(
            section__name=self.name, number=page.number
        )

    def fill_hurriedly(self) -> None:
        """Fill as a request does that has no time left."""
        done = self.plain.fill(hurried=True)
        try:
            bounds.fill(self.source, seconds=0)
        except Filling:
            assert not done, "there was more to fill"
        else:
            assert done, "it filled more than it had time for"

    def verify(self, page: PlainPage) -> None:
        """Ask for a page that is due to be compared with its rows."""
        found = Page.objects.filter(section__name=self.name, number=page.number)
        found.exclude(verified_at=0).update(verified_at=F("verified_at") - HOURS)
        page.stale = True
        self.get_page(page)

    def lose(self, page: PlainPage) -> None:
        """Lose the bytes of a page, as somebody does who empties their table."""
        PageFile.objects.filter(page=self.stored(page)).delete()
        page.stored = False

    def die_in_request(self, page: PlainPage, moment: int) -> None:
        """
        Ask for a page, and die before the ``moment``-th statement.

        What was committed by then stands, and nothing else: the page is built, or it
        is as it was.
        """
        before = self.stored(page)
        with contextlib.suppress(Killed), killed_before(moment):
            self.get(f"/sitemap-{self.name}-{page.number}.xml")
        after = self.stored(page)
        later(HOURS, "claimed_until")
        if not Change.objects.filter(section=self.name, page=None).exists():
            self.plain.assign()
        if after.read_at > before.read_at:
            self.plain.serve(page)

    # Crawlers

    def get(self, path: str) -> Any:
        """Ask for a path, and return the answer."""
        return self.client.get(path)

    def get_page(self, page: PlainPage) -> None:
        """Ask for a page: it must show what it should, in bytes seen before if so."""
        content = self.plain.serve(page)
        answer = self.get(f"/sitemap-{self.name}-{page.number}.xml")
        assert answer.status_code == 200, answer.content
        found = read_entries(answer.content.decode())
        assert found == content, f"page {page.number}: {found} is not {content}"
        tag, body = self.bytes.setdefault(
            (page.number, content), (answer.headers["ETag"], answer.content)
        )
        assert (answer.headers["ETag"], answer.content) == (tag, body)

    def get_unknown(self) -> None:
        """Ask for a page that does not exist: that too fills an empty ledger."""
        answer = self.get(f"/sitemap-{self.name}-{self.plain.next_number + 999}.xml")
        self.plain.fill()
        assert answer.status_code == 404

    def get_address(self) -> list[PlainPage]:
        """Ask for the section's address; return the pages it listed."""
        listed, shown = self.plain.address()
        answer = self.get(f"/sitemap-{self.name}.xml")
        assert answer.status_code == 200, answer.content
        body = answer.content.decode()
        assert ("<sitemapindex" in body) == (shown is None)
        if shown is None:
            self._check_index(body, listed)
        else:
            entries = [entry for content in shown for entry in content.entries]
            assert list(read_entries(body).entries) == entries, (body, entries)
        return listed

    def _check_index(self, body: str, listed: list[PlainPage]) -> None:
        found = _LISTED.findall(body)
        numbers = [int(number) for number, _ in found]
        assert numbers == [page.number for page in listed], (numbers, listed)
        pages = Page.objects.filter(section__name=self.name)
        lastmods = dict(pages.values_list("number", "lastmod"))
        for number, stamp in found:
            known = lastmods[int(number)]
            said = dt.datetime.fromisoformat(stamp).timestamp() if stamp else None
            assert said == (None if known is None else math.floor(known))

    # Engines

    def follow(self) -> None:
        """Notify engines that look at once: none is told that a listed URL is gone."""
        there = {(rank, self.plain.rows[rank].revision) for rank in self.plain.live()}
        for kind, path in told():
            rank, revision = map(int, _PATH.fullmatch(path).groups())
            # No two rows ever have the same address here.
            assert (kind == "removed") == ((rank, revision) not in there), path
            self.known[rank, revision] = (rank, revision) in there
        for location in self.plain.unsaid:
            self.known[location] = location in there
        self.plain.unsaid.clear()

    # What must hold

    def check(self) -> None:
        """Compare both ledgers, and what must never change with how it was."""
        self.follow()
        section = Section.objects.filter(name=self.name).first()
        if section is None:
            assert not self.plain.pages
            return
        assert section.filled == self.plain.filled
        assert section.next_number == self.plain.next_number
        stored = list(Page.objects.filter(section=section).order_by("position"))
        key = self.source.key
        assert key is not None
        found = [
            (page.number, page.lower and self.ranks[key.loads(page.lower)])
            for page in stored
        ]
        expected = [(page.number, page.lower) for page in self.plain.pages]
        assert found == expected, (found, expected)
        for row, page in zip(stored, self.plain.pages, strict=True):
            self._check_page(vars(row), page)
        self.former = {page.number: vars(page) for page in stored}

    def _check_page(self, row: dict[str, Any], page: PlainPage) -> None:
        assert row["claimed_until"] < time.time(), "a claim that nobody gave back"
        assert row["entries"] == page.count, page.number
        if page.content is None:
            return
        entries = page.content.entries
        assert len(entries) <= self.plain.limit
        newest = max((entry.updated for entry in entries if entry.updated), default=0)
        assert (row["lastmod"] or 0) >= newest
        former = self.former.get(page.number)
        if former is None:
            return
        assert row["changed_at"] >= former["changed_at"]
        assert (row["lastmod"] or 0) >= (former["lastmod"] or 0)
        if row["checksum"] != former["checksum"]:
            assert row["changed_at"] > former["changed_at"]
            assert row["version"] > former["version"]

    def owners(self) -> dict[int, int]:
        """
        Return which page each row belongs to, as the database compares.

        Asked without the package: every bound a condition of plain SQL.
        """
        owners: dict[int, int] = {}
        lowers = [(page.number, page.lower) for page in self.plain.pages]
        for index, (number, lower) in enumerate(lowers):
            upper = lowers[index + 1][1] if index + 1 < len(lowers) else None
            rows = self.kind.all()
            if lower is not None:
                rows = rows.filter(self._at_least(self.keys[lower]))
            if upper is not None:
                rows = rows.exclude(self._at_least(self.keys[upper]))
            for key in rows.values_list(*self.kind.columns):
                assert self.ranks[key] not in owners, "a row on two pages"
                owners[self.ranks[key]] = number
        assert owners.keys() == self.plain.rows.keys(), "a row on no page"
        return owners

    def _at_least(self, key: Key) -> Q:
        condition = Q(**{f"{self.kind.columns[-1]}__gte": key[-1]})
        for name, part in reversed(
            list(zip(self.kind.columns[:-1], key[:-1], strict=True))
        ):
            condition = Q(**{f"{name}__gt": part}) | Q(**{name: part}) & condition
        return condition

    def crawl(self) -> None:
        """
        Verify everything: a complete, exact site.

        Every row is then on one page exactly, every page within its limit, and engines
        that looked at each URL of which they were notified know them all.
        """
        for _ in range(2):
            later(HOURS, "verified_at")
            for page in self.plain.pages:
                page.stale = True
            self.get_address()
            for page in list(self.plain.pages):
                self.get_page(page)
                self.check()
        listed = self.get_address()
        shown = [entry for page in listed for entry in page.shown.entries]
        expected = [
            Entry(rank, self.plain.rows[rank].revision, self.plain.rows[rank].updated)
            for rank in self.plain.live()
        ]
        assert sorted(shown, key=lambda entry: entry.rank) == expected
        owners = self.owners()
        assert owners == {rank: self.plain.owner(rank) for rank in owners}
        self.check()
        known = {location for location, there in self.known.items() if there}
        assert known == {entry.location for entry in expected}
