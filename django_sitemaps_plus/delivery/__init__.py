"""
Delivery: the outbox, and who empties it.

URLs wait there for each engine; a thread, Celery, Django Tasks or the command
submits them and writes the answers down.
"""

from __future__ import annotations
