"""
Where the work is done that nobody waits for: a thread of the server's own process.

The thread belongs to processes that answer requests. It is started when changes were
committed, or when a request finds that a minute has passed since the last look, and
ends when there is nothing to do. Commands, tests and projects without a known address
have none: there requests and ``build_sitemaps`` do the work.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import time
from typing import Any

from django.core import mail
from django.db import connections

from . import changes, definitions, refreshing, stream
from .conf import get_settings
from .exceptions import Busy
from .origin import configured
from .registry import registry

logger = logging.getLogger("django_sitemaps_plus")

#: Seconds between two looks for work that nobody told of.
LOOK = 60.0
#: Seconds that the thread waits for more to do before it ends.
IDLE = 10.0


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
        """Have the thread look for work; started if it does not run."""
        if not self._serves or not is_allowed():
            return
        with self._lock:
            self._work.set()
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name="django-sitemaps-plus", daemon=True
                )
                self._thread.start()

    def _run(self) -> None:
        while self._is_wanted():
            self._work.clear()
            # Together with what follows at once, and surely committed.
            time.sleep(changes.WINDOW + 0.1)
            try:
                if refresh_all():
                    self._work.set()
            except Exception:
                # Whatever it is, the thread must live: the next look may go well.
                logger.exception("Looking for changed pages failed.")
            finally:
                connections.close_all()

    def _is_wanted(self) -> bool:
        """Wait for work; False, and the thread is gone, if there is none for long."""
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
    if uwsgi is not None and not uwsgi.opt.get("enable-threads"):
        return False
    return get_settings().BACKGROUND and configured() is not None


def refresh_all() -> bool:
    """
    Make the pages of all sections whose rows changed; prune the stream.

    Tells whether to look again soon: something was made, or is being made elsewhere.
    """
    place = configured()
    if place is None:
        return False
    again = False
    sources = [definitions.source(name) for name in registry.sources()]
    for source in refreshing.waiting(sources):
        try:
            again |= refreshing.refresh(source, place) > 0
        except Busy:
            again = True
        except Exception:
            # A section whose rows or storage fail must not keep others from theirs.
            logger.exception("The section %r could not be refreshed.", source.name)
    stream.prune()
    return again


background = Background()
os.register_at_fork(after_in_child=background.arm)
