"""
The background's jobs: notify engines, and rebuild pages at leisure.

A thread of the server's process does them (``thread``), a worker of Celery or Django
Tasks, or ``ping_sitemaps``.
"""

from __future__ import annotations

import time
from collections.abc import Callable

from django.db import connections

from django_sitemaps_plus import hooks
from django_sitemaps_plus.building.refresh import Leisure, assign_all, refresh_all
from django_sitemaps_plus.changes.hints import write_late
from django_sitemaps_plus.changes.recorder import write_remembered
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.hooks import Report
from django_sitemaps_plus.pagination.deploys import note_in_use
from django_sitemaps_plus.serving.index import usable
from django_sitemaps_plus.sitemaps import tenants
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress, working_for

from . import gate, outbox
from .announcing import announce
from .dispatcher import DeliveryOptions, deliver
from .engines import why_refused
from .upkeep import tend
from .workers import LOOK

#: Seconds for which receivers, and engines, are notified before anybody looks for
#: changes again.
_STINT = 30.0


def of_each_site(work: Callable[[SiteAddress], float | None]) -> float | None:
    """
    Work for each of this process's sites; return the least of what it returns.

    Not for those whose address is not known: no page is built there.
    """
    waits = []
    for site in Site.of_process():
        with working_for(site):
            address = Site.current().address()
            waits.append(None if address is None else work(address))
    return min((wait for wait in waits if wait is not None), default=None)


def _notify(
    pass_on: Callable[[], None], is_ending: Callable[[], bool] = lambda: False
) -> float | None:
    """
    Notify receivers and engines of what is due for a while.

    ``pass_on`` is the function of the gate that finds out what that is.

    Return the seconds until more is due, None if nothing waits or may be submitted. It
    stops early where the process ``is_ending``.
    """
    pass_on()
    is_announced = announce(_for_a_stint(is_ending))
    wait = None if is_announced else 0.0
    if not get_settings().ENGINES or why_refused():
        return wait
    deliver(DeliveryOptions(is_over=_for_a_stint(is_ending)))
    return outbox.next_due() if is_announced else wait


def _for_a_stint(is_ending: Callable[[], bool]) -> Callable[[], bool]:
    """Return a function that says whether a stint that begins now is over."""
    end = time.monotonic() + _STINT
    return lambda: is_ending() or time.monotonic() > end


def notify_all(is_ending: Callable[[], bool] = lambda: False) -> float | None:
    """Assign what was saved and deleted, and notify engines; return as ``_notify``."""
    write_late()
    return of_each_site(lambda site: _notify_of_changes(is_ending))


def _notify_of_changes(is_ending: Callable[[], bool]) -> float | None:
    sources = usable()
    note_in_use(sources)
    assign_all(sources)
    tend()
    # What pages list no longer is searched for at leisure.
    wait = _notify(gate.pass_listed, is_ending)
    more = work_of_apps(is_ending)
    return min((one for one in (wait, more) if one is not None), default=None)


def note_server() -> None:
    """Note what a server without the thread runs: no older command may take over."""
    for site in Site.of_process():
        with working_for(site):
            note_in_use(usable())


def work_of_apps(is_ending: Callable[[], bool]) -> float | None:
    """Have apps do what is due for the current site; return as ``_notify``."""
    return hooks.background(_for_a_stint(is_ending), is_asked=False)


def rebuild_page(leisures: dict[Site, Leisure], sharers: int) -> float | None:
    """
    Rebuild the next page of each site of this process, if it is time.

    Each site has a ``Leisure`` of its own, and shares the processor with ``sharers``
    others. Return the seconds until it is time again, None if nothing is to be rebuilt.
    """
    # Of several sites and tenants each has its part.
    parts = len(Site.of_process()) * (1 + sharers)

    def rebuild(site: SiteAddress) -> float | None:
        leisure = leisures.setdefault(Site.current(), Leisure())
        return leisure.step(usable(), site, gate.Search(), parts=parts)

    return of_each_site(rebuild)


def work() -> float | None:
    """
    Notify engines and rebuild pages: the work of a worker.

    Return the seconds until there is more to do, None if nothing waits.
    """
    notify_all()
    return of_each_site(_rebuild_and_notify)


def _rebuild_and_notify(site: SiteAddress) -> float | None:
    refresh_all(usable(), site, at_leisure=True)
    hooks.rebuilt(lambda: False, is_asked=False)
    # Once more, of what the pages found out.
    return _notify(gate.pass_on)


def work_as_task(tenant: str | None = "", *, is_first: bool) -> float | None:
    """
    Do the work of a tenant; None is for all of them, "" for a project without.

    Return the seconds after which a worker should do it once more.

    The first task asks for one more where something is due soon, and that for none:
    under constant load there would be ever more of them. What is due later is asked
    for by the next change, or by the look once a minute.
    """
    waits = []
    for key in tenants.all_keys() if tenant is None else tenants.existing([tenant]):
        with tenants.active(key):
            waits.append(work())
    wait = min((wait for wait in waits if wait is not None), default=None)
    return max(1.0, wait) if is_first and wait is not None and wait <= LOOK else None


def prepare(
    site: SiteAddress, progress: Callable[[int], object] = lambda pages: None
) -> list[str]:
    """
    Rebuild pages whose rows changed, and fill the outbox; nothing is sent.

    Also what the open transactions changed so far, as in a TestCase. ``progress`` is
    called after each page with how many were rebuilt. Returns the sections whose rows
    cannot be read.
    """
    for alias in connections:
        write_remembered(alias)
    write_late()
    sources = usable()
    can_be_used = {source.name for source in sources}
    unread = [name for name in registry.sources() if name not in can_be_used]
    unread += assign_all(sources)
    unread += refresh_all(sources, site, progress=progress)
    tend()
    gate.pass_on()
    return list(dict.fromkeys(unread))


def send_due(options: DeliveryOptions) -> Report:
    """
    Notify receivers and engines of all that is due; apps do their work.

    What an app raises before engines are notified is raised after it.
    """
    announce()
    failure = None
    try:
        hooks.rebuilt(lambda: False, is_asked=True)
    except Exception as error:
        failure = error
    report = deliver(options)
    if failure is not None:
        raise failure
    if Site.current().address() is not None:
        hooks.background(lambda: False, is_asked=True)
    return report
