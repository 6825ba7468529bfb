"""Old and new code side by side, under saves."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from django_sitemaps_plus.models import Page

from .ground import Ground
from .slow import COUNT, expected, ground, locations, path_of

pytestmark = pytest.mark.django_db(transaction=True, databases=["default", "other"])


def watch(seconds: float, pages: dict[int, list[str]]) -> None:
    """Note each page's definitions, one after the other, for some seconds."""
    over = time.monotonic() + seconds
    while time.monotonic() < over:
        for number, digest in Page.objects.values_list("number", "digest"):
            if pages.setdefault(number, [digest])[-1] != digest:
                pages[number].append(digest)
        time.sleep(0.01)


@pytest.mark.parametrize("definition", ["priority", "lastmod"])
def test_old_and_new_code_side_by_side(definition: str, tmp_path: Path) -> None:
    """No page goes back and forth, and engines hear once of each URL."""
    with ground(tmp_path, "old") as site:
        site.manage("build_sitemaps")
        before = site.versions()
        definitions: dict[int, list[str]] = {}
        watch(0.1, definitions)
        stop, paths = str(tmp_path / "stop"), site.pages("news")
        # What was started later is newer.
        sides = [site.nursery, site.another(sections=definition)]
        told = {"stop": stop, "folder": str(tmp_path)}
        workers = [
            (side, side.start("worker", name=str(number), **told))
            for number, side in enumerate(sides)
        ]
        askers = [(side, side.start("asker", paths=paths, **told)) for side in sides]
        saved = {pk: f"saved-{pk}" for pk in range(2, COUNT, 2)}
        half = len(saved) // 2
        turns = [list(saved.items())[:half], list(saved.items())[half:]]
        savers = [
            (side, side.start("save", slugs=slugs, pause=0.3))
            for side, slugs in zip(sides, turns, strict=True)
        ]
        watch(3, definitions)
        for side, pid in savers:
            side.wait(pid)
        site.nursery = sides[1]
        site.settle()
        watch(1, definitions)
        (tmp_path / "stop").touch()
        for side, pid in workers:
            side.wait(pid)
        assert all(set(side.wait(pid)) == {"200"} for side, pid in askers)

        assert all(len(known) <= 2 for known in definitions.values()), definitions
        assert {known[-1] for known in definitions.values()} == {
            known[-1] for known in definitions.values() if len(known) == 2
        }, "all are the new code's"
        assert locations(site.shown("news")) == expected()
        check_few_versions(before, site.versions(), len(saved))
        check_told_once(site, saved, definition)


def check_few_versions(before: Sequence[Any], after: Sequence[Any], saves: int) -> None:
    """A page is built once for each save, and once for the new code."""
    built = sum(row[2] for row in after) - sum(row[2] for row in before)
    assert built <= saves + 2 * len(after), (before, after)


def check_told_once(site: Ground, saved: dict[int, str], definition: str) -> None:
    """
    What was saved, and where it was before; and all if their lastmods are new.

    The new code's first build of a page may list what is committed just then, and was
    not recorded yet: that is told twice.
    """
    new = {path_of(slug) for slug in saved.values()}
    former = {path_of(f"a{pk}") for pk in saved}
    others = set(expected()) - new
    most = Counter(new | former)
    if definition == "lastmod":
        most.update(new | former | others)
    events = Counter(event.location for event in site.events())
    posts = Counter({path: len(found) for path, found in site.posts().items()})
    for found in (events, posts):
        assert new | former <= found.keys()
        assert (found - most).total() <= len(site.pages("news")), found - most
