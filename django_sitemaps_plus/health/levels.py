"""Levels of severity: the same for alerts and for what apps find."""

from __future__ import annotations

from typing import Final

#: Something is not listed or not submitted until somebody acts: commands end with 1.
ERROR: Final = "error"
#: Something should be better.
WARNING: Final = "warning"
#: Nobody has looked, or has to act.
NOTE: Final = "note"
