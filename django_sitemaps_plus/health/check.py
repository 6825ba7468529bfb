"""The check of everything that submissions need, over the network."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence

from django_sitemaps_plus import hooks
from django_sitemaps_plus.delivery.engines import check_site, engines, forced
from django_sitemaps_plus.engines import asking, own_files
from django_sitemaps_plus.engines.base import CheckResult
from django_sitemaps_plus.pagination.queries import row_of, sections
from django_sitemaps_plus.sitemaps.site import Site

from .alerts import Alert, errors, missing_tables, of_apps, own_alerts
from .figures import figures_by_section
from .unlooked import unaudited

#: What the results that concern the whole site are of.
_SITE = "site"


def check(
    aliases: Sequence[str], *, force: bool = False
) -> list[tuple[str, CheckResult]]:
    """
    Check everything that submissions need: of the site, and of some engines.

    Returns each result with what it is of: "site", a section, or an engine's alias;
    with the errors of ``alerts``. It asks the site and the engines over the network,
    which may take some seconds for each.
    """
    found = [(_SITE, one) for one in check_site(force=force)]
    site, missing = Site.current().address(), [*missing_tables()]
    if site is not None:
        origin = str(site.origin)
        seconds = CheckResult.TIMEOUT
        robots = own_files.check_live_robots(origin, timeout=seconds, private=force)
        crawling = forced(robots) if force else robots
        looked = {_SITE: [crawling]}
        for alias in aliases:
            looked[alias] = asking.check_engine(engines()[alias], origin, force=force)
        found += [(of, one) for of, some in looked.items() for one in some]
        if not missing:
            _remember(looked)
    # What keeps all from being submitted is among the results.
    for alias in [] if missing else aliases:
        found += [(alias, one) for one in figures_by_section(engines()[alias])]
    found += map(_wrong, missing or errors(own_alerts(aliases=aliases, refusal="")))
    began = time.time()
    # A copy that is not to be looked at, as --force would: robots.txt closes it, or its
    # address is private. What fails is looked at.
    if site is not None and (crawling.is_good or not forced(robots).is_good):
        # Last: who asks for the sitemap has what was never built be built.
        closed = not robots.is_good
        for one in hooks.checks(site, force=force, closed=closed, kind=CheckResult):
            if isinstance(one, hooks.Failed):
                one = CheckResult.bad(str(one))
            found.append((_SITE, one))
    # What was just looked at is among the results.
    former = [] if missing else errors(of_apps())
    found += [_wrong(alert) for alert in former if alert.since < began]
    if unlooked := unaudited():
        found.append((_SITE, CheckResult.warning(*unlooked)))
    return found


def _remember(looked: Mapping[str, Sequence[CheckResult]]) -> None:
    """Store what is wrong of that at which was looked just now, and only that."""
    row_of("")
    row, now = sections().get(name=""), time.time()
    for of, some in looked.items():
        # Without secrets: ``asking`` has removed them.
        texts = [f"{one.text} {one.fix}".strip() for one in some if not one.is_good]
        row.checked[of] = [[text, now] for text in texts]
    row.save(update_fields=["checked"])


def _wrong(alert: Alert) -> tuple[str, CheckResult]:
    fix = f"Run {alert.fix}." if alert.fix else ""
    return alert.name or _SITE, CheckResult.bad(alert.text, fix)
