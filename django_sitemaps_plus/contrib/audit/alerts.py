"""What the newest audits found, and what was not audited, as alerts."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace

from django.utils.translation import gettext

from django_sitemaps_plus.health.alerts import Alert
from django_sitemaps_plus.sitemaps.registry import registry

from .looks import Look, looks, names_of_sections
from .models import Audit

#: Seconds after which an audit says nothing of today.
_FRESH = 30 * 86_400
#: How an audit is run again, by its mode.
_OPTIONS: dict[str, str] = {
    Audit.Fetched.IN_PROCESS: " --fetch",
    Audit.Fetched.LIVE: " --live",
    Audit.Fetched.CRAWLED: " --live",
}


def alerts() -> Iterator[Alert]:
    """Yield what needs attention of the site's audits."""
    every = looks()
    yield from _audited(every)
    yield from _unlooked(every)


def _audited(every: Sequence[Look]) -> Iterator[Alert]:
    said: list[Audit] = []
    for look in _once(every):
        is_crawl = look.mode == Audit.Fetched.CRAWLED
        subject = Alert.Subject.CRAWLER if is_crawl else Alert.Subject.AUDIT
        fix = f"manage.py check_sitemaps{_OPTIONS.get(look.mode, '')}"
        if is_crawl and look.fetched_urls < look.urls:
            fix = "manage.py ping_sitemaps --check"
        for level in filter(look.number_of, (Alert.ERROR, Alert.WARNING)):
            text = gettext("The last audit of %(of)s found %(found)s. Seen: %(how)s.")
            values = {"of": look.of, "found": look.found(level), "how": look.how}
            yield Alert(
                subject=subject,
                level=level,
                text=text % values,
                since=look.audit.finished_at,
                fix=fix,
            )
        # One audit may have looked in two ways.
        if look.audit.missed and look.audit not in said:
            said.append(look.audit)
            fix = f"manage.py check_sitemaps{_OPTIONS.get(look.audit.fetched, '')}"
            text = gettext(
                "The last audit of %(of)s did not see everything: %(missed)s"
            )
            values = {"of": look.of, "missed": look.audit.missed}
            # That this host has no IPv6, say, is no fault of the site.
            level = Alert.NOTE if is_crawl else Alert.WARNING
            yield Alert(subject=subject, level=level, text=text % values, fix=fix)


def _once(every: Sequence[Look]) -> Iterator[Look]:
    """Yield looks, each without what another found too that fetched as much or more."""
    said = set[tuple[str, str]]()
    for look in sorted(every, key=lambda one: -one.fetched_urls):
        counts = {
            kind: Counter({n: some[n] for n in some if (kind, n) not in said})
            for kind, some in look.counts.items()
        }
        said.update((kind, name) for kind, some in counts.items() for name in some)
        yield replace(
            look, counts={kind: some for kind, some in counts.items() if some}
        )


def _unlooked(every: Sequence[Look]) -> Iterator[Alert]:
    """Yield what was not audited lately."""
    fresh = [one for one in every if one.audit.finished_at > time.time() - _FRESH]
    seen = {name for look in fresh for name in look.sections}
    missing = [name for name in registry.sources() if name not in seen]
    if missing:
        text = gettext("No audit of %s in the last 30 days.")
        fix = "manage.py check_sitemaps"
        text %= names_of_sections(missing)
        yield Alert(subject=Alert.Subject.AUDIT, level=Alert.NOTE, text=text, fix=fix)
    if not any(look.mode == Audit.Fetched.CRAWLED for look in fresh):
        text = gettext(
            "The sitemaps were not read as a crawler does in the last 30 days."
        )
        fix = "manage.py ping_sitemaps --check"
        yield Alert(subject=Alert.Subject.CRAWLER, level=Alert.NOTE, text=text, fix=fix)
