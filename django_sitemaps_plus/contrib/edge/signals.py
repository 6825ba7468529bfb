"""
The signal of this app.

``documents_changed`` is sent for documents with other bytes than before, indexes and
feeds included, and for those that are new or gone: to purge a cache in front of the
site. It is sent by whoever works in the background, after the commit, once for at most
100 documents. At least once: if a receiver raises, which is logged, the same is sent to
all receivers again a minute later, and some minutes later if the process is killed. Its
arguments:

- ``sender``: None
- ``urls``: the list of their whole URLs, those of gzipped twins included
- ``tags``: the list of their cache tags, one for each document
"""

from __future__ import annotations

from django.dispatch import Signal

#: Documents are served with other bytes than before.
documents_changed = Signal()
