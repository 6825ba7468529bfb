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
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from django.db import connections, transaction
from django.db.models import F, Q, QuerySet
from django.test import Client

from django_sitemaps_plus import Route, Sitemap, touch
from django_sitemaps_plus.changes import assignment
from django_sitemaps_plus.exceptions import Filling
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.pagination import ledger
from django_sitemaps_plus.sitemaps import sections
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import SiteAddress, configured
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
_EMPTY = re.compile(r"<\?xml [^>]*>\s*<urlset\b[^>]*>\s*</urlset>\s*")

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
    found = configured()
    assert found is not None
    return found


def age(*, verified: bool = False, grace: bool = False) -> None:
    """Let time pass, by the ledger's own notes of when something was."""
    if verified:
        # Zero is no time, but a mark.
        made = Page.objects.exclude(verified_at=0)
        made.update(verified_at=F("verified_at") - HOURS)
    if grace:
        Page.objects.filter(grace_until__gt=0).update(grace_until=1)


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
        self,
        kind: Kind,
        register: Callable[..., Any],
        shelf: Path,
        seed: int,
        limit: int = 10,
    ) -> None:
        self.kind = kind
        self.name = "world"
        self.rng = rng = random.Random(seed)  # noqa: S311 (nothing secret)
        self.register = register
        self.shelf = shelf
        self.keys = kind.universe(rng)
        self.ranks = {key: rank for rank, key in enumerate(self.keys)}
        self.plain = PlainLedger(limit=limit)
        self.client = Client()
        self.now = _FIRST
        self.log: list[str] = []
        #: The text of every content seen: the same rows must give the same bytes.
        self.bytes: dict[tuple[int, Content], tuple[str, bytes]] = {}
        #: What an index listed: the pages, and their entries.
        self.crawled: tuple[list[int], set[Entry]] | None = None
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
            self.plain.pending.update(ranks)

    def _rows(self, rank: int) -> QuerySet[Any]:
        key = dict(zip(self.kind.columns, self.keys[rank], strict=True))
        return self.kind.all().filter(**key)

    def delete(self, ranks: list[int]) -> None:
        """Delete rows."""
        for rank in ranks:
            self._rows(rank).delete()
            del self.plain.rows[rank]
        self.plain.pending.update(ranks)

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
        if not live and self.crawled is not None:
            # They may go; whether they come back in time is no matter of the grace.
            numbers, entries = self.crawled
            gone = {entry for entry in entries if entry.rank in ranks}
            self.crawled = numbers, entries - gone

    def _write(self, rank: int, row: Row) -> None:
        if self.kind.model._meta.all_parents:
            # One UPDATE could not reach two tables.
            found = self._rows(rank).get()
            for name, value in self._row(rank, row).items():
                setattr(found, name, value)
            found.save()
            self.plain.pending.add(rank)
        else:
            self._rows(rank).update(**self._row(rank, row))

    # What is recorded

    def save(self, rank: int, *, roll_back: bool = False) -> None:
        """Save a row's object in a transaction, and roll it back if asked to."""
        row = copy.deepcopy(self.plain.rows[rank])
        row.revision += 1
        row.updated = self._date()
        row.live = self.kind.dated is False or self.rng.random() < 0.8
        found = self._rows(rank).get()
        for name, value in self._row(rank, row).items():
            setattr(found, name, value)
        using = self.kind.database
        with contextlib.suppress(_RolledBackError), transaction.atomic(using=using):
            found.save()
            if roll_back:
                # What was saved before stands, and so does its record.
                raise _RolledBackError
        if not roll_back:
            self._happened(rank, row)

    def _happened(self, rank: int, row: Row) -> None:
        former = self.plain.rows[rank]
        self.plain.rows[rank] = row
        self.plain.pending.add(rank)
        if former.live and not row.live and self.crawled is not None:
            numbers, entries = self.crawled
            gone = {entry for entry in entries if entry.rank == rank}
            self.crawled = numbers, entries - gone

    def touch(self, ranks: list[int]) -> None:
        """Change rows behind the signals, and say so."""
        for rank in ranks:
            self.update(rank)
            touch(self._rows(rank))
        self.plain.pending.update(ranks)

    def touch_everything(self) -> None:
        """Say that any row may have changed."""
        touch(self.kind.model)
        self.plain.all_pending = True

    def recorded(self) -> set[int]:
        """Return the keys for which changes wait."""
        key = self.source.key
        assert key is not None
        texts = (
            assignment.recorded(self.name).exclude(key="").values_list("key", flat=True)
        )
        return {self.ranks[key.loads(text)] for text in texts}

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
            ledger.fill(self.source, seconds=0)
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
        """Lose the bytes of a page, as a host does that is new."""
        shutil.rmtree(self.shelf / self.name / str(page.number), ignore_errors=True)
        page.kept, page.own = False, None

    def die_in_request(self, page: PlainPage, moment: int) -> None:
        """
        Ask for a page, and die before the ``moment``-th statement.

        What was committed by then stands, and nothing else: the plain ledger is
        put into whichever of the states on the way the real one is in.
        """
        before = self.stored(page)
        states = [copy.deepcopy(self.plain)]
        if not self.plain.ready(page):
            self.plain.sort()
            states.append(copy.deepcopy(self.plain))
            if len(self.plain.ranks(page)) > self.plain.limit:
                self.plain.split(page)
                states.append(copy.deepcopy(self.plain))
            self.plain.serve(page)
            states.append(copy.deepcopy(self.plain))
        with contextlib.suppress(Killed), killed_before(moment):
            self.get(f"/sitemap-{self.name}-{page.number}.xml")
        after = self.stored(page)
        found = self._stored_bounds()
        reached = [state for state in states if self._bounds(state) == found]
        assert reached, "it died between two states that should be one step"
        # Making the same bytes again changes nothing but the time of looking.
        made = after.verified_at > before.verified_at
        self.plain = reached[-1] if made else reached[0]
        self.plain.pending = self.recorded()
        whole = assignment.recorded(self.name).filter(key="")
        self.plain.all_pending = whole.exists()
        now = self.plain.page(page.number)
        assert now is not None
        folder = self.shelf / self.name / str(page.number)
        now.kept = bool(after.checksum) and any(folder.glob(f"{after.checksum}*"))
        Section.objects.filter(lease_until__gt=0).update(lease_until=1)
        Page.objects.filter(making_until__gt=0).update(making_until=1)

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
        self._remember(listed)
        return listed

    def _check_index(self, body: str, listed: list[PlainPage]) -> None:
        found = _LISTED.findall(body)
        numbers = [int(number) for number, _ in found]
        assert numbers == [page.number for page in listed], (numbers, listed)
        lastmods = dict(
            Page.objects.filter(section__name=self.name).values_list(
                "number", "lastmod"
            )
        )
        for number, stamp in found:
            known = lastmods[int(number)]
            said = dt.datetime.fromisoformat(stamp).timestamp() if stamp else None
            assert said == (None if known is None else math.floor(known))

    def _remember(self, listed: list[PlainPage]) -> None:
        """Keep the index as a crawler does that comes back within the grace."""
        if self.crawled is None and self.plain.split_grace:
            ready = [page.content for page in listed if self.plain.ready(page)]
            # A page may still show what is gone. That may go, and come back later.
            entries = {
                entry
                for content in ready
                if content
                for entry in content.entries
                if self._is_alive(entry)
            }
            self.crawled = [page.number for page in listed], entries

    def forget_crawl(self) -> None:
        """An hour later a crawler reads the index again before its pages."""
        self.crawled = None

    def check_crawl(self) -> None:
        """No URL that was listed has gone from the pages of the index it stood in."""
        if self.crawled is None:
            return
        numbers, entries = self.crawled
        shown: set[Entry] = set()
        for number in numbers:
            page = self.plain.page(number)
            assert page is not None
            self.get_page(page)
            if page.content is not None:
                shown.update(page.content.entries)
        alive = {entry for entry in entries if self._is_alive(entry)}
        assert alive <= shown, alive - shown

    def _is_alive(self, entry: Entry) -> bool:
        row = self.plain.rows.get(entry.rank)
        return (
            row is not None
            and row.live
            and row.revision == entry.revision
            and row.updated == entry.updated
        )

    # What must hold

    def check(self) -> None:
        """Compare both ledgers, and what must never change with how it was."""
        section = Section.objects.filter(name=self.name).first()
        if section is None:
            assert not self.plain.pages
            return
        assert section.filled == self.plain.filled
        assert section.next_number == self.plain.next_number
        stored_bounds, bounds = self._stored_bounds(), self._bounds(self.plain)
        assert stored_bounds == bounds, (stored_bounds, bounds)
        stored = Page.objects.filter(section=section).order_by("position").values()
        for row, page in zip(stored, self.plain.pages, strict=True):
            self._check_page(row, page)
        self.former = {row["number"]: row for row in stored}

    def _bounds(self, plain: PlainLedger) -> list[tuple[int, int | None, int]]:
        return [(page.number, page.lower, page.version) for page in plain.pages]

    def _stored_bounds(self) -> list[tuple[int, int | None, int]]:
        key = self.source.key
        assert key is not None
        stored = Page.objects.filter(section__name=self.name).order_by("position")
        return [
            (
                page.number,
                None if page.lower is None else self.ranks[key.loads(page.lower)],
                page.version,
            )
            for page in stored
        ]

    def _check_page(self, row: dict[str, Any], page: PlainPage) -> None:
        assert row["making_until"] <= 1, "a claim that nobody gave back"
        if page.content is None:
            assert row["entries"] is None
            return
        entries = page.content.entries
        assert row["entries"] == page.count
        assert len(entries) <= self.plain.limit
        newest = max((entry.updated for entry in entries if entry.updated), default=0)
        assert (row["lastmod"] or 0) >= newest
        former = self.former.get(page.number)
        if former is None:
            return
        assert row["changed_at"] >= former["changed_at"]
        assert (row["lastmod"] or 0) >= (former["lastmod"] or 0)
        if row["checksum"] == former["checksum"]:
            assert row["changed_at"] == former["changed_at"]
            assert row["lastmod"] == former["lastmod"]

    def owners(self) -> dict[int, int]:
        """
        Return which page each row belongs to, as the database compares.

        Asked without the package: every bound a condition of plain SQL.
        """
        owners: dict[int, int] = {}
        bounds = [(page.number, page.lower) for page in self.plain.pages]
        for index, (number, lower) in enumerate(bounds):
            upper = bounds[index + 1][1] if index + 1 < len(bounds) else None
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
        Verify everything and wait until all grace is over: a complete, exact site.

        Every row is then on one page exactly, every page within its limit.
        """
        for _ in range(2):
            age(verified=True, grace=True)
            for page in self.plain.pages:
                page.stale, page.grace = True, False
            self.forget_crawl()
            listed = self.get_address()
            # An index looks into some of the empty pages only, then into others.
            while self.plain.unseen() or not all(map(self.plain.ready, listed)):
                for page in listed:
                    self.get_page(page)
                    self.check()
                listed = self.get_address()
        contents = [self.plain.serve(page) for page in listed]
        shown = [entry for content in contents for entry in content.entries]
        expected = [
            Entry(rank, self.plain.rows[rank].revision, self.plain.rows[rank].updated)
            for rank in self.plain.live()
        ]
        assert sorted(shown, key=lambda entry: entry.rank) == expected
        for page in self.plain.pages:
            if page.content is not None and not page.content.entries:
                self.get_page(page)
        owners = self.owners()
        assert owners == {rank: self.plain.owner(rank) for rank in owners}
