"""
Delivery: the outbox, and who empties it.

URLs wait there for each engine; a thread, Celery, Django Tasks or the command submits
them and stores the answers.
"""

from __future__ import annotations
