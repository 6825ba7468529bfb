"""Everything that somebody has to look at. Texts are in the active language."""

from __future__ import annotations

import enum
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from django.conf import settings as django_settings
from django.db.models import Count, Max, Min, QuerySet
from django.urls import NoReverseMatch
from django.utils.translation import gettext, ngettext

from django_sitemaps_plus.audit.kinds import ERROR, WARNING
from django_sitemaps_plus.audit.models import Audit
from django_sitemaps_plus.changes.models import Change
from django_sitemaps_plus.changes.queries import changes, url_changes
from django_sitemaps_plus.changes.url_changes import KEEP
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.delivery import documents, guards, outbox, published
from django_sitemaps_plus.delivery.engines import engines
from django_sitemaps_plus.delivery.models import Submission
from django_sitemaps_plus.delivery.queries import states, submissions, with_waiting
from django_sitemaps_plus.publishing import index, status
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import SectionSource, source
from django_sitemaps_plus.sitemaps.site import Site

from .answering import ROBOTS, others
from .audits import Look, looks, named
from .engines import LATE, EngineHealth, Health, all_engines
from .words import ago, number

#: Seconds after which an audit says nothing of today.
_FRESH = 30 * 86_400
#: How an audit is run again, by its mode.
_OPTIONS: dict[str, str] = {
    Audit.Fetched.IN_PROCESS: " --fetch",
    Audit.Fetched.LIVE: " --live",
    Audit.Fetched.CRAWLED: " --live",
}
#: The level of what nobody has looked at: it may be in order.
NOTE = "note"
#: Changes that are counted at most.
MOST = 10_000
#: Sections whose addresses are looked up, and addresses that an alert names.
_LOOKED, _NAMED = 100, 3


class Subject(enum.Enum):
    """What an alert is about."""

    SECTIONS = "sections"
    ENGINES = "engines"
    URLS = "URLs"
    AUDIT = "audit"
    CRAWLER = "crawler"


@dataclass(frozen=True, kw_only=True)
class Alert:
    """Something that somebody has to look at."""

    subject: Subject
    text: str
    #: ``ERROR``: something is not listed or not submitted until somebody acts.
    #: ``NOTE``: nobody has looked.
    level: str = ERROR
    #: Of which section, or of which engine by its alias; empty for the site.
    name: str = ""
    #: Since when, in seconds since the epoch; 0 if that is not known.
    since: float = 0.0
    #: How many changes, submissions or URLs wait because of it.
    waiting: int = 0
    #: The line to type; empty if the text says what to do.
    fix: str = ""

    @property
    def sentence(self) -> str:
        """What is wrong, and what to do."""
        return f"{self.text.rstrip('.')}: {self.fix}" if self.fix else self.text


def alerts(
    subjects: Collection[Subject] = tuple(Subject),
    *,
    aliases: Collection[str] | None = None,
    refusal: str | None = None,
) -> list[Alert]:
    """
    Return what needs attention, of some subjects or of all, and what nobody looked at.

    ``refusal`` is why nothing may be submitted; it is asked for where it is not given.
    Of engines, only those of ``aliases`` if given. Raises ``ConfigurationError`` for
    settings that cannot be used.
    """
    result: list[Alert] = []
    if Subject.SECTIONS in subjects:
        result += [*_unserved(), *_answered_by_others()]
        result += section_alerts(registry.sources())
        result += [*_unreported(), *away_alerts()]
    if Subject.ENGINES in subjects and engines():
        why = guards.refusal() if refusal is None else refusal
        chosen = [
            one
            for one in all_engines(why)
            if aliases is None or one.state.engine in aliases
        ]
        result += [*_refused(chosen, why), *engine_alerts(chosen), *_failed(chosen)]
        result += _unknown()
    if Subject.URLS in subjects:
        result += _on_hold()
    if {Subject.AUDIT, Subject.CRAWLER} & set(subjects):
        every = looks()
        audited = [*_audited(every), *_unlooked(every)]
        result += [alert for alert in audited if alert.subject in subjects]
    return result


def errors(some: Iterable[Alert]) -> list[Alert]:
    """Return those alerts for which a command ends with 1."""
    return [alert for alert in some if alert.level == ERROR]


def _unserved() -> Iterator[Alert]:
    """Yield that no URLconf has the sitemaps, unless W005 is silenced."""
    site = Site.current().address()
    is_meant = "sitemaps_plus.W005" in django_settings.SILENCED_SYSTEM_CHECKS
    if site is None or is_meant or not registry.sources():
        return
    try:
        index.address(site, "site")
    except NoReverseMatch:
        text = gettext(
            "No URLconf includes the addresses of the sitemaps. Add %(include)s to "
            "urlpatterns."
        )
        yield Alert(subject=Subject.SECTIONS, text=text % {"include": index.INCLUDE})


def _answered_by_others() -> Iterator[Alert]:
    """Yield which other views answer at the sitemaps' addresses, as W015 does."""
    is_meant = "sitemaps_plus.W015" in django_settings.SILENCED_SYSTEM_CHECKS
    if Site.current().address() is None or is_meant:
        return
    for view, answered in others(islice(registry.sources(), _LOOKED)).items():
        # One for robots.txt alone may be right: W016 asks it.
        if paths := [path for path in answered if path != ROBOTS]:
            text = gettext(
                "%(paths)s: %(view)s answers in place of the sitemaps, because it "
                "comes first in the URLconf. Put %(include)s at the beginning of "
                "urlpatterns."
            )
            more = ", …" if len(paths) > _NAMED else ""
            values = {"paths": ", ".join(paths[:_NAMED]) + more, "view": view}
            text %= {**values, "include": index.INCLUDE}
            yield Alert(subject=Subject.SECTIONS, text=text)


def section_alerts(names: Iterable[str]) -> Iterator[Alert]:
    """Yield which of some registered sections are not listed, or not as a whole."""
    stored = status.sums()
    for name in names:
        if problem := status.problem_of(name):
            text = gettext("Section '%(name)s' cannot be used: %(problem)s")
            yield _of_section(name, text, problem=problem)
        else:
            yield from _stored_alerts(source(name), stored.get(name))


def _stored_alerts(section: SectionSource, row: status.Sums | None) -> Iterator[Alert]:
    """Yield what is wrong with the stored pages of a section that can be used."""
    name, build = section.name, f"manage.py build_sitemaps {section.name}"
    row = status.stored_pages(section, row)
    if row is None:
        # One by position perhaps has too many pages to be stored.
        if section.key is not None:
            text = gettext("Section '%(name)s' was never built.")
            yield _of_section(name, text, fix=build)
        return
    if row.wrong:
        text = gettext("Section '%(name)s' is in error: %(problem)s")
        yield _of_section(name, text, problem=row.error)
    elif row.unbuilt == row.pages:
        text = gettext("Section '%(name)s' was never built.")
        yield _of_section(name, text, fix=build)
    elif row.unbuilt:
        text = gettext(
            "Section '%(name)s': %(count)s of its %(all)s pages were never built."
        )
        counts = {"count": number(row.unbuilt), "all": number(row.pages)}
        yield _of_section(name, text, fix=build, **counts)
    if not row.wrong and row.bad > get_settings().MAX_BAD * row.items:
        text = gettext(
            "Section '%(name)s': %(count)s of its %(all)s rows are left out, more than "
            "MAX_BAD allows."
        )
        counts = {"count": number(row.bad), "all": number(row.items)}
        yield _of_section(name, text, fix=f"manage.py check_sitemaps {name}", **counts)
    if row.lost:
        text = ngettext(
            "Section '%(name)s': the stored bytes of %(count)s page were missing or "
            "damaged within the last week, and were built again.",
            "Section '%(name)s': the stored bytes of %(count)s pages were missing or "
            "damaged within the last week, and were built again.",
            row.lost,
        )
        yield _of_section(name, text, WARNING, count=number(row.lost))


def _of_section(
    name: str, text: str, level: str = ERROR, fix: str = "", **values: str
) -> Alert:
    return Alert(
        subject=Subject.SECTIONS,
        level=level,
        name=name,
        text=text % {"name": name, **values},
        fix=fix,
    )


def _unreported() -> Iterator[Alert]:
    if late := count_late_changes():
        yield Alert(
            subject=Subject.SECTIONS,
            # Engines are not notified of what was not reported.
            level=ERROR if engines() else WARNING,
            text=late_changes(late),
            waiting=late,
            fix="manage.py ping_sitemaps",
        )


def away_alerts() -> Iterator[Alert]:
    """Yield what is old where caches, buckets and folders answer."""
    yield from _unpublished()
    yield from _unannounced()


def _unpublished() -> Iterator[Alert]:
    """Yield what is not in the storage of ``PUBLISH``, or not as it should be."""
    found = published.state()
    if found is None or (found.files and not found.failed):
        return
    text = gettext("Nothing was published to %(storage)s yet.")
    if found.failed:
        text = ngettext(
            "%(count)s file could not be published to %(storage)s: %(error)s",
            "%(count)s files could not be published to %(storage)s. One of them: "
            "%(error)s",
            found.failed,
        )
    values = {"count": number(found.failed), "storage": found.storage}
    yield Alert(
        subject=Subject.SECTIONS,
        text=text % {**values, "error": found.error},
        fix="manage.py build_sitemaps --publish",
    )


def _unannounced() -> Iterator[Alert]:
    """Yield that receivers of ``documents_changed`` have not taken what changed."""
    if count := documents.count_failed():
        text = ngettext(
            "%(count)s document changed, and a receiver of documents_changed failed: "
            "caches may have the former one. The log says why; all receivers are "
            "called again each minute.",
            "%(count)s documents changed, and a receiver of documents_changed failed: "
            "caches may have the former ones. The log says why; all receivers are "
            "called again each minute.",
            count,
        )
        yield Alert(
            subject=Subject.SECTIONS,
            text=text % {"count": number(count)},
            waiting=count,
        )


def count_late_changes() -> int:
    """Return how many changes have waited for long to be reported, up to ``MOST``."""
    return unreported().filter(at__lt=time.time() - LATE)[:MOST].count()


def unreported() -> QuerySet[Change]:
    """Return the changes of registered sections that wait to be reported."""
    names = list(registry.sources())
    return changes().filter(section__in=names, reported_at=None)


def late_changes(count: int) -> str:
    """Return in words how many changes have waited for long to be reported."""
    text = ngettext(
        "%(late)s change has waited for more than 15 minutes to be reported.",
        "%(late)s changes have waited for more than 15 minutes to be reported.",
        count,
    )
    return text % {"late": f"{number(count)}{'+' if count == MOST else ''}"}


def _refused(chosen: Sequence[EngineHealth], refusal: str) -> Iterator[Alert]:
    """Yield that nothing may be submitted: a warning while nothing waits."""
    if not refusal:
        return
    waiting = sum(one.waiting for one in chosen)
    waiting += outbox.unqueued()[:MOST].count() + unreported()[:MOST].count()
    text = gettext("Search engines are not notified: %s") % refusal
    yield Alert(
        subject=Subject.ENGINES,
        level=ERROR if waiting else WARNING,
        text=" ".join([text, *_what_waits(waiting)]),
        waiting=waiting,
    )


def _what_waits(count: int) -> Iterator[str]:
    """Yield a sentence of how much waits; none where nothing does."""
    if count:
        text = ngettext(
            "%(count)s change or submission waits.",
            "%(count)s changes and submissions wait.",
            count,
        )
        yield text % {"count": number(count)}


def engine_alerts(chosen: Iterable[EngineHealth]) -> Iterator[Alert]:
    """Yield the engines that cannot be notified, and those of which much is late."""
    for one in chosen:
        if one.is_failing:
            yield _failing(one)
        elif one.late and one.health is not Health.REFUSED:
            text = ngettext(
                "%(count)s submission to %(engine)s has been due for more than 15 "
                "minutes.",
                "%(count)s submissions to %(engine)s have been due for more than 15 "
                "minutes.",
                one.late,
            )
            yield Alert(
                subject=Subject.ENGINES,
                name=one.state.engine,
                text=text % {"engine": one.state.engine, "count": number(one.late)},
                waiting=one.waiting,
                fix="manage.py ping_sitemaps",
            )


def _failing(one: EngineHealth) -> Alert:
    """Return why an engine cannot be notified, since when, and how much waits."""
    alias, since = one.state.engine, one.state.failing_since
    is_new = one.health is Health.PAUSED and time.time() - since < LATE
    text = gettext("%(engine)s cannot be notified: %(reason)s")
    reason = one.reason.rstrip(".") + "."
    parts = [text % {"engine": alias, "reason": reason}]
    if since:
        parts.append(gettext("It began %(time)s.") % {"time": ago(since)})
    return Alert(
        subject=Subject.ENGINES,
        name=alias,
        level=WARNING if is_new else ERROR,
        text=" ".join([*parts, *_what_waits(one.waiting)]),
        since=since,
        waiting=one.waiting,
    )


def _failed(chosen: Collection[EngineHealth]) -> Iterator[Alert]:
    """
    Yield what was rejected or given up within a week, and why the last of it was.

    An error while the engine rejects what it is sent.
    """
    state, since = Submission.State, time.time() - KEEP
    now = {one.state.engine for one in chosen if one.health is Health.REJECTING}
    rows = submissions().filter(
        engine__in={one.state.engine for one in chosen},
        state__in=(state.REJECTED, state.FAILED),
        created_at__gte=since,
    )
    sums = rows.order_by("engine").values_list("engine")
    for alias, count, first, pk in sums.annotate(
        Count("pk"), Min("created_at"), Max("pk")
    ):
        last = rows.filter(pk=pk).first()
        text = ngettext(
            "%(engine)s: %(count)s submission failed. The last one: %(message)s",
            "%(engine)s: %(count)s submissions failed. The last one: %(message)s",
            count,
        )
        message = "" if last is None else f"{last.url}: {last.message}"
        values = {"engine": alias, "count": number(count), "message": message}
        yield Alert(
            subject=Subject.ENGINES,
            name=alias,
            level=ERROR if alias in now else WARNING,
            text=text % values,
            since=first,
        )


def _unknown() -> Iterator[Alert]:
    """Yield what waits for engines that are not in the settings any more."""
    unknown = states().exclude(engine__in=list(engines()))
    for state in with_waiting(unknown, LATE).filter(waiting_n__gt=0):
        text = gettext(
            "%(engine)s is not in SITEMAPS_PLUS['ENGINES'] any more, so nothing is "
            "sent to it. Add it again under this alias until what waits is sent; after "
            "seven days it is deleted."
        )
        text %= {"engine": state.engine}
        yield Alert(
            subject=Subject.ENGINES,
            name=state.engine,
            # Who takes out an engine that fails means to.
            level=WARNING if state.failures or state.problem else ERROR,
            text=" ".join([text, *_what_waits(state.waiting_n)]),
            since=state.waiting_since,
            waiting=state.waiting_n,
        )


def _on_hold() -> Iterator[Alert]:
    rows = url_changes().filter(queued_at=None, on_hold=True).order_by("section")
    for section, count, since in rows.values_list("section").annotate(
        Count("pk"), Min("at")
    ):
        text = ngettext(
            "Section '%(section)s': %(count)s removed URL is on hold until you confirm "
            "it.",
            "Section '%(section)s': %(count)s removed URLs are on hold until you "
            "confirm them.",
            count,
        )
        yield Alert(
            subject=Subject.URLS,
            name=section,
            text=text % {"section": section, "count": number(count)},
            since=since,
            waiting=count,
            fix="manage.py ping_sitemaps --confirm",
        )


def _audited(every: Sequence[Look]) -> Iterator[Alert]:
    said: list[Audit] = []
    for look in every:
        is_crawl = look.mode == Audit.Fetched.CRAWLED
        subject = Subject.CRAWLER if is_crawl else Subject.AUDIT
        fix = f"manage.py check_sitemaps{_OPTIONS.get(look.mode, '')}"
        if is_crawl and look.fetched_urls < look.urls:
            fix = "manage.py ping_sitemaps --check"
        level = ERROR if look.number_of(ERROR) else WARNING
        if look.number_of(level):
            text = gettext("The last audit of %(of)s found %(found)s (%(how)s).")
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
            level = NOTE if is_crawl else WARNING
            yield Alert(subject=subject, level=level, text=text % values, fix=fix)


def _unlooked(every: Sequence[Look]) -> Iterator[Alert]:
    """Yield what no audit has looked at lately."""
    fresh = [one for one in every if one.audit.finished_at > time.time() - _FRESH]
    seen = {name for look in fresh for name in look.sections}
    missing = [name for name in registry.sources() if name not in seen]
    if missing:
        text = gettext("No audit has looked at %s in the last 30 days.")
        fix = "manage.py check_sitemaps"
        text %= named(missing)
        yield Alert(subject=Subject.AUDIT, level=NOTE, text=text, fix=fix)
    if not any(look.mode == Audit.Fetched.CRAWLED for look in fresh):
        text = gettext(
            "Nobody has read the sitemaps as a crawler does in the last 30 days."
        )
        fix = "manage.py ping_sitemaps --check"
        yield Alert(subject=Subject.CRAWLER, level=NOTE, text=text, fix=fix)
