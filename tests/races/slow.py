"""Articles on a few pages, and builders that are stopped."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from tests.support.helpers import later
from tests.support.processes import within
from tests.testapp.models import Article

from .ground import END, Ground
from .truth import Entry
from .writer import FIRST

#: Articles that there are at the beginning, with keys from 1 on.
COUNT = 30
#: More than ``VERIFY_AFTER``, and less than a day.
HOURS = 3 * 3600


@contextmanager
def ground(folder: Path, sections: str, count: int = COUNT) -> Iterator[Ground]:
    """Stand where all articles are listed."""
    Article.objects.bulk_create(
        Article(pk=pk, slug=f"a{pk}", updated=FIRST) for pk in range(1, count + 1)
    )
    made = Ground(folder, sections)
    with made.stack:
        yield made


def locations(entries: Sequence[Entry]) -> list[str]:
    """Return what entries are of."""
    return [entry.location for entry in entries]


def path_of(slug: str) -> str:
    """Return an article's path."""
    return f"/articles/{slug}/"


def expected() -> list[str]:
    """Return the paths of all articles, in the order of their keys."""
    rows = Article.objects.filter(live=True).order_by("pk")
    return [path_of(slug) for slug in rows.values_list("slug", flat=True)]


def begin_slowly(site: Ground) -> None:
    """Have a change of the first page wait, and whoever builds a page."""
    site.manage("build_sitemaps")
    later(3000, "read_at", "verified_at", "asked_at", "changed_at")
    site.nursery.run("save", slugs=[[3, "new"]])
    (site.folder / "wait").touch()


def stop(site: Ground, process: subprocess.Popen[bytes]) -> None:
    """Stop a process politely in the middle of a page."""
    process.terminate()
    time.sleep(0.5)
    (site.folder / "wait").unlink()
    process.wait(END)


def check_given_back(site: Ground) -> None:
    """Nothing is held, and whoever comes next builds at once."""
    assert not site.built()
    assert within(5, lambda: not site.held()), site.held()
    assert locations(site.shown("slow")) == expected()
