"""What the tests of the core use, too."""

from __future__ import annotations

from tests.health.conftest import sound

__all__ = ["sound"]
