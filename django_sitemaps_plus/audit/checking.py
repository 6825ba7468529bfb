"""
The audit of documents: read once, entry by entry; a second time only where several
entries together are wrong, to name them.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from itertools import islice

from django_sitemaps_plus.protocol.limits import MAX_BYTES, MAX_ENTRIES, MAX_NEWS
from django_sitemaps_plus.publishing.build import Progress

from . import kinds
from .entries import Entry, Unreadable
from .findings import MOST, Findings
from .listed import Document
from .rules import alternates, media
from .rules.lastmods import Lastmods, problem_of_news
from .rules.urls import Problem, Urls, form_of
from .together import Together, Wrong

#: Entries that are looked at together.
_AT_ONCE = 5_000


@dataclass
class Sample:
    """Some of many URLs, each as likely as any other; the same for the same seed."""

    most: int
    seed: int = 0
    #: The documents that list them, and their entries.
    chosen: list[tuple[Document, Entry]] = field(default_factory=list)
    _seen: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311 (not a secret)

    def see(self, document: Document, entries: Sequence[Entry]) -> None:
        """Choose among further entries."""
        for entry in entries:
            self._seen += 1
            if len(self.chosen) < self.most:
                self.chosen.append((document, entry))
            elif (place := self._random.randrange(self._seen)) < self.most:
                self.chosen[place] = (document, entry)


@dataclass
class Checking:
    """Checks documents one after the other."""

    findings: Findings
    #: What URLs have to be, by section.
    urls: Mapping[str, Urls]
    now: dt.datetime
    #: How many entries an item has, by section.
    per_item: Mapping[str, int] = field(default_factory=dict)
    sample: Sample | None = None
    #: Whether these are all documents of the site.
    is_whole: bool = False
    #: How many of them were read to the end.
    read: int = 0
    #: How many URLs each section lists.
    listed: Counter[str] = field(default_factory=Counter)
    lastmods: dict[str, Lastmods] = field(default_factory=dict)

    def check(
        self,
        documents: Sequence[Document],
        progress: Progress = lambda done, of: None,
    ) -> None:
        """Read all documents, and note what is wrong."""
        with closing(Together()) as together:
            for done, document in enumerate(documents, 1):
                for some in self._entries(document):
                    self._note(document, some, together)
                self.read = done
                progress(done, len(documents))
            wrong = together.wrong(MOST, is_whole=self.is_whole)
        if hashes := wrong.hashes:
            self._name(documents, wrong, hashes)

    def _entries(self, document: Document) -> Iterator[list[Entry]]:
        """Yield the entries of a document; note what is wrong with it as a whole."""
        body = document.read()
        if not body:
            if document.page is not None:
                self._add(document, "", (kinds.NOT_BUILT, "no bytes that can be read"))
            return
        entries = news = 0
        try:
            for some in _batches(document.entries_of(body)):
                entries += len(some)
                news += sum(bool(entry.published) for entry in some)
                if not all(entry.location for entry in some):
                    text = "an entry without <loc>"
                    self._add(document, "", (kinds.NOT_A_SITEMAP, text))
                urls = [entry for entry in some if entry.location]
                if urls and not urls[0].is_sitemap:
                    self.listed[document.section] += len(urls)
                    yield urls
        except Unreadable as error:
            text = str(error).rstrip(".")
            self._add(document, "", (kinds.NOT_A_SITEMAP, text))
        for what, count, most in (
            ("entries", entries, MAX_ENTRIES),
            ("news", news, MAX_NEWS),
            ("bytes", len(body), MAX_BYTES),
        ):
            if count > most:
                self._add(
                    document, "", (kinds.TOO_LARGE, f"{count:,} {what}, over {most:,}")
                )

    def _note(
        self, document: Document, entries: Sequence[Entry], together: Together
    ) -> None:
        """Note what is wrong with single entries, and remember what they have."""
        urls = [entry.location for entry in entries]
        dates = [entry.lastmod for entry in entries]
        name = document.section
        rules = self.urls[name]
        lastmods = self.lastmods.setdefault(
            name, Lastmods(self.now, self.per_item.get(name, 1))
        )
        for problems in (
            rules.problems(urls),
            lastmods.problems(urls, dates),
            alternates.problems_of(entries, together, str(rules.site.origin)),
            media.problems_of(entries, rules, self.now),
        ):
            for url, problem in problems:
                self._add(document, url, problem)
        for entry in entries:
            if entry.published:
                news = problem_of_news(entry.published, self.now)
                if news is not None:
                    self._add(document, entry.location, news)
        together.add(list(self.urls).index(name), urls)
        if document.read_at:
            lastmods.suspect(document.name, dates, document.read_at)
        if self.sample is not None:
            self.sample.see(document, entries)

    def _add(self, document: Document, url: str, problem: Problem) -> None:
        kind, text = problem
        self.findings.add(
            kind, document.section, page=document.name, url=url, text=text
        )

    # What several entries have wrong together

    def _name(
        self, documents: Sequence[Document], wrong: Wrong, hashes: Collection[int]
    ) -> None:
        """Find the URLs that are meant by their hashes, and note what is wrong."""
        places: dict[str, list[Document]] = {}
        links: dict[str, set[str]] = {}
        for document in documents:
            for entry in document.listed():
                url = entry.location
                if hash(url) in hashes:
                    places.setdefault(url, []).append(document)
                    targets = links.setdefault(url, set())
                    targets.update(href for _, href in entry.alternates)
        named = self._name_repeated(places) + self._name_similar(places, wrong)
        for kind, count in wrong.counts.items():
            self.findings.more(kind, "", max(0, count - named[kind]))
        self._name_links(places, links, wrong)

    def _name_repeated(self, places: Mapping[str, list[Document]]) -> Counter[str]:
        """Note URLs that are listed several times; return how many of each kind."""
        named: Counter[str] = Counter()
        for url, on in places.items():
            sections = Counter(document.section for document in on)
            first = on[0]
            for name, count in sections.items():
                if count > 1:
                    pages = [one.name for one in on if one.section == name]
                    where = " and ".join(dict.fromkeys(pages))
                    how = "twice" if count == 2 else f"{count:,} times"
                    text = f"listed {how}: on {where}"
                    kind = kinds.REPEATED
                    self.findings.add(kind, name, page=pages[0], url=url, text=text)
                    named[kind] += 1
            if len(sections) > 1:
                others = [one.name for one in on if one.section != first.section]
                text = f"also on {' and '.join(dict.fromkeys(others))}"
                self._add(first, url, (kinds.SHARED, text))
                named[kinds.SHARED] += 1
        return named

    def _name_similar(
        self, places: Mapping[str, list[Document]], wrong: Wrong
    ) -> Counter[str]:
        """Note URLs that are written in several ways; return how many of a kind."""
        groups: dict[int, list[str]] = {}
        for url in places:
            groups.setdefault(hash(form_of(url)), []).append(url)
        some = [groups[form] for form in wrong.similar if form in groups]
        for first, *others in some:
            text = f"listed as {' and '.join(others)}, too"
            self._add(places[first][0], first, (kinds.SIMILAR, text))
        return Counter({kinds.SIMILAR: len(some)})

    def _name_links(
        self,
        places: Mapping[str, list[Document]],
        links: Mapping[str, set[str]],
        wrong: Wrong,
    ) -> None:
        for source in places:
            for target in sorted(links[source]):
                if hash(source) in wrong.unlisted.get(hash(target), ()):
                    text = f"{target} is not listed"
                    self._add(places[source][0], source, (kinds.NOT_LISTED, text))
                is_meant = hash(source) in wrong.one_sided.get(hash(target), ())
                if is_meant and source not in links.get(target, {source}):
                    self._add(
                        places[source][0],
                        source,
                        (kinds.NOT_RETURNED, f"{target} does not link back"),
                    )


def _batches(entries: Iterator[Entry]) -> Iterator[list[Entry]]:
    while some := list(islice(entries, _AT_ONCE)):
        yield some
