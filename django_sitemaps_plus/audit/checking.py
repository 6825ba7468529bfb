"""
The audit of documents: read once, entry by entry; a second time only where several
entries together are wrong, to name them.
"""

from __future__ import annotations

import datetime as dt
import random
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field

from django_sitemaps_plus.protocol.limits import MAX_BYTES, MAX_ENTRIES, MAX_NEWS

from . import kinds
from .findings import MOST, Findings, Found
from .listed import Document
from .repeats import Hashes
from .rules.alternates import Alternates
from .rules.elements import ALTERNATE, Block
from .rules.lastmods import Lastmods, old_news
from .rules.schema import blocks, unescaped
from .rules.urls import Problem, Urls

#: Called with how much is done, and of how much.
Progress = Callable[[int, int], object]


@dataclass
class Sample:
    """Some of many URLs, each as likely as any other; the same for the same seed."""

    most: int
    seed: int = 0
    #: The documents that list them, and the URLs.
    chosen: list[tuple[Document, str]] = field(default_factory=list)
    _seen: int = 0

    def __post_init__(self) -> None:
        self._random = random.Random(self.seed)  # noqa: S311 (not a secret)

    def see(self, document: Document, urls: Sequence[str]) -> None:
        """Choose among further URLs."""
        for url in urls:
            self._seen += 1
            if len(self.chosen) < self.most:
                self.chosen.append((document, url))
            elif (place := self._random.randrange(self._seen)) < self.most:
                self.chosen[place] = (document, url)


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
    #: How many entries there are.
    entries: int = 0
    lastmods: dict[str, Lastmods] = field(default_factory=dict)

    def check(
        self,
        documents: Sequence[Document],
        progress: Progress = lambda done, of: None,
    ) -> None:
        """Read all documents, and note what is wrong."""
        expected = sum(document.entries for document in documents)
        numbers = {name: number for number, name in enumerate(self.urls)}
        with Hashes(expected) as hashes, closing(Alternates()) as alternates:
            for done, document in enumerate(documents, 1):
                for block in self._blocks(document):
                    hashes.add(numbers[document.section], block.locations)
                    self._note(document, block, alternates)
                progress(done, len(documents))
            together = _together(hashes, alternates)
        if together:
            self._name(documents, together)

    def _blocks(self, document: Document) -> Iterator[Block]:
        """Yield the entries of a document; note what is wrong with it as a whole."""
        body = document.read()
        if not body:
            if document.page is not None:
                self._add(document, "", (kinds.NOT_BUILT, "no bytes that can be read"))
            return
        entries = news = 0
        for block in blocks(body, lambda url, text: self._schema(document, url, text)):
            entries += len(block.locations)
            news += len(block.news) - block.news.count("")
            if not block.is_index:
                self.entries += len(block.locations)
                yield block
        for what, count, most in (
            ("entries", entries, MAX_ENTRIES),
            ("news", news, MAX_NEWS),
            ("bytes", len(body), MAX_BYTES),
        ):
            if count > most:
                self._add(
                    document, "", (kinds.TOO_LARGE, f"{count:,} {what}, over {most:,}")
                )

    def _note(self, document: Document, block: Block, alternates: Alternates) -> None:
        """Note what is wrong with single entries, and remember what they have."""
        urls = block.locations
        name = document.section
        lastmods = self.lastmods.setdefault(
            name, Lastmods(self.now, self.per_item.get(name, 1))
        )
        for found in (
            self.urls[name].problems(urls),
            lastmods.problems(urls, block.lastmods),
            alternates.problems(urls, block.links),
        ):
            for url, problem in found:
                self._add(document, url, problem)
        for url, published in zip(urls, block.news, strict=True):
            if published and (text := old_news(published, self.now)):
                self._add(document, url, (kinds.OLD_NEWS, text))
        if document.read_at:
            lastmods.suspect(document.name, block.lastmods, document.read_at)
        if self.sample is not None:
            self.sample.see(document, urls)

    def _schema(self, document: Document, url: str, text: str) -> None:
        self._add(document, url, (kinds.NOT_A_SITEMAP, text))

    def _add(self, document: Document, url: str, problem: Problem) -> None:
        kind, text = problem
        self.findings.add(Found(kind, document.section, document.name, url, text))

    # What several entries have wrong together

    def _name(self, documents: Sequence[Document], together: _Together) -> None:
        """Find the URLs that are meant by their hashes, and note what is wrong."""
        places: dict[str, list[Document]] = {}
        links: dict[str, set[str]] = {}
        for document in documents:
            for block in self._again(document):
                for url, written in zip(block.locations, block.links, strict=True):
                    if hash(url) in together.hashes:
                        places.setdefault(url, []).append(document)
                        targets = links.setdefault(url, set())
                        targets.update(
                            unescaped(href) for _, href in ALTERNATE.findall(written)
                        )
        self._name_repeated(places, together)
        self._name_one_sided(places, links, together)

    @staticmethod
    def _again(document: Document) -> Iterator[Block]:
        for block in blocks(document.read()):
            if not block.is_index:
                yield block

    def _name_repeated(
        self, places: Mapping[str, list[Document]], together: _Together
    ) -> None:
        known: Counter[str] = Counter()
        for url, found in places.items():
            sections = Counter(document.section for document in found)
            first = found[0]
            for name, count in sections.items():
                if count > 1:
                    own = [one.name for one in found if one.section == name]
                    where = " and ".join(dict.fromkeys(own))
                    how = "twice" if count == 2 else f"{count:,} times"
                    text = f"listed {how}: on {where}"
                    kind = kinds.REPEATED
                    self.findings.add(Found(kind, name, own[0], url, text))
                    known[kind] += 1
            if len(sections) > 1:
                others = [one.name for one in found if one.section != first.section]
                text = f"also on {' and '.join(dict.fromkeys(others))}"
                kind = kinds.SHARED
                self.findings.add(Found(kind, first.section, first.name, url, text))
                known[kind] += 1
        for kind, count in together.counts.items():
            self.findings.more(kind, "", max(0, count - known[kind]))

    def _name_one_sided(
        self,
        places: Mapping[str, list[Document]],
        links: Mapping[str, set[str]],
        together: _Together,
    ) -> None:
        for source in places:
            for target in sorted(links[source]):
                is_meant = hash(source) in together.one_sided.get(hash(target), ())
                if is_meant and source not in links.get(target, {source}):
                    self._add(
                        places[source][0],
                        source,
                        (kinds.NOT_RETURNED, f"{target} does not link back"),
                    )


@dataclass
class _Together:
    """Hashes of URLs that are wrong together; not of all, but all are counted."""

    repeated: set[int] = field(default_factory=set)
    #: How many there are of each kind.
    counts: Counter[str] = field(default_factory=Counter)
    #: The targets of links that do not link back, and who links to them.
    one_sided: dict[int, set[int]] = field(default_factory=dict)

    @property
    def hashes(self) -> set[int]:
        """All hashes of URLs that are to be named."""
        return self.repeated.union(self.one_sided, *self.one_sided.values())

    def __bool__(self) -> bool:
        return bool(self.repeated or self.one_sided)


def _together(hashes: Hashes, alternates: Alternates) -> _Together:
    """Return which URLs are there more than once, and which are not linked back."""
    found = _Together()
    one_sided = alternates.one_sided(hashes.count)
    for part, links in zip(hashes.parts(), one_sided, strict=True):
        within, shared = part.repeated()
        found.counts[kinds.REPEATED] += len(within)
        found.counts[kinds.SHARED] += len(shared)
        few = [*sorted(within)[:MOST], *sorted(shared)[:MOST]]
        found.repeated.update(few[: max(0, 2 * MOST - len(found.repeated))])
        for target in links.keys() & set(part.hashes):
            if len(found.one_sided) < MOST:
                found.one_sided[target] = links[target]
    return found
