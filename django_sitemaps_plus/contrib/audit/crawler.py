"""The crawler's view: who asks the site over the network, and what is stored of it."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import urlsplit

from django_sitemaps_plus.engines.base import CheckResult, TransportError
from django_sitemaps_plus.engines.http import USER_AGENT, families, send
from django_sitemaps_plus.protocol.limits import MAX_BYTES
from django_sitemaps_plus.sitemaps.site import SiteAddress

from . import queries
from .asking import Progress
from .crawl import AGENTS, Client, Crawl
from .kinds import ERROR
from .models import Audit, Finding
from .rules import FetchedAnswer, crawlers
from .rules.arrivals import SITEMAP_DISALLOWED

#: Seconds after which the short view, for which somebody waits, asks for no more.
_SHORT_IN_ALL = 20.0


def check_as_crawler(
    site: SiteAddress, *, private: bool, closed: bool = False
) -> list[CheckResult]:
    """
    Check how the sitemap arrives, by about eight requests, and store the result.

    ``private`` allows private addresses, and ``closed`` robots.txt to disallow it.
    """
    ignored = (SITEMAP_DISALLOWED,) if closed else ()
    crawl = _crawl(
        site, private=private, seconds=_SHORT_IN_ALL, most=1, ignored=ignored
    )
    audit, findings = crawl.run()
    queries.store(audit, [*findings, *_not_looked_at(audit)])
    results = [_result(finding) for finding in findings]
    agents = dict.fromkeys(one.agent for one in crawl.clients)
    over = " and ".join(dict.fromkeys(one.family for one in crawl.clients))
    who = f"asked for as {', '.join(agents)}, over {over}"
    text = (
        f"The sitemap was {who if agents else 'not asked for'}. {audit.missed}".strip()
    )
    return [CheckResult(is_good=bool(agents), text=text), *results]


def _not_looked_at(audit: Audit) -> Iterator[Finding]:
    """Yield what is known of pages since they were last fetched, and count it."""
    for former in queries.last_crawls()[:1]:
        kept = {
            one: former.counts[one] for one in crawlers.KINDS & former.counts.keys()
        }
        audit.add_up(audit.counts | kept)
        for finding in former.findings.filter(kind__in=crawlers.KINDS):
            finding.pk = None
            yield finding


def _result(finding: Finding) -> CheckResult:
    about = finding.about
    fix = f"{about.fix[0].upper()}{about.fix[1:]}. {about.see}"
    text = f"{finding.url}: {finding.text}."
    tell = CheckResult.bad if finding.level == ERROR else CheckResult.warning
    return tell(text, fix)


def crawl_and_store(
    site: SiteAddress, *, rate: float, most: int | None, progress: Progress
) -> tuple[Audit, Sequence[Finding]]:
    """
    Read all files of the index too, or ``most`` of them, and store what is wrong.

    At ``rate`` requests a second; private addresses are allowed.
    """
    crawl = _crawl(site, private=True, rate=rate, most=most, progress=progress)
    audit, findings = crawl.run()
    queries.store(audit, findings)
    return audit, findings


def answer_of(url: str, **options: Any) -> FetchedAnswer:
    """Ask for a URL over the network; a failure is part of the answer."""
    started = time.perf_counter()
    try:
        answer = send("GET", url, plain=True, **options)
    except TransportError as error:
        return FetchedAnswer(0, failure=str(error))
    return FetchedAnswer(
        answer.status,
        answer.headers,
        answer.body,
        seconds=time.perf_counter() - started,
        wait=(answer.retry_after or 0) if answer.status in (429, 503) else 0,
        flaw=answer.flaw,
        valid=answer.valid,
    )


def _crawl(site: SiteAddress, *, private: bool, **options: Any) -> Crawl:
    def ask(url: str, client: Client) -> FetchedAnswer:
        headers = {
            # It ends with our own name, so that nobody counts it as a crawler.
            "User-Agent": f"{AGENTS[client.agent]} {USER_AGENT}",
            "Accept": "*/*",
            "Accept-Encoding": "gzip",
        }
        return answer_of(
            url,
            headers=headers,
            timeout=CheckResult.TIMEOUT,
            limit=MAX_BYTES,
            public=not private,
            family=client.family,
        )

    try:
        known = families(urlsplit(str(site.origin)).hostname or "", CheckResult.TIMEOUT)
    except TransportError:
        known = ["IPv4"]  # the first request says what is wrong with the name
    return Crawl(site, ask, known, **options)
