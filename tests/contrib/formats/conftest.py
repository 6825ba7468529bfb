from __future__ import annotations

from tests.engines.conftest import site

__all__ = ["site"]
