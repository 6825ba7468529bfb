"""The crawler's view: who asks the site over the network, and what is stored of it."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from django_sitemaps_plus.audit import queries
from django_sitemaps_plus.audit.crawl import AGENTS, Client, Crawl
from django_sitemaps_plus.audit.kinds import ERROR, SITEMAP_DISALLOWED
from django_sitemaps_plus.audit.models import Audit, Finding
from django_sitemaps_plus.audit.rules.answers import Answer
from django_sitemaps_plus.engines.base import CheckResult
from django_sitemaps_plus.engines.errors import TransportError
from django_sitemaps_plus.engines.http import USER_AGENT, families, send
from django_sitemaps_plus.protocol.limits import MAX_BYTES
from django_sitemaps_plus.publishing.build import Progress
from django_sitemaps_plus.sitemaps.site import SiteAddress

#: Seconds for each request and for all, where somebody waits for the short view.
_SHORT, _SHORT_IN_ALL = 10.0, 20.0
#: Seconds for each request of the whole view.
_LONG = 30.0


def check(
    site: SiteAddress, *, private: bool, closed: bool = False
) -> list[CheckResult]:
    """
    Check how the sitemap arrives, by about eight requests, and store the result.

    ``private`` allows private addresses, and ``closed`` robots.txt to disallow it.
    """
    crawl = _crawl(site, _SHORT, private=private)
    crawl.seconds, crawl.most = _SHORT_IN_ALL, 1
    crawl.ignored = (SITEMAP_DISALLOWED,) if closed else ()
    audit, findings = _stored(crawl)
    results = [_result(finding) for finding in findings]
    agents = dict.fromkeys(one.agent for one in crawl.clients)
    over = " and ".join(dict.fromkeys(one.family for one in crawl.clients))
    who = f"asked for as {', '.join(agents)}, over {over}"
    numbers = f"errors: {audit.errors:,}, warnings: {audit.warnings:,}"
    text = f"The sitemap was {who if agents else 'not asked for'} ({numbers})."
    text = f"{text} {audit.missed}".strip()
    return [CheckResult(is_good=bool(agents), text=text), *results]


def _result(finding: Finding) -> CheckResult:
    about = finding.about
    fix = f"{about.fix[0].upper()}{about.fix[1:]}. {about.see}"
    text = f"{finding.url}: {finding.text}."
    if finding.level == ERROR:
        return CheckResult.bad(text, fix)
    return CheckResult(is_good=True, text=f"Warning: {text}", fix=fix)


def look(
    site: SiteAddress, *, rate: float, most: int | None, progress: Progress
) -> tuple[Audit, Sequence[Finding]]:
    """
    Read all files of the index too, or ``most`` of them, and store what is wrong.

    At ``rate`` requests a second; private addresses are allowed.
    """
    crawl = _crawl(site, _LONG, private=True)
    crawl.rate, crawl.most, crawl.progress = rate, most, progress
    return _stored(crawl)


def _stored(crawl: Crawl) -> tuple[Audit, Sequence[Finding]]:
    audit, findings = crawl.run()
    queries.store(audit, findings)
    return audit, findings


def _crawl(site: SiteAddress, timeout: float, *, private: bool) -> Crawl:
    def ask(url: str, client: Client) -> Answer:
        headers = {
            # It ends with our own name, so that nobody counts it as a crawler.
            "User-Agent": f"{AGENTS[client.agent]} {USER_AGENT}",
            "Accept": "*/*",
            "Accept-Encoding": "gzip",
        }
        try:
            answer = send(
                "GET",
                url,
                headers=headers,
                timeout=timeout,
                limit=MAX_BYTES,
                plain=True,
                public=not private,
                family=client.family,
            )
        except TransportError as error:
            return Answer(0, failure=str(error))
        return Answer(
            answer.status,
            answer.headers,
            answer.body,
            flaw=answer.flaw,
            valid=answer.valid,
        )

    try:
        known = families(urlsplit(str(site.origin)).hostname or "", timeout)
    except TransportError:
        known = ["IPv4"]  # the first request says what is wrong with the name
    return Crawl(site, ask, known)
