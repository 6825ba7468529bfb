"""What findings name in the documentation is there."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.contrib.audit.kinds import known
from tests.support.documented import ROOT, anchors


@pytest.mark.parametrize("kind", known())
def test_what_a_finding_names_has_an_anchor(kind: str) -> None:
    text = known()[kind].see.strip().removeprefix("See ").rstrip(".")
    path, _, anchor = text.partition("#")
    assert anchor in anchors(ROOT / path)
