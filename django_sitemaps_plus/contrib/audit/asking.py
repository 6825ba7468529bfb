"""Requests the listed URLs one after the other, and collects what the answers show."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from django_sitemaps_plus.sitemaps.tenants import configured

from .entries import Entry
from .findings import Findings
from .listed import ListedDocument
from .rules import Answered, FetchedAnswer, Problem, Visit, look
from .rules.answers import problems_of_image

#: So many failures in a row are the site's or the network's; so often a rest is taken.
_MOST = 3
#: The most seconds to wait for a site that wants a rest.
_LONGEST = 120

#: Takes how much is done, and of how much.
Progress = Callable[[int, int], object]
#: Returns the answer to a GET request for a URL of the site.
Fetch = Callable[[str], FetchedAnswer]


class Stopped(Exception):
    """The site does not answer, or not now: nothing more is asked for."""


class RestWanted(Stopped):
    """The site wants fewer requests."""


class Pace:
    """No more than ``rate`` requests a second; None: as many as there can be."""

    def __init__(self, rate: float | None) -> None:
        self._rate = rate
        self._due = time.monotonic()

    def wait(self) -> None:
        """Wait until the next request may be sent."""
        if self._rate is not None:
            time.sleep(max(0.0, self._due - time.monotonic()))
            self._due = max(self._due, time.monotonic()) + 1 / self._rate


@dataclass
class Asking:
    """Fetches URLs, and notes what their answers show."""

    findings: Findings
    fetch: Fetch
    visit: Visit
    pace: Pace
    #: Whether files are served where URLs are fetched.
    fetches_images: bool
    progress: Progress
    #: How long answers took, by section.
    seconds: dict[str, array[float]] = field(default_factory=dict)
    #: How many URLs were asked for, and of how many.
    done: int = 0
    total: int = 0
    _failed: int = 0
    _images: set[str] = field(default_factory=set)

    def ask(self, wanted: Iterable[tuple[ListedDocument, Entry]], total: int) -> None:
        """Fetch URLs; raises ``Stopped`` if the site does not answer, or not now."""
        self.total = total
        try:
            self._ask(wanted)
        finally:
            for problem in look(self.visit):
                self.findings.note(problem)

    def _ask(self, wanted: Iterable[tuple[ListedDocument, Entry]]) -> None:
        for page, entry in wanted:
            answer = self._answer(entry.location)
            if answer.failure:
                # Too many requests are ours, and no fault of the page.
                _go_on(entry.location, answer)
            place = page.section, page.name
            seen = Answered(self.visit, entry.location, answer, *place)
            self._note(page, entry, look(seen))
            if not answer.failure:
                self.seconds.setdefault(page.section, array("d")).append(answer.seconds)
            self.done += 1
            self.progress(self.done, self.total)
            _go_on(entry.location, answer)
            self._failed = self._failed + 1 if answer.failure else 0
            if self._failed == _MOST:
                if answer.status:
                    why = f"{_MOST} URLs in a row were refused ({answer.failure})"
                    raise RestWanted(why)
                raise Stopped(f"No answer to {_MOST} URLs in a row")
            # Where the page cannot be reached, nothing is said of its image.
            for image in self._new_images(entry) if not answer.failure else ():
                answer = self._answer(image)
                self._note(page, entry, problems_of_image(image, answer))
                _go_on(image, answer)

    def _note(
        self, page: ListedDocument, entry: Entry, problems: Iterable[Problem]
    ) -> None:
        for problem in problems:
            own = problem._replace(url=entry.location)
            self.findings.note(own, page.section, page.name)

    def _new_images(self, entry: Entry) -> Iterator[str]:
        """Yield the first image of an entry, if it is the site's and a new one."""
        host = "/".join(entry.location.split("/", 3)[:3])
        for image in entry.images[: self.fetches_images]:
            if image.startswith(f"{host}/") and image not in self._images:
                self._images.add(image)
                yield image

    def _answer(self, url: str) -> FetchedAnswer:
        """Fetch a URL, again when the site wants that, unless that lasts too long."""
        for left in reversed(range(_MOST)):
            self.pace.wait()
            answer = self.fetch(url)
            if not (left and 0 < answer.wait <= _LONGEST):
                break
            time.sleep(answer.wait)
        return answer


def _go_on(url: str, answer: FetchedAnswer) -> None:
    """Raise ``Stopped`` if a site asks for rest all the same."""
    if answer.wait:
        why = (
            f"{url} answers {answer.status} and asks for {answer.wait:,.0f} seconds of "
            "rest (Retry-After)"
        )
        raise RestWanted(why) if answer.failure else Stopped(why)


def coming_back() -> AbstractContextManager[object]:
    """Make the current tenant current again after a request, which chooses its own."""
    tenants = configured()
    return nullcontext() if tenants is None else tenants.active(tenants.current())
