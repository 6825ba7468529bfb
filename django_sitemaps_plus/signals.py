"""
Signals that projects may listen to.

``submission_finished`` is sent after an engine's answer settled what was submitted to
it: for alerts, for a log of one's own. It is sent once for each request that an engine
answered, after the commit, by whoever delivers (a thread, a worker, a command); what a
receiver raises is logged, and nothing else happens. Its arguments:

- ``sender``: the class of the engine
- ``engine``: its alias in the settings
- ``state``: "accepted", "rejected", or "failed" after days of trying
- ``urls``: the list of URLs that were submitted
- ``answer``: the ``engines.base.Answer``

``urls_changed`` is sent for what happened to URLs: to purge a cache, or feed a search,
within the project. It is sent after the commit, by whoever works in the background (a
thread, a worker, ``ping_sitemaps``), once for at most 500 URLs of a section. At least
once: if the process is killed while receivers run, the same is sent again some minutes
later, after newer ones perhaps. What a receiver raises is logged, and not sent to it
again. Its arguments:

- ``sender``: None
- ``section``: the name of the section
- ``added``, ``changed``, ``removed``: lists of whole URLs, none of them in two lists

``changes_written`` is for this package itself: changes, or what happened to URLs, were
written, and the background may look for them.
"""

from __future__ import annotations

import logging
from typing import Any

from django.dispatch import Signal

logger = logging.getLogger("django_sitemaps_plus")

#: An engine's answer was final for some URLs.
submission_finished = Signal()

#: Something happened to URLs of a section.
urls_changed = Signal()

#: Changes were written, after the commit.
changes_written = Signal()


def send_signal(signal: Signal, **given: Any) -> bool:
    """
    Call all receivers of a signal; return whether none of them failed.

    With DEBUG off, Django's own log of that is mail to the ADMINS only.
    """
    answers = signal.send_robust(**given)
    failed = [(who, error) for who, error in answers if isinstance(error, Exception)]
    for receiver, error in failed:
        name = getattr(receiver, "__qualname__", receiver)
        said = f"{type(error).__name__}: {error}"
        logger.error("The receiver %s failed: %s", name, said)
    return not failed
