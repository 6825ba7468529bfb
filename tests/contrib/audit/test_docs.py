"""What findings name in the documentation is there."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.contrib.audit.kinds import known
from tests.support.documented import ROOT, anchors


@pytest.mark.parametrize("kind", known())
def test_what_a_finding_names_has_an_anchor(kind: str) -> None:
    about = known()[kind]
    assert about.see == f'See "audit: {about.number}" in the documentation.'
    assert about.number in anchors(ROOT / "docs" / "audit.md")
