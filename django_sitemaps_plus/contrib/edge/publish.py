"""
Sitemaps as files in a storage, for a web server or a CDN: ``PUBLISH``.

What has to be put is found by comparing what was put (``PublishedFile``) with what
pages have now, so that a process that is killed loses nothing. The order keeps each
index true: pages that are new or changed, then the indexes that name them, then pages
from which a split may have moved entries to new ones. What no index names any more is
deleted a day later. No page is built here but those by position.
"""

from __future__ import annotations

import logging
import math
import uuid
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from urllib.parse import unquote, urlsplit

from django.db.models import QuerySet

from django_sitemaps_plus import hooks
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.db import Stopwatch, digest_of, parts
from django_sitemaps_plus.delivery.engines import files_of
from django_sitemaps_plus.exceptions import NotReady, SitemapsPlusError
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.pagination.queries import ledger
from django_sitemaps_plus.protocol.errors import printable
from django_sitemaps_plus.protocol.limits import MAX_INDEX_ENTRIES
from django_sitemaps_plus.serving import index
from django_sitemaps_plus.serving.documents import (
    Document,
    documents_by_position,
    version_document,
    version_tag,
)
from django_sitemaps_plus.serving.robots import robots_of
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress

from . import published
from .cache_tags import cache_tags
from .conf import Publish, own_settings
from .models import PublishedFile, Publisher
from .published import published_files
from .storages import Headers, StorageTarget

logger = logging.getLogger("django_sitemaps_plus")

_TEXT = "text/plain; charset=utf-8"

#: Seconds for which a file stays that no index names any more.
_KEEP = 86_400.0
#: Files of which one statement notes that they are about to be put.
_CHUNK = 50
#: Failures in a row after which a storage is left alone for a while, in seconds.
_FAILURES, _AGAIN = 3, 60.0


@dataclass
class Published:
    """What one run did."""

    #: Files that are published, and those of them that were put now.
    files: int = 0
    puts: int = 0
    deleted: int = 0
    #: Why files were not put.
    errors: list[str] = field(default_factory=list)
    #: Whether the time was over, or the lease lost, before all was put.
    is_cut_short: bool = False


@dataclass(frozen=True)
class _File:
    """A file as it should be."""

    name: str
    headers: Headers
    #: The tag of what it is made of, what returns that, and what makes the file of it.
    tag: str
    document: Callable[[], Document]
    make: Callable[[Document], Document]
    #: The section of a page, and its number.
    page: tuple[str, int] = ("", 0)


def _same(document: Document) -> Document:
    return document


_AS_IT_IS = hooks.Derived("application/xml", _same)


def publish(
    site: SiteAddress,
    is_over: Callable[[], bool] = lambda: False,
    *,
    at_once: bool = False,
) -> Published | None:
    """
    Put what has changed, if that is due; or ``at_once``.

    None if it is not due, another process is at it, or ``PUBLISH`` is not set. What the
    storage raises is logged, and noted for ``--status``.
    """
    options = own_settings().publish
    if options is None:
        return None
    # One process publishes a site's files, of all hosts.
    rows, owner = Publisher.objects.on_site(), uuid.uuid4().hex
    if not rows.exists():
        rows.bulk_create([Publisher()], ignore_conflicts=True)
    if not rows.take(owner, published.PUBLISHED_FOR, at_once=at_once):
        return None
    keeps = partial(rows.renew, owner, published.PUBLISHED_FOR)
    run = _Run(site, options, keeps, is_over)
    try:
        run.run()
    finally:
        again = min(options.every, _AGAIN) if run.done.errors else options.every
        rows.release(owner, 0.0 if run.done.is_cut_short else again)
    for error in run.done.errors:
        logger.error("Not all files were published: %s", error)
    return run.done


def publish_in_turn(is_over: Callable[[], bool]) -> float | None:
    """Put what has changed, if that is due; return the seconds until there is more."""
    site = Site.current().address()
    if site is None or own_settings().publish is None:
        return None
    done = publish(site, is_over)
    if done is None or done.errors:
        return published.next_in()
    return 0.0 if done.is_cut_short else None


@dataclass
class _Run:
    """One comparison of what was put with what there is, and what follows from it."""

    site: SiteAddress
    options: Publish
    #: Renews the claim; returns whether it was not lost.
    keeps: Callable[[], bool]
    is_over: Callable[[], bool]

    def __post_init__(self) -> None:
        self.done = Published()
        #: What was put, and what should be there, by name.
        self.put = {row.name: row for row in published_files()}
        self.wanted: set[str] = set()
        self.endings = {"xml": _AS_IT_IS, **hooks.derived(self.site)}
        # Hosts disagree about the time.
        self.clock = Stopwatch.ask(ledger())
        self._failures = 0

    def run(self) -> None:
        """Publish; what is wrong is in ``done``."""
        name = self._name(index.file_address(self.site, "site"))
        try:
            self._attempt(name, self._publish)
            if not self._is_stopped() and any(row.error for row in self.put.values()):
                published_files().update(error="")
        except NotReady as error:
            logger.info("Publishing begins anew: %s", error)
            self.done.is_cut_short = True
        finally:
            self.done.files = sum(row.first_at > 0 for row in self.put.values())

    def _publish(self) -> None:
        self.target = StorageTarget(self.options.storage)
        self._forget_what_was_lost()
        found = list(self._pages())
        late = self._late(found)
        self._put(file for file in found if self._is_new(file) or not late(file))
        if not self._is_stopped():
            self._put([*self._indexes(found), *self._others()])
        if not self._is_stopped():
            self._put(filter(late, found))
        if not self._is_stopped():
            self._delete_old()

    def _is_stopped(self) -> bool:
        return self.done.is_cut_short or bool(self.done.errors)

    def _attempt(self, name: str, action: Callable[[], object]) -> bool:
        """Do something for a file; where that fails note why, and return False."""
        try:
            action()
        except NotReady:
            raise
        except Exception as error:  # a storage raises whatever it likes
            problem = printable(str(error))
            if not isinstance(error, SitemapsPlusError):
                if not _is_of_storage(error):
                    logger.exception("The file %s cannot be published.", name)
                problem = printable(f"{type(error).__name__}: {error}")
            self.done.errors.append(f"{name}: {problem}")
            published_files().update_or_create(name=name, defaults={"error": problem})
            return False
        return True

    # What there should be

    def _files(
        self,
        address: str,
        tag: str,
        document: Callable[[], Document],
        page: tuple[str, int] = ("", 0),
    ) -> Iterator[_File]:
        """Yield the file of an XML document, and those that are derived from it."""
        for ending, (content_type, make) in self.endings.items():
            own = index.with_ending(address, ending)
            headers = self._headers(own, content_type)
            yield _File(self._name(own), headers, tag, document, make, page)

    def _headers(self, address: str, content_type: str) -> Headers:
        """Return the headers of a sitemap: packed where the options say so."""
        control, gzip = get_settings().CACHE_CONTROL or "", self.options.gzip
        tags = cache_tags(urlsplit(address).path)
        if gzip == "file":
            return Headers("application/gzip", "", control, tags)
        return Headers(content_type, "gzip" if gzip else "", control, tags)

    def _plain(self, address: str, text: str, control: str | None) -> _File:
        """Return a text file that is never packed."""
        found = Document.of(text.encode(), _TEXT)
        tags = cache_tags(urlsplit(address).path)
        headers = Headers(_TEXT, "", control or "", tags)
        return _File(self._name(address), headers, found.tag, lambda: found, _same)

    def _name(self, address: str) -> str:
        """Return the name of an address's file; it is wanted."""
        host = self.site.origin.host.replace(":", "_")
        path = unquote(urlsplit(address).path).lstrip("/")
        name = f"{self.options.prefix.replace('{host}', host)}{path}"
        self.wanted.add(name)
        return name

    def _pages(self) -> Iterator[_File]:
        """Yield the pages, stored and by position, and what is derived from them."""
        starts: dict[str, tuple[str, str]] = {}
        for name, number, tag, made in self._versions():
            if name not in starts:
                # Once for a section: its pages' addresses differ by a number.
                first = index.file_address(self.site, "page", f"{name}-0")
                start, _, ending = first.rpartition("-0.")
                starts[name] = start, ending
            start, ending = starts[name]
            address = f"{start}-{number}.{ending}"
            yield from self._files(address, tag, made, (name, number))

    def _versions(self) -> Iterator[tuple[str, int, str, Callable[[], Document]]]:
        """Yield each page's section, number and tag, and what returns its document."""
        for page in _stored_pages():
            tag = version_tag(page, page.checksum, self.site)
            yield page.section.name, page.number, tag, partial(self._document, page)
        for source in index.usable():
            if source.key is None:
                for number, found in enumerate(self._built(source), 1):
                    yield source.name, number, found.tag, partial(_same, found)

    def _built(self, source: SectionSource) -> list[Document]:
        """Return the pages of a section by position, built now; none if that fails."""
        first = index.file_address(self.site, "page", f"{source.name}-1")
        found: list[Document] = []
        build = partial(found.extend, documents_by_position(source, self.site))
        return found if self._attempt(self._name(first), build) else []

    def _document(self, page: Page) -> Document:
        """Return a page's version, or the one that has replaced it meanwhile."""
        found = version_document(page, page.checksum, self.site)
        if found is None:
            again = _stored_pages().filter(pk=page.pk).first()
            next_number = page.section.next_number
            if again is None or again.section.next_number != next_number:
                # The order has to be found anew.
                raise NotReady(f"The page {page} was divided.")
            found = version_document(again, again.checksum, self.site)
        if found is None:
            raise SitemapsPlusError(f"Nothing is stored of the page {page}.")
        return found

    def _late(self, found: Iterable[_File]) -> Callable[[_File], bool]:
        """
        Return what tells the pages that come after the indexes.

        Those of sections with pages that no index may name yet: a split may have moved
        entries to these.
        """
        newest: dict[str, float] = {}
        for file in found:
            first = math.inf if self._is_new(file) else self.put[file.name].first_at
            newest[file.page[0]] = max(newest.get(file.page[0], 0.0), first)
        late = {name for name, at in newest.items() if at >= self._indexed_at(name)}
        return lambda file: file.page[0] in late

    def _is_new(self, file: _File) -> bool:
        return file.name not in self.put or not self.put[file.name].first_at

    def _indexed_at(self, section: str) -> float:
        """Return when the indexes that name a section's pages were put."""
        places = [("site",), ("section", section)]
        names = [
            self._name(index.with_ending(index.file_address(self.site, *place), ending))
            for ending in self.endings
            for place in places
        ]
        return min(self.put[n].put_at if n in self.put else 0.0 for n in names)

    def _indexes(self, found: Iterable[_File]) -> Iterator[_File]:
        """Yield what stands at the addresses of sections, then of the site."""
        sources = self._sources()
        put = {file.page for file in found if not self._is_new(file)}
        for source in sources:
            own = {place for place in put if place[0] == source.name}
            yield from self._gathered(source.name, [source], own)
        yield from self._gathered("", sources, put)

    def _sources(self) -> list[SectionSource]:
        """
        Return the sections that are published.

        Raises ``SitemapsPlusError`` where an index would forget pages not built yet.
        """
        rows = {row.name: row for row in Section.objects.on_site().exclude(name="")}
        own = Page.objects.on_site(registry.sources()).filter(checksum="", error="")
        unbuilt = set(own.order_by().values_list("section__name", flat=True).distinct())
        usable = list(index.usable())
        for source in usable:
            row = rows.get(source.name)
            if source.key and not (row is not None and row.is_filled(source.signature)):
                unbuilt.add(source.name)
        if unbuilt:
            raise SitemapsPlusError(
                "the index stays as it is, because pages of these sections were never "
                f"built: {', '.join(sorted(unbuilt))}. Run: manage.py build_sitemaps"
            )
        return usable

    def _gathered(
        self,
        name: str,
        sources: Sequence[SectionSource],
        put: Collection[tuple[str, int]],
    ) -> Iterator[_File]:
        view, args = ("section", [name]) if name else ("site", [])
        for part in range(1, len(put) // MAX_INDEX_ENTRIES + 2):
            found = index.document_of(name, sources, self.site, part, put=put)
            if found is None:
                break
            place = [f"{view}-part", *args, part] if part > 1 else [view, *args]
            address = index.file_address(self.site, *place)
            yield from self._files(address, found.tag, partial(_same, found))

    def _others(self) -> Iterator[_File]:
        """Yield robots.txt and key files, where this app serves them."""
        settings = get_settings()
        address = index.address(self.site, "robots")
        if self._serves(address):
            yield self._plain(address, robots_of(self.site), settings.CACHE_CONTROL)
        for name, text in files_of(self.site.origin.host).items():
            address = index.address(self.site, "engine-file", name)
            if self._serves(address):
                # A key that is taken back must be gone at once.
                yield self._plain(address, text, "no-cache")

    def _serves(self, address: str) -> bool:
        path = urlsplit(address).path.removeprefix(self.site.prefix)
        match = Site.current().resolved(f"/{path}")
        return match is not None and "django_sitemaps_plus" in match.app_names

    # Putting

    def _put(self, found: Iterable[_File]) -> None:
        """Put those files that are not as they should be."""
        changed = [file for file in found if self._differs(file)]
        for some in parts(changed, _CHUNK):
            self._begin([file.name for file in some])
            for file in some:
                if self._is_stopping():
                    return
                is_put = self._attempt(file.name, partial(self._put_one, file))
                self._failures = 0 if is_put else self._failures + 1

    def _differs(self, file: _File) -> bool:
        row = self.put.get(file.name)
        digest = _digest(file.tag, file.headers)
        return row is None or row.digest != digest or row.gone_since > 0

    def _is_stopping(self) -> bool:
        if self.is_over() or not self.keeps():
            self.done.is_cut_short = True
        return self.done.is_cut_short or self._failures >= _FAILURES

    def _begin(self, names: Sequence[str]) -> None:
        """Note that what is stored is not known now: a put may be cut off."""
        new = [PublishedFile(name=n) for n in names if n not in self.put]
        published_files().bulk_create(new, ignore_conflicts=True)
        own = published_files().filter(name__in=names)
        own.update(digest="")
        self.put.update({row.name: row for row in own})

    def _put_one(self, file: _File) -> None:
        found = file.make(file.document())
        body = found.packed if file.headers.is_packed else found.body
        self.target.put(file.name, body, file.headers)
        row = self.put[file.name]
        row.put_at, row.gone_since, row.error = self.clock.now(), 0, ""
        row.first_at = row.first_at or row.put_at
        # Who was too slow for the lease may have put an old version over a newer one.
        row.digest = _digest(found.tag, file.headers) if self.keeps() else ""
        row.save()
        self.done.puts += 1

    # What is gone

    def _forget_what_was_lost(self) -> None:
        """Have all files put again if the storage does not have the newest of them."""
        known = [row for row in self.put.values() if row.digest]
        newest = max(known, key=lambda row: row.put_at, default=None)
        if newest is not None and not self.target.storage.exists(newest.name):
            published_files().update(digest="", first_at=0, put_at=0)
            self.put = {row.name: row for row in published_files()}

    def _delete_old(self) -> None:
        """Delete what no index has named for a day; begin that day for the others."""
        for folder in {name.rpartition("/")[0] for name in self.wanted}:
            self.target.sweep(folder)
        now = self.clock.now()
        gone = [row for name, row in self.put.items() if name not in self.wanted]
        new = [row.pk for row in gone if not row.gone_since]
        if new:
            published_files().filter(pk__in=new).update(gone_since=now)
        old = [row for row in gone if 0 < row.gone_since < now - _KEEP]
        if old:
            self._begin([row.name for row in old])
        for row in old:
            if self._is_stopping():
                return
            delete = partial(self.target.storage.delete, row.name)
            if self._attempt(row.name, delete):
                published_files().filter(pk=row.pk).delete()
                del self.put[row.name]
                self.done.deleted += 1


def _is_of_storage(error: Exception) -> bool:
    """Return whether a disk or S3 refused, which no traceback explains further."""
    module = type(error).__module__
    return isinstance(error, OSError) or module.startswith(("boto3.", "botocore."))


def _stored_pages() -> QuerySet[Page]:
    """Return the pages of which something is stored that may be published."""
    rows = Page.objects.on_site(registry.sources()).exclude(checksum="")
    # Where an error is noted there are rows: to say that there are none would be a lie.
    rows = rows.exclude(entries=0, error__gt="").select_related("section")
    columns = "number", "checksum", "changed_at", "error", "entries"
    own = "section__name", "section__next_number"
    found: QuerySet[Page] = rows.only(*columns, *own).order_by("section", "pk")
    return found


def _digest(tag: str, headers: Headers) -> str:
    """Return a digest of all that decides what is put."""
    return digest_of(repr((tag, headers, get_settings().stylesheet)))
