"""
System checks: what is wrong with settings and sitemaps, and what to type instead.

The ids are listed in ``docs/checks.md``. Checks that ask a database run only with
``manage.py check --database default`` and on ``migrate``, as Django's own do.
"""

from __future__ import annotations

from . import (  # noqa: F401 (each module registers its checks)
    answers,
    database,
    engines,
    leaving_out,
    recording,
    registration,
    robots,
    sections,
    settings,
    tenants,
    urls,
)
