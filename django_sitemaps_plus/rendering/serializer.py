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
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from django.db import Error as DatabaseError

from django_sitemaps_plus.exceptions import describe
from django_sitemaps_plus.protocol.errors import (
    EntryError,
    OutsideError,
    excerpt,
    printable,
)
from django_sitemaps_plus.protocol.extensions import MEDIA, Place
from django_sitemaps_plus.protocol.limits import MIN_LOCATION
from django_sitemaps_plus.protocol.locations import (
    ORIGIN_MARK,
    Origin,
    page_of,
    refuse_outside,
)
from django_sitemaps_plus.protocol.markup import day_or_time, escape
from django_sitemaps_plus.protocol.writers import (
    alternate_xml,
    changefreq_xml,
    is_language,
    lastmod_xml,
    priority_xml,
)

from .bulk import Texts, bulk_lastmods, fill_entries, fragments, may_hold
from .columns import BadRow, FailedValue, Media, Pieces, RowBatch, Tally, is_after
from .media_columns import as_list, as_record, bulk_media

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
    With ``is_news`` no entry is listed without its article.
    With ``raises`` the error of a bad row is raised instead of reported.
    """

    origin: Origin
    zone: dt.tzinfo
    folder: str = "/"
    latest: str = "9999-12-31T23:59:59"
    alternates: bool = False
    x_default: str | None = None
    is_news: bool = False
    raises: bool = False

    def items(self, batch: RowBatch, tally: Tally) -> Texts:
        """
        Return the text of a batch's items.

        Bad rows and the newest lastmod are noted in ``tally``.
        """
        texts = self._bulk(batch, tally)
        if texts is not None:
            return texts
        each = self._one_by_one(batch, tally)
        whole = "".join(text for text in each if text is not None)
        return Texts(whole, entries_in_text(whole), lambda: each)

    # In bulk

    def _bulk(self, batch: RowBatch, tally: Tally) -> Texts | None:
        """Return the text of a batch; None if some items may be bad."""
        if batch.entries is not None or batch.faults or batch.links or not batch.labels:
            return None
        media = bulk_media(batch)
        if media is None:
            return None
        locations: dict[str | None, Pieces] = {}
        for language, column in batch.locations.items():
            pieces = column.bulk()
            if pieces is None:
                return None
            # Whether it is certainly as long as the schemas want.
            length = len(str(self.origin)) + sum(map(len, pieces[0]))
            if length < MIN_LOCATION or not self._is_inside(pieces):
                return None
            locations[language] = pieces
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
        return fill_entries(locations, tail, links, media, len(batch.labels))

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
        if segment not in literals[0] and may_hold(self.x_default, literals, columns):
            return None
        first = literals[0].replace(segment, "/", 1)
        return [*links, ("x-default", ((first, *literals[1:]), columns))]

    # Item by item

    def _one_by_one(self, batch: RowBatch, tally: Tally) -> list[str | None]:
        texts: list[str | None] = []
        for index, label in enumerate(batch.labels):
            reason = batch.faults.get(index)
            parts = [(batch, index)]
            if batch.entries is not None:
                # Each of its entries is a batch of one.
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
            found = [entry for some, _ in entries for entry in some]
            # A page of which several parts are given is listed once.
            new = [xml for path, part, xml in found if not tally.is_again(path, part)]
            texts.append("".join(new))
        return texts

    def _item(
        self, batch: RowBatch, index: int, omit: _Omit
    ) -> tuple[list[tuple[str, bool, str]], str | None]:
        """
        Return one item's entries and its lastmod; raise an error if it is bad.

        Of each its location, whether that is of a part of a page, and its text.
        """
        paths = {
            language: column.exact(index, self.origin)
            for language, column in batch.locations.items()
        }
        for path in paths.values():
            if path.startswith("/"):
                refuse_outside(path, self.folder)

        def day(value: Any) -> str:
            text = batch.lastmods.exact(index)
            return day_or_time(text, "lastmod") if text else ""

        lastmod = self._tag("lastmod", day, batch.lastmods.values[index], omit)
        if lastmod and is_after(lastmod, self.latest):
            omit(f"lastmod {lastmod}: more than a day in the future")
            lastmod = ""
        tail = (
            (lastmod_xml(lastmod) if lastmod else "")
            + self._tag("changefreq", changefreq_xml, batch.changefreqs[index], omit)
            + self._tag("priority", priority_xml, batch.priorities[index], omit)
            + self._links(paths)
            + "".join(
                self._tag("alternates", self._given_link, link, omit)
                for link in batch.links
            )
        )
        entries = [
            (
                path,
                batch.locations[language].is_part(index),
                f"<url><loc>{_marked(escape(path))}</loc>{tail}"
                f"{self._media(batch.media.get(language), index, path, omit)}</url>\n",
            )
            for language, path in paths.items()
        ]
        return entries, lastmod

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
        # An entry that the class makes itself has its own links, and no language.
        links = {str(code): path for code, path in paths.items() if code is not None}
        if self.x_default is not None and self.x_default in links:
            segment = f"/{self.x_default}/"
            links["x-default"] = links[self.x_default].replace(segment, "/", 1)
        return "".join(
            alternate_xml(language, _marked(path)) for language, path in links.items()
        )

    def _given_link(self, given: Mapping[str, Any]) -> str:
        """Return an alternate of contrib's dicts, which may be of another host."""
        link = self.origin.absolute(page_of(given.get("location")))
        path = link.removeprefix(str(self.origin))
        href = _marked(path if path.startswith("/") else link)
        return alternate_xml(given.get("lang_code", ""), href)

    def _media(self, media: Media | None, index: int, path: str, omit: _Omit) -> str:
        def xml(name: str, value: Any) -> str:
            record = as_record(value, name)
            if record is None:
                return ""
            note = partial(self._omit, name, omit=omit)
            place = Place(ORIGIN_MARK, path, self.zone, note)
            return MEDIA[name].write(record, place)

        tags = []
        for name, column in (media or {}).items():
            values, most = as_list(column[index]), MEDIA[name].most
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
