"""A small site of numbered rows, as crawlers see it."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable
from typing import Any

from django.test import Client

from django_sitemaps_plus.models import Page
from django_sitemaps_plus.sitemaps import sections
from django_sitemaps_plus.sitemaps.sections import SectionSource
from tests.support.helpers import later
from tests.support.ledger_kinds import KINDS, Kind
from tests.support.ledger_world import HOURS, read_entries, sitemap_class

_PAGE = re.compile(r"<loc>https://www\.example\.com/sitemap-[\w-]+-(\d+)\.xml</loc>")


def path(number: int, revision: int = 0) -> str:
    """Return a row's location, as it is or as ``Site.rename`` leaves it."""
    return f"/things/r{number}-{revision}/"


class Site:
    """A section whose rows are called by their numbers, from 0."""

    def __init__(
        self,
        register: Callable[..., Any],
        kind: Kind = KINDS["integers"],
        limit: int = 10,
        name: str = "site",
        **attributes: Any,
    ) -> None:
        self.name = name
        self.kind = kind
        self.client = Client()
        kind.empty()
        register(name, sitemap_class(kind, limit, **attributes))

    @property
    def source(self) -> SectionSource:
        """The section as it is read."""
        return sections.source(self.name)

    def insert(self, numbers: Iterable[int]) -> None:
        """Add rows."""
        (column,) = self.kind.columns
        self.kind.insert(
            [{column: number, "slug": f"r{number}-0"} for number in numbers]
        )

    def delete(self, numbers: Iterable[int]) -> None:
        """Delete rows."""
        (column,) = self.kind.columns
        self.kind.all().filter(**{f"{column}__in": list(numbers)}).delete()

    def rename(self, *numbers: int, save: bool = True) -> None:
        """Give rows another location: see ``path``; by SQL if not by ``save()``."""
        for row in self.kind.all().filter(pk__in=numbers).order_by("pk"):
            row.slug = f"r{row.pk}-1"
            if save:
                row.save()
            else:
                self.kind.all().filter(pk=row.pk).update(slug=row.slug)

    def rows(self) -> list[int]:
        """Return the numbers of all rows."""
        (column,) = self.kind.columns
        return sorted(self.kind.all().values_list(column, flat=True))

    def pages(self) -> list[Page]:
        """Return the ledger's pages in the order of their keys."""
        found = Page.objects.select_related("section").order_by("position")
        return list(found.filter(section__name=self.name))

    def page(self, number: int) -> Page:
        """Return one of the ledger's pages."""
        return next(page for page in self.pages() if page.number == number)

    def get(self, number: int | None = None) -> Any:
        """Ask for a page, or for the section's address."""
        part = "" if number is None else f"-{number}"
        return self.client.get(f"/sitemap-{self.name}{part}.xml")

    def shown(self, number: int | None = None) -> list[int]:
        """Return the numbers of the rows on a page, or at the section's address."""
        answer = self.get(number)
        assert answer.status_code == 200, answer.content
        entries = read_entries(answer.content.decode()).entries
        return [entry.rank for entry in entries]

    def index(self) -> list[int]:
        """Return the numbers of the pages that the section's address lists."""
        answer = self.get()
        assert answer.status_code == 200, answer.content
        assert b"<sitemapindex" in answer.content, answer.content
        return [int(number) for number in _PAGE.findall(answer.content.decode())]

    def crawl(self) -> dict[int, list[int]]:
        """Return what a crawler finds: each page's rows (0: the address's own)."""
        body = self.get().content.decode()
        if "<urlset" in body:
            return {0: [entry.rank for entry in read_entries(body).entries]}
        return {int(number): self.shown(number) for number in _PAGE.findall(body)}

    def settle(self) -> dict[int, list[int]]:
        """Let hours pass, with crawlers coming by; return what they find then."""
        for _ in range(2):
            later(HOURS, "verified_at")
            self.crawl()
        return self.crawl()

    def check_ranges(self) -> None:
        """No page shows another's rows."""
        found = self.pages()
        lowers = [page.lower and int(json.loads(page.lower)[0]) for page in found]
        for page, lower, upper in zip(found, lowers, [*lowers[1:], None], strict=True):
            for number in self.shown(page.number):
                assert lower is None or lower <= number, page
                assert upper is None or number < upper, page

    def check(self) -> None:
        """In the end every row is on one page, in order, and no page is too large."""
        found = self.settle()
        everything = sorted(number for page in found.values() for number in page)
        assert everything == self.rows()
        for page in self.pages():
            assert page.number not in found or page.entries == len(found[page.number])
        assert all(page == sorted(page) for page in found.values())
        assert max(map(len, found.values())) <= int(self.source.sitemap.limit)
