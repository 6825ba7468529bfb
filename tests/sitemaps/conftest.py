from __future__ import annotations

from tests.support.two_paths import both, page_of

__all__ = ["both", "page_of"]
