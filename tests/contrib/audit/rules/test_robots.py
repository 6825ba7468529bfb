"""Which paths robots.txt forbids."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.contrib.audit.rules.robots import forbids
from django_sitemaps_plus.protocol.robots import Group


@pytest.mark.parametrize(
    ("path", "is_forbidden"),
    [
        ("/", False),
        ("/cart/", True),
        ("/cart/1?x=1", True),
        ("/cart/help/", False),
        ("/shopping-cart/", False),
        ("/a/print", True),
        ("/a/print/b", False),
        ("/b.pdf", True),
        ("/b.pdf?x", True),
        ("/%C3%BC/1", True),
        ("/%c3%bc/1", True),
        ("/%63art/1", True),
        ("/cart%2F1", False),
        ("/same", False),
    ],
)
def test_the_longest_rule_decides(path: str, is_forbidden: bool) -> None:
    """RFC 9309, section 2.2.2."""
    common = Group(
        ("*",),
        allow=("/cart/help/", "/same"),
        disallow=("/cart/", "/*/print$", "*.pdf", "/ü/", "/same", ""),
    )
    other = Group(("BadBot",), disallow=("/",))
    assert forbids([other, common])(path) is is_forbidden
    assert not forbids([other])(path)
