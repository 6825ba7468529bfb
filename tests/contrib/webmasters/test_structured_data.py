"""The types of structured data that a page declares, in each of three syntaxes."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.contrib.webmasters.structured_data import types_in


@pytest.mark.parametrize(
    ("page", "found"),
    [
        ("", set()),
        ("<p>JobPosting</p>", set()),
        ('<script>{"@type": "JobPosting"}</script>', set()),
        ('<script type="application/ld+json">{"@type": </script>', set()),
        (
            '<SCRIPT TYPE="application/ld+json; charset=utf-8">'
            '{"@graph": [{"@type": ["A", "https://schema.org/B"]}, 7]}</SCRIPT>',
            {"A", "B"},
        ),
        (
            '<script type="application/ld+json">{"@type": "A"}</script>'
            '<script type="application/ld+json">[{"x": {"@type": "s:B"}}]</script>',
            {"A", "B"},
        ),
        ('<div itemscope itemtype="http://schema.org/JobPosting">', {"JobPosting"}),
        ('<div typeof="schema:JobPosting Thing">', {"JobPosting", "Thing"}),
    ],
)
def test_types_are_found(page: str, found: set[str]) -> None:
    assert types_in(page) == found
