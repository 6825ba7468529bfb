"""The listed URLs, asked for one after the other, and what their answers show."""

from __future__ import annotations

import datetime as dt
import time
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from django_sitemaps_plus.publishing.build import Progress

from .entries import Entry
from .findings import Findings
from .listed import Document
from .rules.answers import Answer, problems_of, problems_of_image
from .rules.urls import Problem

#: So many failures in a row are the site's or the network's; so often a rest is taken.
_MOST = 3
#: The most seconds to wait for a site that wants a rest.
_LONGEST = 120

#: Returns the answer to a GET request for a URL of the site.
Fetch = Callable[[str], Answer]


class Stopped(Exception):
    """The site does not answer, or not now: nothing more is asked for."""


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
    now: dt.datetime
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

    def ask(self, wanted: Iterable[tuple[Document, Entry]], total: int) -> None:
        """Fetch URLs; raises ``Stopped`` if the site does not answer, or not now."""
        self.total = total
        for page, entry in wanted:
            answer = self._answer(entry.location)
            self._note(page, entry, problems_of(entry.location, answer, self.now))
            if not answer.failure:
                times = self.seconds.setdefault(page.section, array("d"))
                times.append(answer.seconds)
            self.done += 1
            self.progress(self.done, self.total)
            self._failed = self._failed + 1 if answer.failure else 0
            if self._failed == _MOST:
                if answer.status:
                    why = f"{_MOST} URLs in a row were refused ({answer.failure})"
                    raise Stopped(why)
                raise Stopped(f"No answer to {_MOST} URLs in a row")
            # Where the page cannot be reached, nothing is said of its image.
            for image in self._new_images(entry) if not answer.failure else ():
                problems = problems_of_image(image, self._answer(image))
                self._note(page, entry, problems)

    def _note(self, page: Document, entry: Entry, problems: Iterable[Problem]) -> None:
        for kind, text in problems:
            self.findings.add(
                kind, page.section, page=page.name, url=entry.location, text=text
            )

    def _new_images(self, entry: Entry) -> Iterator[str]:
        """Yield the first image of an entry, if it is the site's and a new one."""
        host = "/".join(entry.location.split("/", 3)[:3])
        for image in entry.images[: self.fetches_images]:
            if image.startswith(f"{host}/") and image not in self._images:
                self._images.add(image)
                yield image

    def _answer(self, url: str) -> Answer:
        """Fetch a URL, again when the site wants that."""
        for _ in range(_MOST):
            self.pace.wait()
            answer = self.fetch(url)
            if not answer.wait:
                return answer
            if answer.wait > _LONGEST:
                break
            time.sleep(answer.wait)
        raise Stopped(
            f"{url} answers {answer.status} and asks for {answer.wait:,.0f} seconds of "
            "rest (Retry-After)"
        )
