"""The check of everything that submissions need, over the network."""

from __future__ import annotations

import time
from collections.abc import Sequence

from django_sitemaps_plus.delivery import guards
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.engines import asking
from django_sitemaps_plus.engines.base import CheckResult
from django_sitemaps_plus.sitemaps.site import Site

from .alerts import Alert, Subject, alerts, errors

#: What the results that concern the whole site are of.
SITE = "site"


def check(
    aliases: Sequence[str], *, force: bool = False
) -> list[tuple[str, CheckResult]]:
    """
    Check everything that submissions need: of the site, and of some engines.

    Returns each result with what it is of: ``SITE``, a section, or an engine's alias;
    with the errors of ``alerts``. It asks the site and the engines over the network,
    which may take some seconds for each.
    """
    # The admin imports this module when a process starts: not with it urllib3.
    from django_sitemaps_plus.engines import robots_check

    from . import crawler

    found = [(SITE, one) for one in guards.check(force=force)]
    site = Site.current().address()
    if site is not None:
        origin = str(site.origin)
        robots = robots_check.check(origin, timeout=5.0, private=force)
        crawling = guards.forced(robots) if force else robots
        found.append((SITE, crawling))
        for alias in aliases:
            checked = asking.check(engines()[alias], origin, force=force)
            found += [(alias, one) for one in checked]
    # What keeps all from being submitted is among the results; how the sitemaps arrive
    # is looked at anew.
    subjects = [subject for subject in Subject if subject is not Subject.CRAWLER]
    found += map(_wrong, errors(alerts(subjects, aliases=aliases, refusal="")))
    began = time.time()
    # A copy that is not to be looked at, as --force would: robots.txt closes it, or its
    # address is private. What fails is looked at.
    if site is not None and (crawling.is_good or not guards.forced(robots).is_good):
        # Last: like any request for the sitemap, it builds what was never built.
        arrived = crawler.check(site, private=force, closed=not robots.is_good)
        found += [(SITE, one) for one in arrived]
    former = errors(alerts([Subject.CRAWLER]))
    found += [_wrong(alert) for alert in former if alert.since < began]
    return found


def _wrong(alert: Alert) -> tuple[str, CheckResult]:
    fix = f"Run {alert.fix}." if alert.fix else ""
    wrong = CheckResult(is_good=False, text=alert.text, fix=fix)
    return alert.name or SITE, wrong
