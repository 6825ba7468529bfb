"""
The documentation as a whole: it names pages and commands of every app.

These are ``django_sitemaps_plus.contrib.audit``, ``django_sitemaps_plus.contrib.edge``,
``django_sitemaps_plus.contrib.formats``, ``django_sitemaps_plus.contrib.insight`` and
``django_sitemaps_plus.contrib.webmasters``.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from django.core.management import get_commands

from tests.support.documented import DOCS, PAGES, README, ROOT, anchors, name_of


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    for link in re.findall(r"\]\(([^)\s]+)\)", page.read_text()):
        if not link.startswith(("https://", "http://")):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            assert target.exists(), link
            assert not anchor or anchor in anchors(target), link


def test_every_page_of_the_documentation_is_listed() -> None:
    """The site's navigation is made of the lists of the index."""
    index = ROOT / "docs" / "index.md"
    listed = re.findall(r"^- \[.+?\]\(([^)]+)\)", index.read_text(), re.MULTILINE)
    assert len(listed) == len(set(listed))
    assert {page.name for page in DOCS} - {"index.md"} <= set(listed)


def test_every_command_that_is_named_exists() -> None:
    # Those of django-tenants and django-tasks-db, which tests of them run.
    theirs = {"migrate_schemas", "tenant_command", "all_tenants_command", "db_worker"}
    known = {*get_commands(), *theirs}
    for page in [README, *DOCS]:
        for line in page.read_text().splitlines():
            if "example_project/" not in line:
                named = set(re.findall(r"manage\.py (\w+)", line))
                assert named <= known, f"{name_of(page)}: {line}"
