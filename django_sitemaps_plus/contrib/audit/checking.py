"""
The audit of documents: read once, entry by entry; a second time only where several
entries together are wrong, to name them.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from django_sitemaps_plus.protocol.limits import MAX_BYTES, MAX_ENTRIES, MAX_NEWS

from .asking import Progress
from .entries import Entry, EntryBatch, Unreadable
from .findings import MOST_FINDINGS, Findings
from .listed import ListedDocument
from .rules import AuditedSection, Listed, Place, Problem, look, repeated
from .rules.alternates import named_differently, one_sided, plain_language
from .rules.documents import NOT_A_SITEMAP, NOT_BUILT, TOO_LARGE
from .together import Together, Wrong


@dataclass
class Sample:
    """Some of many URLs, each as likely as any other; the same for the same seed."""

    most: int
    seed: int = 0
    #: The documents that list them, and their entries.
    chosen: list[tuple[ListedDocument, Entry]] = field(default_factory=list)
    _seen: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311 (not a secret)

    def see(self, document: ListedDocument, batch: EntryBatch) -> None:
        """Choose among further entries."""
        for number in range(len(batch.urls)):
            self._seen += 1
            if len(self.chosen) < self.most:
                self.chosen.append((document, batch.entry(number)))
            elif (place := self._random.randrange(self._seen)) < self.most:
                self.chosen[place] = (document, batch.entry(number))


@dataclass
class Checking:
    """Checks documents one after the other."""

    findings: Findings
    sections: Mapping[str, AuditedSection]
    sample: Sample | None = None
    #: Whether these are all documents of the site.
    is_whole: bool = False
    #: How many of them were read to the end.
    read: int = 0
    #: URLs of which none was seen yet.
    unseen: set[str] = field(default_factory=set)
    #: How many URLs each section lists.
    listed: Counter[str] = field(default_factory=Counter)

    def check(
        self,
        documents: Sequence[ListedDocument],
        progress: Progress = lambda done, of: None,
    ) -> None:
        """Read all documents, and note what is wrong."""
        with closing(Together()) as together:
            for done, document in enumerate(documents, 1):
                for some in self._entries(document):
                    self._note(document, some, together)
                self.read = done
                progress(done, len(documents))
            wrong = together.wrong(MOST_FINDINGS, is_whole=self.is_whole)
        named = Counter[str]()
        if (hashes := wrong.hashes) or wrong.ambiguous:
            for problem in self._name(documents, wrong, hashes):
                self.findings.note(problem)
                named[problem.kind] += 1
        for how, count in wrong.counts.items():
            kind = repeated.KINDS[how]
            self.findings.more(kind, "", max(0, count - named[kind]))

    def _entries(self, document: ListedDocument) -> Iterator[EntryBatch]:
        """Yield the entries of a document; note what is wrong with it as a whole."""
        body = document.read()
        if not body:
            if document.page is not None:
                text = "its stored bytes are missing or damaged"
                self._add(document, Problem(NOT_BUILT, text))
            return
        entries = news = 0
        try:
            for some in document.batches_of(body):
                entries += len(some.urls)
                news += sum(bool(entry.published) for entry in some.special)
                if some.lacking:
                    text = "an entry without <loc>"
                    self._add(document, Problem(NOT_A_SITEMAP, text))
                if some.urls and not some.is_index:
                    self.listed[document.section] += len(some.urls)
                    self.unseen.difference_update(some.urls)
                    yield some
        except Unreadable as error:
            self._add(document, Problem(NOT_A_SITEMAP, str(error).rstrip(".")))
        for what, count, most in (
            ("entries", entries, MAX_ENTRIES),
            ("news", news, MAX_NEWS),
            ("bytes", len(body), MAX_BYTES),
        ):
            if count > most:
                text = f"{count:,} {what}, over {most:,}"
                self._add(document, Problem(TOO_LARGE, text))

    def _note(
        self, document: ListedDocument, batch: EntryBatch, together: Together
    ) -> None:
        """Note what is wrong with some entries, and remember what they have."""
        section = self.sections[document.section]
        urls, lastmods, special, *_ = batch
        read_at = document.read_at
        seen = Listed(
            section, document.name, urls, lastmods, special, read_at, together
        )
        for problem in look(seen):
            self._add(document, problem)
        number = list(self.sections).index(document.section)
        together.add(~number if section.is_news else number, seen.urls, seen.text)
        if self.sample is not None:
            self.sample.see(document, batch)

    def _add(self, document: ListedDocument, problem: Problem) -> None:
        self.findings.note(problem, document.section, document.name)

    def _name(
        self, documents: Sequence[ListedDocument], wrong: Wrong, hashes: Collection[int]
    ) -> Iterator[Problem]:
        """Yield what several entries have wrong together, found by their hashes."""
        places: dict[str, list[Place]] = {}
        links: dict[str, set[str]] = {}
        languages: dict[str, dict[str, Place]] = {}
        for document in documents:
            is_news = self.sections[document.section].is_news
            place = Place(document.section, document.name, is_news)
            for entry in document.listed():
                url = entry.location
                for code, href in entry.alternates if wrong.ambiguous else ():
                    if (name := plain_language(code)) and hash(href) in wrong.ambiguous:
                        languages.setdefault(href, {}).setdefault(name, place)
                if hash(url) in hashes:
                    places.setdefault(url, []).append(place)
                    targets = links.setdefault(url, set())
                    targets.update(href for _, href in entry.alternates)
        yield from repeated.repeated_urls(places)
        yield from repeated.similar(places, wrong)
        yield from one_sided(places, links, wrong)
        yield from named_differently(languages)
