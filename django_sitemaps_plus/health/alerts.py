"""Everything that somebody has to look at. Texts are in the active language."""

from __future__ import annotations

import enum
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

from django.conf import settings as django_settings
from django.db.models import Count, Max, Min, Q, QuerySet
from django.urls import NoReverseMatch
from django.utils.translation import gettext, ngettext

from django_sitemaps_plus import hooks
from django_sitemaps_plus.changes.models import Change, UrlChange
from django_sitemaps_plus.changes.queries import changes, url_changes
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.db import tables_exist
from django_sitemaps_plus.delivery import gate, workers
from django_sitemaps_plus.delivery.engines import (
    EngineHealth,
    Health,
    check_site,
    engines,
    why_refused,
)
from django_sitemaps_plus.delivery.gate import FEW
from django_sitemaps_plus.delivery.models import LATE, EngineState, Submission
from django_sitemaps_plus.pagination.lately import most_listed
from django_sitemaps_plus.pagination.queries import LATELY, Sums, ledger, sections
from django_sitemaps_plus.serving import index
from django_sitemaps_plus.serving.index import why_unusable
from django_sitemaps_plus.serving.robots import rules
from django_sitemaps_plus.sitemaps import tenants
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.sections import SectionSource, source
from django_sitemaps_plus.sitemaps.site import Site

from .answering import ROBOTS, others
from .unlooked import is_audited, unaudited
from .words import ago, number

#: Seconds after which a quota that is renewed each day does not suffice.
_QUOTA_DAY = 86_400
#: Changes that are counted at most.
_MOST = 10_000
#: Sections whose addresses are looked up, and addresses that an alert names.
_LOOKED, _NAMED = 100, 3


@dataclass(frozen=True, kw_only=True)
class Alert:
    """Something that somebody has to look at."""

    class Subject(enum.Enum):
        """What an alert is about."""

        SECTIONS = "sections"
        ENGINES = "engines"
        URLS = "URLs"
        AUDIT = "audit"
        CRAWLER = "crawler"

    #: Something is not listed or not sent until somebody acts: commands end with 1.
    ERROR: ClassVar = "error"
    #: Something should be better.
    WARNING: ClassVar = "warning"
    #: Nobody has looked, or has to act.
    NOTE: ClassVar = "note"

    subject: Subject
    text: str
    #: How grave it is: one of these three.
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
    subjects: Collection[Alert.Subject] = tuple(Alert.Subject),
    *,
    aliases: Collection[str] | None = None,
    refusal: str | None = None,
) -> list[Alert]:
    """
    Return what needs attention, of some subjects or of all, and what was not checked.

    ``refusal`` is why nothing may be submitted; it is asked for where it is not given.
    Of engines, only those of ``aliases`` if given. Raises ``ConfigurationError`` for
    settings that cannot be used.
    """
    if missing := [*missing_tables()]:
        return missing
    # Wrong ROBOTS are refused here, as other settings are by whoever reads them.
    rules()
    result = own_alerts(subjects, aliases=aliases, refusal=refusal)
    if Alert.Subject.AUDIT in subjects and (unlooked := unaudited()):
        text = " ".join(unlooked)
        result.append(Alert(subject=Alert.Subject.AUDIT, level=Alert.NOTE, text=text))
    if Alert.Subject.ENGINES in subjects:
        result += [*_closed(), *_checked(aliases)]
    # Who may see nothing has nothing read.
    said = of_apps() if subjects else ()
    return result + [one for one in said if one.subject in subjects]


def _closed() -> Iterator[Alert]:
    """Yield that a public site is closed to all; where engines are, they say so."""
    address, debug, robots = check_site()
    if not engines() and address.is_good and debug.is_good and not robots.is_good:
        yield _of_engines([robots.text])


def _checked(aliases: Collection[str] | None) -> Iterator[Alert]:
    """Yield what ``--check`` found over the network when it last looked at it."""
    row = sections().filter(name="").first()
    known = engines() if aliases is None else aliases
    for of, some in ({} if row is None else row.checked).items():
        name = of if of in engines() else ""
        for text, at in some if not name or name in known else ():
            yield _of_engines([text], name=name, since=at)


def missing_tables() -> Iterator[Alert]:
    """Yield that there are no tables, as W008 does, which runs under no server."""
    if not tables_exist(ledger(), of_apps=True):
        text = gettext("Tables of django_sitemaps_plus are missing.")
        yield _of_section("", text, fix=tenants.migration(ledger()))


def own_alerts(
    subjects: Collection[Alert.Subject] = tuple(Alert.Subject),
    *,
    aliases: Collection[str] | None = None,
    refusal: str | None = None,
) -> list[Alert]:
    """Return what ``alerts()`` does, where there are tables, without what apps say."""
    result: list[Alert] = []
    if Alert.Subject.SECTIONS in subjects:
        result += [*_uninstalled(), *_unserved(), *_answered_by_others()]
        result += section_alerts(registry.sources())
        result += _late_changes()
    if Alert.Subject.ENGINES in subjects and engines():
        why = why_refused() if refusal is None else refusal
        chosen = EngineHealth.all(why, aliases=aliases)
        result += [*_refused(chosen, why), *_engine_alerts(chosen), *_failed(chosen)]
        result += _unknown()
    if Alert.Subject.URLS in subjects:
        result += _on_hold()
    return result


def of_apps(sections: Collection[str] | None = None) -> Iterator[Alert]:
    """
    Yield what apps say of some sections, or of the whole site.

    One that cannot look is an error: nothing is green that nobody has looked at.
    """
    for one in hooks.alerts(sections, kind=Alert):
        if isinstance(one, hooks.Failed):
            one = Alert(subject=Alert.Subject.SECTIONS, text=str(one))
        yield one


def errors(some: Iterable[Alert]) -> list[Alert]:
    """Return those alerts for which a command ends with 1."""
    return [alert for alert in some if alert.level == Alert.ERROR]


def _uninstalled() -> Iterator[Alert]:
    """Yield that who works in the background is missing, as E033 does."""
    how = str(get_settings().BACKGROUND)
    if how not in workers.WORKERS:
        return
    package = workers.missing_package(how)
    if problem := f"No module named '{package}'" if package else workers.problem(how):
        text = gettext(
            "BACKGROUND is '%(how)s', which cannot be used, so nothing is done in the "
            "background: %(problem)s"
        )
        yield _of_section("", text, how=how, problem=problem)


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
        yield _of_section("", text, include=index.INCLUDE)


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
            named = ", ".join(paths[:_NAMED]) + more
            yield _of_section("", text, paths=named, view=view, include=index.INCLUDE)


def section_alerts(names: Iterable[str]) -> Iterator[Alert]:
    """Yield which of some registered sections are not listed, or not as a whole."""
    stored = Sums.stored()
    for name in names:
        if problem := why_unusable(name):
            text = gettext("Section '%(name)s' cannot be used: %(problem)s")
            yield _of_section(name, text, problem=problem)
        else:
            yield from _stored_alerts(source(name), stored.get(name))
        if row := stored.get(name):
            yield from _section_alerts(name, row)


def _stored_alerts(section: SectionSource, row: Sums | None) -> Iterator[Alert]:
    """Yield what is wrong with the stored pages of a section that can be used."""
    name, build = section.name, f"manage.py build_sitemaps {section.name}"
    if row is None or not row.is_of(section):
        # Pages by position are built for each request.
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
        yield _of_section(name, text, fix=build, count=row.unbuilt, all=row.pages)
    elif row.filled and not section.is_news:
        yield from _vanished(name, row)
    if not row.wrong and row.bad > get_settings().MAX_BAD * row.items:
        text = gettext(
            "Section '%(name)s': %(count)s of its %(all)s rows are left out, more than "
            "MAX_BAD allows."
        )
        fix = f"manage.py check_sitemaps {name}" if is_audited() else ""
        yield _of_section(name, text, fix=fix, count=row.bad, all=row.items)
    if row.lost:
        text = ngettext(
            "Section '%(name)s': the stored bytes of %(count)s page were missing or "
            "damaged within the last week, and were built again.",
            "Section '%(name)s': the stored bytes of %(count)s pages were missing or "
            "damaged within the last week, and were built again.",
            row.lost,
        )
        yield _of_section(name, text, Alert.WARNING, count=row.lost)


def _section_alerts(name: str, row: Sums) -> Iterator[Alert]:
    """Yield what is noted of a section itself, whether it has pages or not."""
    if row.failure and changes(name).exists():
        text = gettext(
            "Section '%(name)s': its changes cannot be looked at: %(problem)s"
        )
        yield _of_section(name, text, problem=row.failure)
    if row.damaged_at > time.time() - LATELY:
        text = gettext(
            "Section '%(name)s': the page boundaries were damaged %(time)s, and the "
            "section was divided anew."
        )
        yield _of_section(name, text, Alert.WARNING, time=ago(row.damaged_at))


def _vanished(name: str, row: Sums) -> Iterator[Alert]:
    """Yield that a section lists less than half of what it listed within a week."""
    before = most_listed(row.listed, row.confirmed_at)
    if before >= FEW and 2 * row.entries < before:
        text = gettext(
            "Section '%(name)s' lists %(count)s of last week's %(before)s URLs. Look "
            "at what it leaves out, or confirm it."
        )
        fix = f"manage.py ping_sitemaps --confirm --section {name}"
        yield _of_section(name, text, fix=fix, count=row.entries, before=before)


def _of_section(
    name: str, text: str, level: str = Alert.ERROR, fix: str = "", **values: str | int
) -> Alert:
    """Return an alert of a section, or of all of them, with values in its text."""
    shown = {n: v if isinstance(v, str) else number(v) for n, v in values.items()}
    said, subject = text % {"name": name, **shown}, Alert.Subject.SECTIONS
    return Alert(subject=subject, level=level, name=name, text=said, fix=fix)


def _late_changes() -> Iterator[Alert]:
    if late := count_late_changes():
        # Engines are not notified of what no page says.
        level = Alert.ERROR if engines() else Alert.WARNING
        text, fix = late_changes(late), "manage.py ping_sitemaps"
        subject = Alert.Subject.SECTIONS
        yield Alert(subject=subject, level=level, text=text, waiting=late, fix=fix)


def count_late_changes() -> int:
    """Return how many changes have waited for too long, up to ``_MOST``."""
    now, longest = time.time(), max(LATE, get_settings().VERIFY_AFTER)
    # New rows come first where more pages change than can be rebuilt.
    is_late = Q(created=True, at__lt=now - LATE) | Q(at__lt=now - longest)
    return _waiting_changes().filter(is_late)[:_MOST].count()


def late_changes(count: int | None = None) -> str:
    """Return in words how many changes have waited for too long."""
    count = count_late_changes() if count is None else count
    text = ngettext(
        "%(late)s change has waited for more than 15 minutes for its page to be "
        "rebuilt.",
        "%(late)s changes have waited for more than 15 minutes for their pages to be "
        "rebuilt.",
        count,
    )
    return text % {"late": f"{number(count)}{'+' if count == _MOST else ''}"}


def _waiting_changes() -> QuerySet[Change]:
    """Return the changes of registered sections that wait for their pages."""
    return changes().filter(section__in=list(registry.sources()))


def waiting_rows() -> list[QuerySet[Any]]:
    """Return what waits: for pages and, where there are engines, to be queued."""
    return [_waiting_changes(), *([gate.unqueued()] if engines() else [])]


def _refused(chosen: Sequence[EngineHealth], refusal: str) -> Iterator[Alert]:
    """Yield that nothing may be submitted, also while nothing waits."""
    if not refusal:
        return
    waiting = sum(one.waiting for one in chosen)
    waiting += sum(rows[:_MOST].count() for rows in waiting_rows())
    text = gettext("Search engines are not notified: %s") % refusal
    yield _of_engines([text, *_what_waits(waiting)], waiting=waiting)


def _what_waits(count: int) -> Iterator[str]:
    """Yield a sentence of how much waits; none where nothing does."""
    if count:
        text = ngettext(
            "%(count)s change or submission waits.",
            "%(count)s changes and submissions wait.",
            count,
        )
        yield text % {"count": number(count)}


def _engine_alerts(chosen: Iterable[EngineHealth]) -> Iterator[Alert]:
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
            text %= {"engine": one.state.engine, "count": number(one.late)}
            yield _of_engine(one, [text], fix="manage.py ping_sitemaps")
        elif one.health is Health.EXHAUSTED and one.waiting:
            yield from _without_quota(one)


def _without_quota(one: EngineHealth) -> Iterator[Alert]:
    """Yield that something has waited for a day for an engine's quota."""
    since = one.waiting_since
    if since < time.time() - _QUOTA_DAY:
        text = gettext("The quota of %(engine)s is used up.")
        said = [text % {"engine": one.state.engine}, *_what_waits(one.waiting)]
        yield _of_engine(one, [*said, _began(since)], level=Alert.NOTE, since=since)


def _failing(one: EngineHealth) -> Alert:
    """Return why an engine cannot be notified, since when, and how much waits."""
    since = one.state.failing_since
    is_new = one.health is Health.PAUSED and time.time() - since < LATE
    text = gettext("%(engine)s cannot be notified: %(reason)s")
    reason = one.reason.rstrip(".") + "."
    said = [text % {"engine": one.state.engine, "reason": reason}]
    said += [_began(since)] if since else []
    said += _what_waits(one.waiting)
    level = Alert.WARNING if is_new else Alert.ERROR
    return _of_engine(one, said, level=level, since=since)


def _began(since: float) -> str:
    return gettext("It began %(time)s.") % {"time": ago(since)}


def _of_engine(one: EngineHealth, sentences: Iterable[str], **values: Any) -> Alert:
    """Return an alert of an engine, for which something may wait."""
    name = one.state.engine
    return _of_engines(sentences, name=name, waiting=one.waiting, **values)


def _of_engines(sentences: Iterable[str], **values: Any) -> Alert:
    return Alert(subject=Alert.Subject.ENGINES, text=" ".join(sentences), **values)


def _failed(chosen: Collection[EngineHealth]) -> Iterator[Alert]:
    """
    Yield what was rejected or given up within a week, and why the last of it was.

    An error while the engine rejects what it is sent.
    """
    state, since = Submission.State, time.time() - UrlChange.KEEP
    now = {one.state.engine for one in chosen if one.health is Health.REJECTING}
    rows = Submission.objects.on_site().filter(
        engine__in={one.state.engine for one in chosen},
        state__in=(state.REJECTED, state.FAILED),
        created_at__gte=since,
    )
    sums = rows.order_by("engine").values_list("engine")
    found = sums.annotate(Count("pk"), Min("created_at"), Max("pk"))
    for alias, count, first, pk in found:
        last = rows.filter(pk=pk).first()
        text = ngettext(
            "%(engine)s: %(count)s submission failed. The last one: %(message)s",
            "%(engine)s: %(count)s submissions failed. The last one: %(message)s",
            count,
        )
        message = "" if last is None else f"{last.url}: {last.message}"
        values = {"engine": alias, "count": number(count), "message": message}
        level = Alert.ERROR if alias in now else Alert.WARNING
        yield _of_engines([text % values], name=alias, level=level, since=first)


def _unknown() -> Iterator[Alert]:
    """Yield what waits for engines that are not in the settings any more."""
    unknown = EngineState.objects.on_site().exclude(engine__in=list(engines()))
    for state in unknown.with_waiting().filter(waiting_n__gt=0):
        text = gettext(
            "%(engine)s is not in SITEMAPS_PLUS['ENGINES'] any more, so nothing is "
            "sent to it. Add it again under this alias until what waits is sent; after "
            "seven days it is deleted."
        )
        one = EngineHealth.of(state, "", engines())
        said = [text % {"engine": state.engine}, *_what_waits(one.waiting)]
        # Who takes out an engine that fails means to.
        level = Alert.WARNING if state.failures or state.problem else Alert.ERROR
        yield _of_engine(one, said, level=level, since=one.waiting_since)


def _on_hold() -> Iterator[Alert]:
    rows = url_changes().filter(queued_at=None, on_hold=True).order_by("section")
    sums = rows.values_list("section").annotate(Count("pk"), Min("at"))
    for section, count, since in sums:
        text = ngettext(
            "Section '%(section)s': %(count)s removed URL is on hold until you confirm "
            "it.",
            "Section '%(section)s': %(count)s removed URLs are on hold until you "
            "confirm them.",
            count,
        )
        yield Alert(
            subject=Alert.Subject.URLS,
            name=section,
            text=text % {"section": section, "count": number(count)},
            since=since,
            waiting=count,
            fix="manage.py ping_sitemaps --confirm",
        )
