"""Which paths robots.txt forbids."""

from __future__ import annotations

from django_sitemaps_plus.contrib.audit.rules.robots import forbids
from django_sitemaps_plus.protocol.robots import Group


def test_the_longest_rule_decides() -> None:
    """RFC 9309, section 2.2.2."""
    common = Group(
        ("*",),
        allow=("/cart/help/", "/same"),
        disallow=("/cart/", "/*/print$", "*.pdf", "/ü/", "/same", ""),
    )
    other = Group(("BadBot",), disallow=("/",))
    paths = {
        True: "/cart/ /cart/1?x=1 /a/print /b.pdf /b.pdf?x "
        "/%C3%BC/1 /%c3%bc/1 /%63art/1",
        False: "/ /cart/help/ /shopping-cart/ /a/print/b /cart%2F1 /same",
    }
    for is_forbidden, some in paths.items():
        for path in some.split():
            assert forbids([other, common])(path) is is_forbidden, path
            assert not forbids([other])(path)
