"""Checks of robots.txt: what it says, and what it does not say."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.core.checks import CheckMessage

from django_sitemaps_plus.protocol.robots import not_repeated
from django_sitemaps_plus.serving.robots_rules import rules

from .messages import check, message


@check()
def check_robots(**kwargs: Any) -> Iterator[CheckMessage]:
    """W050: crawlers that robots.txt names do not follow the rules for all."""
    crawlers: dict[str, list[str]] = {}
    for name, unsaid in not_repeated(rules().groups).items():
        crawlers.setdefault(", ".join(unsaid), []).append(name)
    for missing, names in crawlers.items():
        follows = "these do" if len(names) > 1 else "it does"
        yield message(
            "W050",
            f"robots.txt has a group for {', '.join(names)}, so {follows} not follow "
            f"these rules of '*': {missing}. A crawler follows only the groups that "
            "name it.",
            "Repeat them in that group of SITEMAPS_PLUS['ROBOTS'], or silence this "
            "check if the crawler may fetch these paths.",
        )
