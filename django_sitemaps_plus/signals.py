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

``changes_written`` is for this package itself: changes, or what happened to URLs, were
written, and the background may look for them.
"""

from __future__ import annotations

from django.dispatch import Signal

#: An engine's answer was final for some URLs.
submission_finished = Signal()

#: Changes were written, after the commit.
changes_written = Signal()
