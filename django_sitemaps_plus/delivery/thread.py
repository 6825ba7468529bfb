"""
The thread of a server's process, which does the background's jobs.

It does them itself, or hands them over to a worker of Celery or Django Tasks, so that
no save waits for a broker.

Only processes that answer requests have the thread. It starts after a commit with
changes, or when a request finds that a minute has passed since the last look, and ends
when there is nothing to do. Commands, tests and projects without a known address have
none: there requests, ``build_sitemaps`` and ``ping_sitemaps`` do the work.
"""

from __future__ import annotations

import atexit
import logging
import math
import os
import sys
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

from django.conf import settings as django_settings
from django.core import mail
from django.core.signals import setting_changed
from django.db import connections

from django_sitemaps_plus import hooks
from django_sitemaps_plus.changes.hints import write_late
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.sitemaps import tenants
from django_sitemaps_plus.sitemaps.site import Site, working_for

from . import workers
from .workers import LOOK

if TYPE_CHECKING:
    from django_sitemaps_plus.building.refresh import Leisure

logger = logging.getLogger("django_sitemaps_plus")

#: Seconds for which the thread waits for more work before it ends.
IDLE = 10.0
#: The least seconds between two looks for what is due.
_PAUSE = 0.1
#: Seconds after a page was rebuilt before receivers hear of it, and caches forget what
#: they have: answers with the former bytes may be on their way until then.
_SETTLE = 1.0
#: The longest wait, in seconds, during which the thread keeps its connections.
CONNECTED = 5.0
#: Seconds that each tenant has of a look at all of them.
EACH = 0.6
#: The most databases to which the thread stays connected: tenants may have one each.
_CONNECTIONS = 4
#: Seconds for which a process that ends waits for what the thread is doing.
_FINISH = 10.0


@dataclass
class _Due:
    """When there is something to do, by the monotonic clock."""

    notify_at: float = math.inf
    rebuild_at: float = math.inf
    #: When to tell apps that pages were rebuilt, and from when that may be.
    tell_at: float = math.inf
    tell_from: float = 0.0
    #: Whether apps may not have seen yet what this process saved or rebuilt.
    is_changed: bool = False
    #: How often it failed since it last did not.
    failures: int = 0

    @property
    def at(self) -> float:
        """When the next of it is due."""
        return min(self.notify_at, self.rebuild_at, self.tell_at)

    def notify_in(self, seconds: float) -> None:
        """Notify engines in so many seconds, or sooner."""
        self.notify_at = min(self.notify_at, time.monotonic() + max(_PAUSE, seconds))

    def tell_in(self, seconds: float) -> None:
        """Tell apps in so many seconds, or sooner, if that may be."""
        at = max(self.tell_from, time.monotonic() + max(_PAUSE, seconds))
        self.tell_at = min(self.tell_at, at)


#: In place of a tenant's key: all of them.
_ALL = None


class BackgroundThread:
    """The thread: a process has at most one, for all tenants."""

    def __init__(self) -> None:
        self.arm()

    def arm(self) -> None:
        """Begin without a thread: a fork does not copy that of the parent process."""
        self._lock = threading.Lock()
        self._work = threading.Event()
        self._thread: threading.Thread | None = None
        self._leisure: dict[Site, Leisure] = {}
        self._ends = False
        self._serves = False
        self._has_run = False
        self._looked = -LOOK
        #: The tenants for which there may be work, and when that is due.
        self._woken: set[str | None] = set()
        self._due: dict[str | None, _Due] = {}
        #: When the last look at all tenants ends.
        self._look_ends = -math.inf

    def stop(self) -> None:
        """End the thread with the process, after the page that it is building."""
        self._ends = True
        self._work.set()
        thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join(_FINISH)
        if self._has_run:
            # Not where there never was a thread: after the tests of a project the
            # databases are the real ones again.
            hooks.store(process_ends=True)

    def request_started(self, **kwargs: Any) -> None:
        """Note that this process answers requests, and look for work once a minute."""
        self._serves = True
        now = time.monotonic()
        if now - self._looked >= LOOK:
            self._looked = now
            self._try_to_start(lambda: _ALL, is_look=True)

    def wake(self, **kwargs: Any) -> None:
        """
        Have the thread look for work of the current tenant; start it if necessary.

        Never raises: it is called in the project's saves and requests.
        """
        if threading.current_thread() is self._thread:
            # It has rebuilt a page because of a change that waited already.
            due = self._due.setdefault(tenants.current_tenant_key(), _Due())
            due.notify_in(get_settings().NOTIFY_AFTER / 2)
            return
        self._try_to_start(tenants.current_tenant_key)

    def is_patched_late(self) -> bool:
        """Return whether this process patched its threads after this was imported."""
        return type(self._lock) is not type(threading.Lock())

    def _try_to_start(
        self, tenant: Callable[[], str | None], *, is_look: bool = False
    ) -> None:
        if not self._serves:
            return
        try:
            if is_allowed():
                self._start(tenant())
            elif is_look and not _is_test() and not self.is_patched_late():
                from .background import note_server

                # A request must not ask for hundreds of tenants.
                if tenants.configured() is None:
                    note_server()
        except Exception:
            # An invalid domain of the Site, a database that is down, no room for
            # another thread: whatever it is, the next look may succeed.
            logger.exception("The background thread cannot be started.")

    def _start(self, tenant: str | None) -> None:
        with self._lock:
            self._woken.add(tenant)
            self._work.set()
            self._has_run = True
            if self._thread is None:
                thread = threading.Thread(
                    target=self._run, name="django-sitemaps-plus", daemon=True
                )
                thread.start()
                self._thread = thread

    def _run(self) -> None:
        while self._is_wanted():
            tenant, due = min(self._due.items(), key=lambda item: item[1].at)
            try:
                self._work_once(tenant, due)
                due.failures = 0
            except Exception:
                # Whatever it is, the thread goes on: the next look may succeed, and no
                # request may come that would start it again.
                logger.exception("Background work failed.")
                due.failures += 1
                due.notify_in(min(LOOK, 2.0**due.failures))
            finally:
                is_idle = self._next_at() - time.monotonic() > CONNECTED
                if due.failures or is_idle or _has_many_connections():
                    connections.close_all()
        self._end()

    def _work_once(self, tenant: str | None, due: _Due) -> None:
        """Do what is due for a tenant, or look which ones there are."""
        hooks.store(process_ends=False)
        how = get_settings().BACKGROUND
        with nullcontext() if tenant is _ALL else tenants.active(tenant):
            if how in workers.WORKERS:
                due.notify_at = due.rebuild_at = due.tell_at = math.inf
                write_late()
                workers.function(str(how))(tenant)
            elif tenant is _ALL:
                due.notify_at = math.inf
                self._look_at_all()
            else:
                self._work_for(due)

    def _look_at_all(self) -> None:
        """Look for work of all tenants, one after another."""
        now = time.monotonic()
        if now < self._look_ends:
            return
        keys = tenants.all_keys()
        for gone in self._due.keys() - {_ALL, *keys}:
            del self._due[gone]
        self._look_ends = now + len(keys) * EACH
        for number, key in enumerate(keys):
            due = self._due.setdefault(key, _Due())
            due.notify_at = min(due.notify_at, now + number * EACH)

    def _work_for(self, due: _Due) -> None:
        """Look for changes and notify engines, or rebuild a page: whatever is due."""
        # A process has what it needs for that when it works for the first time.
        from . import background

        now = time.monotonic()
        if due.notify_at <= now:
            due.notify_at, due.rebuild_at = math.inf, now
            wait = background.notify_all(self._is_ending)
            if wait is not None:
                due.notify_in(wait)
        if due.rebuild_at <= now:
            due.rebuild_at = math.inf
            waiting = sum(one.rebuild_at < math.inf for one in self._due.values())
            rest = None
            if not self._ends:
                rest = background.rebuild_page(self._leisure, waiting)
            if rest is not None:
                due.rebuild_at = time.monotonic() + max(_PAUSE, rest)
                due.is_changed = True
            elif due.is_changed:
                due.is_changed = False
                self._work_of_apps(due)
            # With the page, its index. But many pages may wait.
            most = 2.0 * max(_SETTLE, get_settings().NOTIFY_AFTER)
            due.tell_in(_SETTLE if rest is None else most)
        elif due.tell_at <= now:
            self._tell_apps(due)

    def _work_of_apps(self, due: _Due) -> None:
        """Have apps do what is due, and come back for more: no request may come."""
        from .background import of_each_site, work_of_apps

        wait = of_each_site(lambda site: work_of_apps(self._is_ending))
        if wait is not None:
            due.notify_in(wait + _SETTLE)

    def _tell_apps(self, due: _Due) -> None:
        """Tell apps that pages were rebuilt, within ``BACKGROUND_SHARE`` too."""
        from .background import of_each_site

        due.tell_at, begun = math.inf, time.thread_time()
        wait = of_each_site(lambda _: hooks.rebuilt(self._is_ending, is_asked=False))
        used = time.thread_time() - begun
        rest = used * (1 / get_settings().BACKGROUND_SHARE - 1)
        due.tell_from = time.monotonic() + rest
        if wait is not None:
            due.tell_in(wait)

    def _next_at(self) -> float:
        """Return when there is something to do, by the monotonic clock."""
        return min((due.at for due in self._due.values()), default=math.inf)

    def _is_ending(self) -> bool:
        return self._ends

    def _end(self) -> None:
        """Release what the thread holds."""
        try:
            for site, leisure in self._leisure.items():
                if leisure.has_lease:
                    with working_for(site):
                        leisure.stop()
        except Exception:
            # The database may be down already; the lease ends by itself.
            logger.exception("The lease for rebuilding pages could not be released.")
        finally:
            connections.close_all()

    def _is_wanted(self) -> bool:
        """Wait until something is due; if nothing is for long, forget the thread."""
        while not self._ends:
            if self._work.is_set():
                self._work.clear()
                self._note_woken()
            wait = self._next_at() - time.monotonic()
            if wait <= 0:
                return True
            # What is due is waited for: no request may come by then.
            if self._work.wait(min(wait, IDLE)) or wait < math.inf:
                continue
            with self._lock:
                if not self._work.is_set():
                    self._thread = None
                    return False
        return False

    def _note_woken(self) -> None:
        with self._lock:
            woken, self._woken = self._woken, set()
        for tenant in woken:
            due = self._due.setdefault(tenant, _Due())
            due.notify_in(get_settings().NOTIFY_AFTER)
            due.is_changed = tenant is not _ALL


def _has_many_connections() -> bool:
    opened = connections.all(initialized_only=True)
    return sum(one.connection is not None for one in opened) > _CONNECTIONS


def is_allowed() -> bool:
    """Return whether this process may have the thread."""
    if _is_test() or not get_settings().BACKGROUND or not _has_address():
        return False
    uwsgi = sys.modules.get("uwsgi")
    # "threads" implies "enable-threads", which is not among the options then.
    if uwsgi is not None and not {"threads", "enable-threads"} & uwsgi.opt.keys():
        _warn("uWSGI runs without threads", "Start it with --enable-threads")
        return False
    if background_thread.is_patched_late():
        # Its locks would stop all requests, and these share Django's connections.
        reason = "gevent patched threads after the project was imported"
        _warn(reason, "Do not preload the project")
        return False
    return True


#: The settings that a test has changed: "testserver" may not be there meanwhile.
_changed: set[str] = set()


def _note_changed(*, setting: str, **kwargs: Any) -> None:
    _changed.add(setting)


def _is_test() -> bool:
    """
    Return whether this is a test, of which a thread would outlive the transaction.

    Django's mail backend "locmem" makes an outbox in other processes too.
    """
    is_host = "testserver" in django_settings.ALLOWED_HOSTS
    return hasattr(mail, "outbox") and (is_host or "ALLOWED_HOSTS" in _changed)


def _has_address() -> bool:
    """
    Return whether the address of a site is known that this process works for.

    Of tenants it is asked for when there is work.
    """
    if tenants.configured() is not None:
        return True
    return any(site.address() is not None for site in Site.of_process())


@cache
def _warn(reason: str, remedy: str) -> None:
    """Warn, once in a process, that nothing happens there by itself."""
    logger.warning(
        "%s: no page is rebuilt in the background, and no engine is notified. %s, or "
        "have cron run 'manage.py ping_sitemaps'.",
        reason,
        remedy,
    )


background_thread = BackgroundThread()
if hasattr(os, "register_at_fork"):  # Windows has no fork
    os.register_at_fork(after_in_child=background_thread.arm)
atexit.register(background_thread.stop)
setting_changed.connect(_note_changed, dispatch_uid="django_sitemaps_plus.thread")
