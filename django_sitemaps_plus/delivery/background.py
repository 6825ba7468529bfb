"""
Where the work is done that nobody waits for: pages made ahead, engines told.

That is a thread of the server's own process, or a worker of Celery or of Django Tasks
to which the thread hands the work over: not the save itself, which waits for no broker.
No other module knows of them.

The thread belongs to processes that answer requests. It is started when changes were
committed, or when a request finds that a minute has passed since the last look, and
ends when there is nothing to do. Commands, tests and projects without a known address
have none: there requests, ``build_sitemaps`` and ``ping_sitemaps`` do the work.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from functools import cache
from typing import Any

from django.core import mail
from django.db import connections
from django.utils.module_loading import import_string

from django_sitemaps_plus.changes import assignment, events
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import Busy
from django_sitemaps_plus.publishing import refresh
from django_sitemaps_plus.sitemaps import sections
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import configured

from . import guards, outbox
from .dispatcher import DeliveryOptions, Report, deliver

logger = logging.getLogger("django_sitemaps_plus")

#: Seconds between two looks for work that nobody told of.
LOOK = 60.0
#: Seconds that the thread waits for more to do before it ends, if nothing is due.
IDLE = 10.0
#: Seconds for which the thread tells engines before it looks for changes again.
STINT = 30.0
#: Seconds to wait at least between two looks for what is due.
PAUSE = 0.1
#: Tasks by what ``BACKGROUND`` says. Imported when they are needed: Celery may not be
#: there, and Django's ``@task`` asks for the project's backend at once.
TASKS = {
    "celery": "django_sitemaps_plus.tasks.enqueue",
    "tasks": "django_sitemaps_plus.django_tasks.enqueue",
}


class Background:
    """The thread, of which a process has one at most."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._lock = threading.Lock()
        self._work = threading.Event()
        self._thread: threading.Thread | None = None
        self._serves = False
        self._looked = -LOOK
        #: When there is something to do again, by the monotonic clock.
        self._due: float | None = None

    def arm(self) -> None:
        """Forget the parent process's thread, which a fork does not copy."""
        self._reset()

    def request_started(self, **kwargs: Any) -> None:
        """Note that this process answers requests; look for work once a minute."""
        self._serves = True
        now = time.monotonic()
        if now - self._looked >= LOOK:
            self._looked = now
            self.wake()

    def wake(self) -> None:
        """
        Have the thread look for work; started if it does not run.

        Never raises: the project's saves and requests call it.
        """
        if not self._serves:
            return
        try:
            if is_allowed():
                self._start()
        except Exception:
            # A Site whose domain is none, a database that is away, no room for a
            # thread: whatever it is, the next look may go well.
            logger.exception("Changed pages cannot be looked for.")

    def _start(self) -> None:
        with self._lock:
            self._work.set()
            if self._thread is None:
                thread = threading.Thread(
                    target=self._run, name="django-sitemaps-plus", daemon=True
                )
                thread.start()
                self._thread = thread

    def _run(self) -> None:
        failures = 0
        while self._is_wanted():
            try:
                wait = self._work_once()
                failures = 0
            except Exception:
                # Whatever it is, the thread must live: the next look may go well, and
                # no request may come that asks for it.
                logger.exception("Looking for changed pages failed.")
                failures += 1
                wait = min(LOOK, 2.0**failures)
            finally:
                connections.close_all()
            self._due = None if wait is None else time.monotonic() + max(PAUSE, wait)

    def _work_once(self) -> float | None:
        """Do the work; returns the seconds until there is more, None if not known."""
        if self._work.is_set():
            self._work.clear()
            # Together with what follows at once, and surely committed.
            time.sleep(assignment.WINDOW + 0.1)
        how = get_settings().BACKGROUND
        if how in TASKS:
            import_string(TASKS[str(how)])()
            return None
        return work()

    def _is_wanted(self) -> bool:
        """Wait for work; False, and the thread is gone, if there is none for long."""
        if self._due is not None:
            # However far off that is: no request may come by then.
            self._work.wait(max(0.0, self._due - time.monotonic()))
            return True
        if self._work.wait(IDLE):
            return True
        with self._lock:
            if not self._work.is_set():
                self._thread = None
                return False
        return True


def is_allowed() -> bool:
    """Tell whether this process may have a thread of ours."""
    if hasattr(mail, "outbox"):
        # Django's test environment: a thread would outlive the test's transaction.
        return False
    uwsgi = sys.modules.get("uwsgi")
    # "threads" implies the other, without being told so in the options.
    if uwsgi is not None and not {"threads", "enable-threads"} & uwsgi.opt.keys():
        _warn_of_uwsgi()
        return False
    return bool(get_settings().BACKGROUND) and configured() is not None


@cache
def _warn_of_uwsgi() -> None:
    """Say once in a process that nothing happens there by itself."""
    logger.warning(
        "uWSGI runs without threads: here no page is made ahead, and no engine is "
        "told. Start it with --enable-threads, or have cron run "
        "'manage.py ping_sitemaps'."
    )


def problem(how: str) -> str:
    """Return why the work cannot be handed over to a worker; empty if it can."""
    try:
        import_string(TASKS[how])
    except Exception as error:  # a project's backend may raise whatever it likes
        return f"{type(error).__name__}: {error}"
    return ""


def refresh_all() -> float | None:
    """
    Make the pages of all sections whose rows changed; prune the stream.

    Returns the seconds until to look again, None if nothing is left to do. That is
    soon where something was made, or is being made elsewhere.
    """
    place = configured()
    if place is None:
        return None
    waits = set[float]()
    sources = [sections.source(name) for name in registry.sources()]
    for source in refresh.waiting(sources):
        try:
            if refresh.refresh(source, place):
                waits.add(assignment.WINDOW)
        except Busy:
            waits.add(assignment.WINDOW)
        except Exception:
            # A section whose rows or storage fail must not keep others from theirs.
            logger.exception("The section %r could not be refreshed.", source.name)
            waits.add(LOOK)
    events.prune()
    return min(waits, default=None)


def notify(order: DeliveryOptions | None = None) -> float | None:
    """
    Tell engines what is due; prune what is old.

    Returns the seconds until more is due, None if nothing waits or may be told.
    """
    if not get_settings().ENGINES or guards.refusal():
        return None
    outbox.enqueue()
    deliver(order)
    outbox.prune()
    return outbox.next_due()


def work() -> float | None:
    """
    Make the pages whose rows changed, and tell engines: what thread and worker do.

    Returns the seconds until more is to be done, None if nothing waits.
    """
    waits = refresh_all(), notify(DeliveryOptions(deadline=time.monotonic() + STINT))
    return min((wait for wait in waits if wait is not None), default=None)


def drain(order: DeliveryOptions) -> Report:
    """Do all that can be done now, for somebody who asked for it."""
    refresh_all()
    if order.force or not guards.refusal():
        outbox.enqueue(at_once=True)
    report = deliver(order)
    outbox.prune()
    return report


background = Background()
os.register_at_fork(after_in_child=background.arm)
