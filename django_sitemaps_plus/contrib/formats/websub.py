"""
WebSub: tell a hub that feeds have changed, for crawlers that subscribe to them.

https://www.w3.org/TR/websub/#publishing leaves publishing to hubs; this is the request
that Google's hub and others take: https://pubsubhubbub.appspot.com/. The hub then reads
the feed, which names the hub in turn.
"""

from __future__ import annotations

import re
import urllib.parse
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import ClassVar
from xml.parsers import expat

from django_sitemaps_plus.engines import http
from django_sitemaps_plus.engines.addresses import Target, check_url
from django_sitemaps_plus.engines.base import (
    Answer,
    Batch,
    CheckResult,
    Engine,
    OptionError,
    Outcome,
    TransportError,
)
from django_sitemaps_plus.engines.http import explained

#: The hub of Google, whose crawlers subscribe to feeds there.
_HUB = "https://pubsubhubbub.appspot.com/"
#: The most bytes of a feed that the check reads.
_LIMIT = 5_000_000


@dataclass(frozen=True, kw_only=True)
class WebSub(Engine):
    """Publish feeds that changed to a hub; any 2xx status is a success."""

    name: ClassVar[str] = "WebSub"
    max_urls: ClassVar[int] = 100

    #: The feeds: paths on the site, or URLs.
    feeds: Sequence[str] = ("/sitemap.atom",)
    #: The URL of the hub.
    hub: str = _HUB

    def __post_init__(self) -> None:
        """
        Check the options.

        Raises:
            OptionError: One of them is invalid.
        """
        super().__post_init__()
        check_url("hub", self.hub)
        if not isinstance(self.feeds, (list, tuple)) or not self.feeds:
            problem = f"is {self.feeds!r}; use a list of paths, as ['/feed.atom']."
            raise OptionError("feeds", problem)
        for feed in self.feeds:
            is_url = isinstance(feed, str) and feed.startswith(("https://", "http://"))
            if is_url:
                check_url("feeds", feed, plain=True)
            elif not isinstance(feed, str) or not re.fullmatch(r"/(?!/)[!-~]*", feed):
                problem = f"has {feed!r}; use a path, for example '/feed.atom'."
                raise OptionError("feeds", problem)

    def feeds_of_site(self) -> Sequence[str]:
        """Return the feeds to submit after a change."""
        return self.feeds

    def submit(self, batch: Batch) -> Answer:
        """Publish feeds."""
        form = [("hub.mode", "publish"), *(("hub.url", url) for url in batch.urls)]
        response = http.send(
            "POST",
            self.hub,
            headers={"Content-Type": "application/x-www-form-urlencoded"},
            body=urllib.parse.urlencode(form).encode(),
            timeout=self.timeout,
        )
        name = Target.parse(self.hub).authority
        outcome, message = explained(response, name, "the feeds", option="hub")
        # One feed that the hub cannot read may be to blame.
        is_divisible = outcome == Outcome.REJECTED
        return self._answer_to(response, outcome, message, is_divisible=is_divisible)

    def check(self, origin: str, *, force: bool = False) -> list[CheckResult]:
        """Check that each feed can be read and names the hub, and itself."""
        return [self._check_feed(origin, feed, force=force) for feed in self.feeds]

    def _check_feed(self, origin: str, feed: str, *, force: bool) -> CheckResult:
        url = f"{origin}{feed}" if feed.startswith("/") else feed
        try:
            response = http.send(
                "GET",
                url,
                timeout=self.timeout,
                limit=_LIMIT,
                plain=True,
                public=not force,
            )
        except TransportError as error:
            return CheckResult.bad(str(error), "Make the feed reachable.")
        if response.status != 200:
            text = f"The feed {feed} answers with status {response.status}."
            return CheckResult.bad(text, "Correct 'feeds'.")
        links = _links(response.body)
        if ("hub", self.hub) not in links:
            text = f"The feed {feed} has no link to the hub {self.hub}."
            return CheckResult.bad(
                text, f'Add <link rel="hub" href="{self.hub}"/> to it.'
            )
        if not any(rel == "self" for rel, _ in links):
            text = f"The feed {feed} has no link to itself."
            return CheckResult.bad(text, 'Add <link rel="self" href="…"/> to it.')
        return CheckResult.good(f"The feed {feed} names the hub.")


def _links(feed: bytes) -> set[tuple[str, str]]:
    """Return the relation and the address of each link in a feed."""
    links: set[tuple[str, str]] = set()

    def see(name: str, attributes: dict[str, str]) -> None:
        if name.rpartition(":")[2] == "link":
            rels, href = attributes.get("rel", ""), attributes.get("href", "")
            links.update((rel, href) for rel in rels.split())

    parser = expat.ParserCreate()
    parser.StartElementHandler = see
    # Entities of the feed's own may expand without end.
    parser.EntityDeclHandler = _refuse
    # Hubs read a feed up to what is not well-formed, if at all.
    with suppress(expat.ExpatError, LookupError, ValueError):
        parser.Parse(feed, True)
    return links


def _refuse(*declared: object) -> None:
    raise ValueError("a feed has no entities of its own")
