"""What the standards say: limits, dates, locations, entries, writers, robots.txt.

The ground floor: standard library only, no I/O, no Django.
"""

from __future__ import annotations
