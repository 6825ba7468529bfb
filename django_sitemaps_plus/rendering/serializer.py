"""
Batches of items become the text of entries.

The text is **origin-neutral**: ``ORIGIN_MARK`` stands for scheme and host, so that
one checksum tells whether a page changed, whatever address it is served under.

Every batch is first tried in **bulk**: each column is checked, percent-encoded and
escaped as one joined text, and all of them fill one template. Where that is not
certain to be right, the batch is done **item by item**, which defines what is right:
a bad row is found, left out and reported there.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from html import unescape
from typing import Any

from django.db import Error as DatabaseError
from django.urls import NoReverseMatch

from django_sitemaps_plus.protocol.entries import Image, News
from django_sitemaps_plus.protocol.errors import (
    EntryError,
    OutsideError,
    excerpt,
    printable,
)
from django_sitemaps_plus.protocol.extensions import image_xml, news_xml, video_xml
from django_sitemaps_plus.protocol.limits import MAX_IMAGES, MIN_LOCATION
from django_sitemaps_plus.protocol.locations import (
    ORIGIN_MARK,
    Origin,
    absolute,
    refuse_outside,
)
from django_sitemaps_plus.protocol.markup import escape
from django_sitemaps_plus.protocol.writers import (
    alternate_xml,
    changefreq_xml,
    is_language,
    lastmod_xml,
    priority_xml,
)

from .bulk import Texts, bulk_lastmods, fill_entries, fragments, may_hold, row_by_row
from .columns import BadRow, FailedValue, Media, Pieces, RowBatch, Tally, is_after
from .media_columns import as_list, as_record, bulk_images

#: How many of a kind an entry may have.
_MOST = {"images": MAX_IMAGES, "news": 1}

#: Notes why an entry lacks a tag.
_Omit = Callable[[str], object]


def _marked(location: str) -> str:
    """Put the mark of the origin before a path; a whole URL stays as it is."""
    return ORIGIN_MARK + location if location.startswith("/") else location


@dataclass(frozen=True, slots=True)
class Serializer:
    """
    Writes the text of entries.

    ``x_default`` is the language whose location is also the ``x-default``. All paths
    must be in ``folder``, and no lastmod after ``latest``, a time in UTC.
    Paths for which ``leaves_out`` returns something true are not listed.
    With ``is_news`` no entry is listed without its article.
    With ``raises`` the error of a bad row is raised instead of reported.
    """

    origin: Origin
    zone: dt.tzinfo
    folder: str = "/"
    latest: str = "9999-12-31T23:59:59"
    alternates: bool = False
    x_default: str | None = None
    leaves_out: Callable[[str], object] | None = None
    is_news: bool = False
    raises: bool = False

    def items(self, batch: RowBatch, tally: Tally) -> Texts:
        """
        Return the text of a batch's items.

        Bad rows and the newest lastmod are noted in ``tally``.
        """
        if batch.left_out:
            return self._without(batch, batch.left_out, tally)
        texts = self._bulk(batch, tally)
        if texts is not None:
            return texts
        each = self._one_by_one(batch, tally)
        whole = "".join(text for text in each if text is not None)
        return Texts(whole, entries_in_text(whole), lambda: each)

    def _without(
        self, batch: RowBatch, left_out: frozenset[int], tally: Tally
    ) -> Texts:
        """Return the text of a batch of which some items have no entry."""
        texts = self.items(batch.without(left_out), tally)

        def each() -> list[str | None]:
            listed = iter(texts.each())
            return [
                "" if index in left_out else next(listed)
                for index in range(len(batch.labels))
            ]

        return replace(texts, each=each)

    # In bulk

    def _bulk(self, batch: RowBatch, tally: Tally) -> Texts | None:
        """Return the text of a batch; None if some items may be bad."""
        if batch.entries is not None or batch.faults or batch.links:
            return None
        if not batch.labels:
            return None
        images = bulk_images(batch)
        if images is None:
            return None
        locations: dict[str | None, Pieces] = {}
        for language, column in batch.locations.items():
            pieces = column.bulk()
            if pieces is None:
                return None
            if not self._is_long_enough(pieces) or not self._is_inside(pieces):
                return None
            locations[language] = pieces
        if self.leaves_out is not None:
            left_out = self._left_out(locations, len(batch.labels))
            if left_out:
                # Of an item in several languages some may be left out, others not.
                several = len(locations) > 1
                return None if several else self._without(batch, left_out, tally)
        links = self._bulk_links(locations) if self.alternates else []
        lastmods = bulk_lastmods(batch.lastmods)
        if links is None or lastmods is None:
            return None
        dates, newest = lastmods
        if newest is not None and newest[:19] > self.latest:
            return None
        try:
            tail = [
                ("", dates),
                fragments(batch.changefreqs, changefreq_xml),
                fragments(batch.priorities, priority_xml),
            ]
        except Exception:  # also that of a __repr__; item by item it is found
            return None
        tally.see(newest)
        return fill_entries(locations, tail, links, images, len(batch.labels))

    def _left_out(
        self, locations: dict[str | None, Pieces], length: int
    ) -> frozenset[int]:
        """Return the items, by index, of which a location is left out."""
        return frozenset(
            index
            for literals, columns in locations.values()
            for index, path in enumerate(row_by_row(literals, columns, length))
            if self._is_left_out(unescape(path))
        )

    def _is_left_out(self, path: str) -> bool:
        return self.leaves_out is not None and bool(self.leaves_out(path))

    def _is_long_enough(self, pieces: Pieces) -> bool:
        """Return whether every location is certainly as long as the schemas want."""
        return len(str(self.origin)) + sum(map(len, pieces[0])) >= MIN_LOCATION

    def _is_inside(self, pieces: Pieces) -> bool:
        """Return whether every location is certain to be in the folder."""
        (first, *_), columns = pieces
        folder = escape(self.folder)
        if self.folder == "/" or first.startswith(folder):
            return True
        return not first and all(text.startswith(folder) for text in columns[0])

    def _bulk_links(
        self, locations: dict[str | None, Pieces]
    ) -> list[tuple[str, Pieces]] | None:
        """Return every language's link; None if one of them is not certain."""
        links = [(str(language), pieces) for language, pieces in locations.items()]
        if not all(is_language(language) for language, _ in links):
            return None
        if self.x_default is None or self.x_default not in locations:
            return links
        literals, columns = locations[self.x_default]
        segment = f"/{self.x_default}/"
        if segment not in literals[0]:
            if may_hold(self.x_default, literals, columns):
                return None
            return [*links, ("x-default", (literals, columns))]
        first = literals[0].replace(segment, "/", 1)
        return [*links, ("x-default", ((first, *literals[1:]), columns))]

    # Item by item

    def _one_by_one(self, batch: RowBatch, tally: Tally) -> list[str | None]:
        texts: list[str | None] = []
        for index, label in enumerate(batch.labels):
            reason = batch.faults.get(index)
            parts = [(batch, index)]
            if batch.entries is not None:
                parts = [(part, 0) for part in batch.entries[index]]
            omit = partial(tally.omit, printable_label(label))
            is_outside = False
            if reason is None:
                try:
                    entries = [self._item(part, place, omit) for part, place in parts]
                except DatabaseError:
                    raise
                except Exception as error:
                    if self.raises:
                        raise
                    reason = describe(error)
                    is_outside = isinstance(error, OutsideError)
            if reason is not None:
                tally.bad.append(BadRow(printable_label(label), reason, is_outside))
                texts.append(None)
                continue
            for _, lastmod in entries:
                tally.see(lastmod)
            texts.append("".join([text for text, _ in entries]))
        return texts

    def _item(self, batch: RowBatch, index: int, omit: _Omit) -> tuple[str, str | None]:
        """Return one item's entries and its lastmod; raise an error if it is bad."""
        paths = {
            language: column.exact(index, self.origin)
            for language, column in batch.locations.items()
        }
        for path in paths.values():
            if path.startswith("/"):
                refuse_outside(path, self.folder)
        paths = {
            language: path
            for language, path in paths.items()
            if not self._is_left_out(path)
        }
        if not paths:
            return "", None
        lastmod = batch.lastmods.exact(index)
        if lastmod is not None and is_after(lastmod, self.latest):
            omit(f"lastmod {lastmod}: more than a day in the future")
            lastmod = None
        tail = (
            (lastmod_xml(lastmod) if lastmod is not None else "")
            + self._tag("changefreq", changefreq_xml, batch.changefreqs[index], omit)
            + self._tag("priority", priority_xml, batch.priorities[index], omit)
            + self._links(paths)
            + "".join(
                alternate_xml(language, self._link(href))
                for language, href in batch.links
            )
        )
        entries = [
            f"<url><loc>{_marked(escape(path))}</loc>{tail}"
            f"{self._media(batch.media.get(language), index, path, omit)}</url>\n"
            for language, path in paths.items()
        ]
        return "".join(entries), lastmod

    def _tag(
        self, name: str, xml: Callable[[Any], str], value: Any, omit: _Omit
    ) -> str:
        """Return a tag of an attribute; "" if its value is illegal."""
        try:
            if isinstance(value, FailedValue):
                raise EntryError(f"{name}: {value.reason}")
            return xml(value)
        except DatabaseError:
            raise
        except Exception as error:  # a value of the project's own may do anything
            self._omit(name, error, omit)
            return ""

    def _omit(self, name: str, error: Exception, omit: _Omit) -> None:
        """Note why an entry lacks a tag of an attribute."""
        if self.raises:
            raise error
        reason = describe(error)
        omit(reason if reason.startswith(name) else f"{name}: {reason}")

    def _links(self, paths: dict[str | None, str]) -> str:
        if not self.alternates:
            return ""
        links = {str(language): path for language, path in paths.items()}
        if self.x_default is not None and self.x_default in links:
            segment = f"/{self.x_default}/"
            links["x-default"] = links[self.x_default].replace(segment, "/", 1)
        return "".join(
            alternate_xml(language, _marked(path)) for language, path in links.items()
        )

    def _link(self, href: Any) -> str:
        """Return the address of an alternate, which may be of another host."""
        link = absolute(href, self.origin)
        path = link.removeprefix(str(self.origin))
        return _marked(path) if path.startswith("/") else link

    def _media(self, media: Media | None, index: int, path: str, omit: _Omit) -> str:
        if media is None:
            return ""

        def xml(name: str, value: Any) -> str:
            record = as_record(value, name)
            if record is None:
                return ""
            if isinstance(record, Image):
                return image_xml(record, ORIGIN_MARK)
            if isinstance(record, News):
                return news_xml(record, self.zone)
            note = partial(self._omit, name, omit=omit)
            return video_xml(record, ORIGIN_MARK, path, self.zone, note)

        tags = []
        for name, column in media.items():
            values, most = as_list(column[index]), _MOST.get(name)
            if most is not None and len(values) > most:
                error = EntryError(f"{name}: {len(values)}, over {most}")
                self._omit(name, error, omit)
            note = _refuse if self.is_news and name == "news" else omit
            write = partial(xml, name)
            tags += [self._tag(name, write, value, note) for value in values[:most]]
        return "".join(tags)


def _refuse(reason: str) -> None:
    """Take the place of ``omit`` for a tag that its entry cannot do without."""
    raise EntryError(reason)


def entries_in_text(text: str) -> int:
    """Return how many entries a text has; values in it are escaped."""
    return text.count("<url>")


def printable_label(label: object) -> str:
    """Return a row's label as printable text, whatever its own methods do."""
    try:
        return printable(str(label))
    except Exception:  # the project's own type may raise whatever it likes
        return excerpt(label)


def describe(error: BaseException) -> str:
    """Return an error as one printable line for a report."""
    try:
        # Cut first: the text may quote a value of many megabytes.
        text = printable(str(error)[:1_000])
    except Exception:  # the project's own error may do anything
        text = ""
    if isinstance(error, (EntryError, NoReverseMatch)):
        return text[:300]
    return f"{type(error).__name__}: {text}"[:300]
