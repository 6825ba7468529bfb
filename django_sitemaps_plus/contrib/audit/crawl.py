"""
The crawler's view: robots.txt and the sitemaps, read from outside and from the top.

What arrives is compared with what this process would send for the same address. So a
difference is made by what stands between: a proxy, a cache, a firewall, another view,
another host, another database.
"""

from __future__ import annotations

import math
import secrets
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Final, NamedTuple

from django.conf import settings as django_settings

from django_sitemaps_plus import hooks
from django_sitemaps_plus.exceptions import ConfigurationError, SitemapsPlusError
from django_sitemaps_plus.protocol.robots import sitemaps_of
from django_sitemaps_plus.serving import index
from django_sitemaps_plus.serving.documents import Document, page_or_former
from django_sitemaps_plus.serving.robots import others_in_robots
from django_sitemaps_plus.sitemaps.sections import SectionSource
from django_sitemaps_plus.sitemaps.site import SiteAddress

from .asking import Pace, Progress
from .copies import Known
from .entries import Entry
from .findings import Findings
from .models import Audit, Finding
from .rules import Answered, Arrived, FetchedAnswer, Problem, Visit, arrivals, look
from .rules.answers import MOVED
from .rules.arrivals import NOT_SERVED, OTHER_SITEMAPS, Unusable
from .rules.crawlers import difference_for, repeated_at, twins, unknown_answered
from .rules.robots import decode
from .web_pages import url_of_reference

#: Who asks, with the names that crawlers publish; and a browser.
AGENTS: Final = {
    "Googlebot": (
        "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
    ),
    "bingbot": (
        "Mozilla/5.0 (compatible; bingbot/2.0; +http://www.bing.com/bingbot.htm)"
    ),
    "a browser": (
        "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) "
        "Chrome/140.0.0.0 Safari/537.36"
    ),
}
#: Redirects that are followed: https://www.rfc-editor.org/rfc/rfc9309#section-2.3.1.2
_REDIRECTS = 5
#: Requests in a row without an answer after which a family is given up.
_FAILURES = 3
#: Other sitemaps of the host that robots.txt names and that are looked at.
_OTHERS = 3
#: How often a file is compared that changes while it is asked for.
_TRIES = 3


class Client(NamedTuple):
    """Who asks, of ``AGENTS``, and over which family of addresses."""

    agent: str
    #: "IPv4" or "IPv6".
    family: str

    def __str__(self) -> str:
        return f"as {self.agent} over {self.family}"


class _TimeIsUpError(Exception):
    """All that was allowed in all has been used."""


@dataclass
class Crawl:
    """One walk from robots.txt to the files of the index."""

    site: SiteAddress
    #: Returns the answer to a GET request, redirects not followed.
    ask: Callable[[str, Client], FetchedAnswer]
    #: The families that the host has addresses of.
    families: Sequence[str]
    #: Seconds for all of it, and requests a second; None: no limit.
    seconds: float = math.inf
    rate: float | None = None
    #: How many files of the index are read, by turns by all clients; None: all.
    most: int | None = None
    progress: Progress = lambda done, of: None
    #: Kinds of findings that are passed over, beside those that are silenced.
    ignored: Sequence[str] = ()
    #: What is wrong with which address, and who met it; None: whoever asks.
    _noted: dict[tuple[str, Problem], set[Client | None]] = field(default_factory=dict)
    #: Who asked for which address, in this order.
    _asked: dict[str, dict[Client, None]] = field(default_factory=dict)
    _missed: list[str] = field(default_factory=list)
    #: Why a text that arrived is not the expected one.
    _compared: dict[tuple[str, int], list[Problem]] = field(default_factory=dict)
    #: Families over which nothing is asked any more, and requests in a row that failed.
    _given_up: set[str] = field(default_factory=set)
    _failures: int = 0
    #: The addresses of the sitemap, and the files of its index.
    _own: list[str] = field(default_factory=list)
    _places: dict[str, tuple[str, int]] = field(default_factory=dict)
    _files: list[str] = field(default_factory=list)
    _pages: dict[str, tuple[SectionSource, int]] = field(default_factory=dict)
    #: The first web page of the site that arrived.
    _web_page: Answered | None = None

    def run(self) -> tuple[Audit, list[Finding]]:
        """Return how the sitemaps arrive, and what is wrong; it is not stored yet."""
        started, self._pace = time.time(), Pace(self.rate)
        self._end = time.monotonic() + self.seconds
        try:
            self._places = index.index_places(self.site)
            self._own = list(self._places)
        except ConfigurationError:
            problem = Problem(NOT_SERVED, "the project's URLconf has no sitemap")
            self._note(str(self.site.origin), problem)
        try:
            if self._own:
                self._walk()
        except _TimeIsUpError:
            self._miss(f"Some files were not read within {self.seconds:g} seconds.")
            # How many files there are: not all were read.
            self._files = self._files or [*index.page_places(self.site)]
        findings = self._findings()
        there = [*self._own, *self._files]
        audit = Audit(
            started_at=started,
            finished_at=time.time(),
            fetched=Audit.Fetched.CRAWLED,
            urls=len(there),
            fetched_urls=len(set(there).intersection(self._asked)),
            missed=" ".join(self._missed),
        )
        audit.add_up(findings.by_kind())
        return audit, findings.sorted()

    @property
    def clients(self) -> list[Client]:
        """Who asked for the sitemap, in this order; the time may have been over."""
        return list(self._asked.get(self._own[0], ())) if self._own else []

    def _walk(self) -> None:
        first, *others = self.families
        clients = [Client(agent, first) for agent in AGENTS]
        clients += [Client("Googlebot", family) for family in others]
        for client in clients:
            if client.agent == "Googlebot":
                self._robots(client)
        arrived = [self._sitemap(self._own[0], client) for client in clients]
        gz = f"{self._own[0]}.gz"
        # What is published has one form.
        is_served = hooks.changes_wait() is None
        if is_served and (looked := self._look(gz, clients[0])):
            self._note(gz, *look(Arrived(gz, *looked, arrivals.GZ)))
        more = self._own[1:] if self.most is None else []
        arrived += [self._sitemap(url, clients[0]) for url in more]
        found = (one for some in arrived for one in some if one.is_sitemap)
        locations = dict.fromkeys(one.location for one in found)
        host = self.site.origin.host
        self._files = [one for one in locations if arrivals.origin_of(one)[1] == host]
        if self._files:
            self._pages = index.page_places(self.site)
        chosen = self._files[: self.most]
        for done, url in enumerate(chosen):
            arrived.append(self._sitemap(url, clients[done % len(clients)]))
            self.progress(done + 1, len(chosen))
        # Somebody waits for the short view.
        if self.rate is not None:
            self._pages_as_crawlers(arrived, first)

    def _pages_as_crawlers(
        self, arrived: Sequence[Sequence[Entry]], family: str
    ) -> None:
        """Fetch some pages of each section as a browser and as crawlers do."""
        listed = {one.location for some in arrived for one in some}
        visit = Visit(datetime.now(UTC))
        unknown = f"{self.site.origin}{self.site.prefix}sitemaps-plus/no-such-page/"
        got = self._paced(unknown, Client("a browser", family))
        self._note(unknown, *unknown_answered(Answered(visit, unknown, got)))
        pages = index.page_places(self.site).values()
        for source, number in [place for place in pages if place[1] == 1]:
            with suppress(SitemapsPlusError):
                page = page_or_former(source, number, self.site)
                own = arrivals.arrived_entries(page.body) if page else []
                there = [one.location for one in own if one.location in listed]
                for url in {*there[:1], *there[-1:]}:
                    self._note(url, *self._as_crawlers(url, visit, family))
        if (web_page := self._web_page) is None:
            return
        # Last: nobody has to answer there.
        for url in twins(web_page.url):
            self._failures = 0
            got = self._paced(url, Client("a browser", family))
            self._note(url, *repeated_at(Answered(visit, url, got), web_page))

    def _as_crawlers(self, url: str, visit: Visit, family: str) -> Iterator[Problem]:
        """Yield how a page differs for crawlers; some differs each time."""
        first, *crawlers, last = [
            Answered(visit, url, self._paced(url, Client(agent, family)))
            for agent in ("a browser", *AGENTS)
        ]
        if first.is_whole and "html" in first.answer.media_type:
            self._web_page = self._web_page or first
        for agent, one in zip(AGENTS, crawlers, strict=False):
            yield from difference_for(agent, one, [first, last])

    # Asking

    def _answer(self, url: str, client: Client) -> FetchedAnswer:
        """
        Return the answer at the end of redirects.

        Raises ``Unusable`` if they do not end, or lead elsewhere.
        """
        way = [url]
        while True:
            answer = self._paced(way[-1], client)
            target = answer.headers.get("location", "")
            if not (300 <= answer.status < 400 and target):
                return answer
            target = url_of_reference(way[-1], target)
            if arrivals.origin_of(target) != arrivals.origin_of(url):
                raise Unusable(MOVED, f"redirects to {target} ({answer.status})")
            if target in way or len(way) > _REDIRECTS:
                raise Unusable(MOVED, f"redirects to {target} again and again")
            way.append(target)

    def _paced(self, url: str, client: Client) -> FetchedAnswer:
        if time.monotonic() > self._end:
            raise _TimeIsUpError
        self._pace.wait()
        self._asked.setdefault(url, {})[client] = None
        answer = self.ask(url, client)
        self._failures = self._failures + 1 if answer.failure else 0
        if self._failures >= _FAILURES:
            self._give_up(client, "it did not answer")
        return answer

    def _give_up(self, client: Client, why: str) -> None:
        self._given_up.add(client.family)
        self._miss(f"Some files were not read over {client.family}: {why}.")

    def _look(self, url: str, client: Client) -> tuple[FetchedAnswer, bytes] | None:
        """Request a file, and note what went wrong on its way; None if it is lost."""
        if client.family in self._given_up:
            return None
        try:
            answer = self._answer(url, client)
            body = arrivals.text_of_answer(url, answer)
        except Unusable as error:
            if "Network is unreachable" in str(error):
                self._give_up(client, "this machine has no route to it")
            else:
                self._note(url, error.problem, by=client)
            return None
        return answer, body

    # Judging

    def _robots(self, client: Client) -> None:
        url = f"{self.site.origin}/robots.txt"
        looked = self._look(url, client)
        if looked is None:
            return
        answer, body = looked
        ours = [*self._own, *others_in_robots(self.site)]
        problems = [*look(Arrived(url, answer, body, arrivals.TEXT))]
        problems += arrivals.of_robots(body, self._own, ours)
        self._note(url, *problems, by=client)
        others = [
            one
            for one in sitemaps_of(decode(body))
            if one not in ours and one.startswith(f"{self.site.origin}/")
        ]
        for other in others[:_OTHERS]:
            try:
                arrivals.text_of_answer(other, self._answer(other, client))
            except Unusable as error:
                text = f"names {other}, which {error}"
                self._note(url, Problem(OTHER_SITEMAPS, text), by=client)

    def _sitemap(self, url: str, client: Client) -> list[Entry]:
        """Look at a sitemap, and return what it lists; nothing of other systems'."""
        looked = self._look(url, client)
        if looked is None or (url not in self._own and url not in self._pages):
            return []
        answer, body = looked
        try:
            entries = arrivals.arrived_entries(body)
            types = arrivals.GZ if url.endswith(".gz") else arrivals.XML_TYPES
            problems = [*look(Arrived(url, answer, body, types))]
            expected = self._expected(url)
            if expected is not None and body != expected.body:
                place = url, hash(body)
                if place not in self._compared:
                    different = self._difference(url, client, answer, entries)
                    self._compared[place] = list(different)
                problems += self._compared[place]
        except Unusable as error:
            entries, problems = [], [error.problem]
        self._note(url, *problems, by=client)
        return entries

    def _expected(self, url: str) -> Document | None:
        """Return what this process would send; None where that cannot be known."""
        try:
            if url in self._places:
                name, part = self._places[url]
                sources = index.usable([name]) if name else index.usable()
                return index.document_of(name, sources, self.site, part)
            if url in self._pages:
                return page_or_former(*self._pages[url], self.site)
        except SitemapsPlusError as error:
            self._miss(f"{url} was not compared: {error}")
        return None

    def _difference(
        self, url: str, client: Client, answer: FetchedAnswer, entries: Sequence[Entry]
    ) -> Iterator[Problem]:
        """Yield why another sitemap arrives than this process would send."""
        for _ in range(_TRIES):
            expected = self._expected(url)
            if expected is None:
                return
            wanted = arrivals.arrived_entries(expected.body)
            # A comment or another end of lines is no difference.
            if set(entries) == set(wanted):
                return
            if strange := arrivals.of_content(entries, wanted):
                yield strange
                return
            age = self._known(url, expected).age_of(answer, entries, wanted)
            if (every := hooks.changes_wait()) is not None:
                since = time.time() if age.since is None else age.since
                if time.time() - since < 2 * every:
                    self._miss(
                        f"{url} was not compared: it is not due to be published."
                    )
                    return
            # No cache has an answer for this address.
            unknown = f"{url}?sitemaps-plus={secrets.token_hex(8)}"
            there = self._answer(unknown, client)
            body = arrivals.text_of_answer(url, there)
            is_right = set(arrivals.arrived_entries(body)) == set(wanted)
            again = None if is_right else self._expected(url)
            if is_right or (again is not None and again.body == expected.body):
                # But for one that ignores the query.
                by_cache = is_right or arrivals.is_from_cache(there)
                by_cache_or_us = by_cache or arrivals.is_sent_by_django(there)
                difference = arrivals.of_difference(entries, wanted)
                is_copy = age.is_former and by_cache_or_us
                if not is_copy and not (age.may_be and by_cache):
                    yield difference
                    return
                if age.since is None and "age" not in answer.headers:
                    self._miss(
                        f"{url} comes from a cache and is out of date: "
                        f"{difference.text}."
                    )
                yield from arrivals.of_copy(answer, entries, wanted, age.since)
                return
        self._miss(f"{url} was not compared: it changed each time that it was read.")

    def _known(self, url: str, expected: Document) -> Known:
        """Return what is stored of the past of a document."""
        pages = self._pages or index.page_places(self.site)
        if url in pages:
            pages = {url: pages[url]}
        elif name := self._places[url][0]:
            pages = {
                one: place for one, place in pages.items() if place[0].name == name
            }
        return Known(expected, pages, self.site)

    # Noting

    def _miss(self, text: str) -> None:
        if text not in self._missed:
            self._missed.append(text)

    def _note(self, url: str, *problems: Problem, by: Client | None = None) -> None:
        for problem in problems:
            self._noted.setdefault((problem.url or url, problem), set()).add(by)

    def _findings(self) -> Findings:
        """Return each thing that was noted once, and who met it if not all did."""
        findings = Findings([*django_settings.SILENCED_SYSTEM_CHECKS, *self.ignored])
        for (url, problem), clients in self._noted.items():
            source, number = self._pages.get(url, (None, 0))
            page = f"{source.name}-{number}" if source else ""
            if clients < set(self._asked.get(url, ())):
                who = ", ".join(sorted(map(str, clients)))
                problem = problem._replace(text=f"{problem.text} ({who})")
            findings.note(problem._replace(url=url), page=page)
        return findings
