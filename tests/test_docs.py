"""The documentation says what the code does, and its examples run."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import BaseCommand, load_command_class

import django_sitemaps_plus
from django_sitemaps_plus.checks.messages import message
from django_sitemaps_plus.conf import Settings
from django_sitemaps_plus.engines.base import OptionError
from django_sitemaps_plus.engines.indexnow import IndexNow
from tests.support.documented import (
    DOCS,
    INCLUDE,
    PACKAGE,
    PAGES,
    README,
    ROOT,
    Site,
    anchors,
    blocks,
    name_of,
    site,
)

__all__ = ["site"]


#: Of system checks.
NUMBERS = sorted(
    {
        number
        for module in (PACKAGE / "checks").glob("*.py")
        for number in re.findall(r'"([EW]\d{3})"', module.read_text())
    }
)


def rows(page: Path) -> Iterator[list[str]]:
    """Yield the cells of each row of tables that begins with code, but of no app's."""
    of_the_core, _, _ = page.read_text().partition("\n## `contrib.")
    for line in of_the_core.splitlines():
        if line.startswith(("| `", "| <a id=")):
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            yield [re.sub(r"^<a id=.*></a>", "", cells[0]), *cells[1:]]


# Links


def test_what_messages_and_links_name_has_an_anchor() -> None:
    for number in NUMBERS:
        hint = str(message(number, "", "").hint)
        assert hint == f'\nSee "checks: {number}" in the documentation.'
        assert number in anchors(ROOT / "docs" / "checks.md")
    for name, anchor in named_pages():
        path = ROOT / "docs" / f"{name}.md"
        assert path.is_file()
        assert not anchor or anchor in anchors(path)
    own = {field.name for field in dataclasses.fields(Settings)}
    assert own <= anchors(ROOT / "docs" / "settings.md")


# Tables


def named_pages() -> list[tuple[str, str]]:
    """Return the pages and the places on them that messages of the package name."""
    text = "\n".join(path.read_text() for path in PACKAGE.rglob("*.py"))
    return re.findall(r"""\bpage\(['"]([\w-]+)['"](?:, ['"]([\w-]+)['"])?\)""", text)


def test_the_keys_of_examples_are_refused_until_they_are_replaced() -> None:
    """The same key at two sites, or one that is known, is worth nothing."""
    likely = re.compile(r"(?:0123456789|\b[0-9a-f]{32}\b)")
    for page in DOCS:
        assert not likely.search(page.read_text()), page.name
    for key in ("your_key", "<your key>"):
        with pytest.raises(OptionError, match="8 to 128"):
            IndexNow(alias="it", key=key)


def test_the_table_of_settings_is_the_class() -> None:
    listed = {
        cells[0].strip("`"): ast.literal_eval(cells[1].strip("`"))
        for cells in rows(ROOT / "docs" / "settings.md")
        if cells[0].strip("`").isupper()
    }
    defaults, fields = Settings(), dataclasses.fields(Settings)
    assert listed == {one.name: getattr(defaults, one.name) for one in fields}


def test_the_table_of_checks_lists_each_that_exists() -> None:
    known = [f"sitemaps_plus.{number}" for number in NUMBERS]
    listed = [cells[0].strip("`") for cells in rows(ROOT / "docs" / "checks.md")]
    assert known
    assert listed == known


def options(command: BaseCommand) -> set[str]:
    parser = command.create_parser("manage.py", "name")
    return {option for action in parser._actions for option in action.option_strings}


COMMANDS = sorted(
    path.stem for path in (PACKAGE / "management" / "commands").glob("[a-z]*.py")
)


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_of_options_is_the_command(name: str, tmp_path: Path) -> None:
    command = load_command_class("django_sitemaps_plus", name)
    own = options(command) - options(BaseCommand())
    text = (ROOT / "docs" / "commands.md").read_text()
    page = tmp_path / "section.md"
    page.write_text(text.partition(f"\n## {name}\n")[2].partition("\n## ")[0])
    listed = {cells[0].strip("`") for cells in rows(page)}
    assert own
    assert listed == own


def test_every_public_name_is_explained() -> None:
    pages = ["sitemaps", "images-videos-news", "changes", "notifying", "tenants"]
    text = "".join((ROOT / "docs" / f"{page}.md").read_text() for page in pages)
    for name in django_sitemaps_plus.__all__:
        assert name in text


def test_the_page_of_the_api_has_all_that_examples_import() -> None:
    """Code that follows the documentation may build upon nothing else."""
    api = (ROOT / "docs" / "api.md").read_text()
    imported = set(django_sitemaps_plus.__all__)
    for _, block in examples():
        for node in ast.walk(ast.parse(block)):
            if isinstance(node, ast.ImportFrom) and PACKAGE.name in str(node.module):
                imported |= {alias.name for alias in node.names}
    assert {name for name in imported if not re.search(rf"\b{name}\b", api)} == set()


# The README


def test_the_readme_has_two_commands_for_a_fresh_clone() -> None:
    see, test = blocks(README, "sh")
    assert "show_sitemap" in see
    assert "pytest" in test
    assert see.count("\n") == test.count("\n") == 1


@pytest.mark.parametrize(
    ("page", "most"), [("README.md", 450), ("docs/ARCHITECTURE.md", 1_500)]
)
def test_a_page_that_is_read_first_stays_short(page: str, most: int) -> None:
    assert len((ROOT / page).read_text().split()) <= most


def test_the_lines_of_the_readme_that_move_a_site_are_those_of_the_page() -> None:
    (changed,) = blocks(README, "diff")
    added = re.findall(r"^\+(.+)$", changed, re.MULTILINE)
    page = (ROOT / "docs" / "moving-from-contrib.md").read_text()
    assert len(added) == 2
    for line in added:
        package, _, name = line.partition(" import ")
        assert re.search(rf"^{package} import (\w+, )*{name}\b", page, re.MULTILINE)


# Figures


@pytest.mark.parametrize(
    ("page", "start"),
    [(README, "## How fast"), (ROOT / "docs" / "why-not-contrib.md", "In figures")],
    ids=["README.md", "why-not-contrib.md"],
)
def test_quoted_figures_are_those_that_were_printed(page: Path, start: str) -> None:
    printed = (ROOT / "docs" / "figures.md").read_text()
    quoted = page.read_text().partition(f"\n{start}")[2].partition("\n## ")[0]
    figures = set(re.findall(r"\d[\d.,]*\d", quoted))
    assert figures
    assert figures <= set(re.findall(r"\d[\d.,]*\d", printed))


# Examples


def examples() -> list[tuple[str, str]]:
    return [
        (f"{name_of(page)}:{index}", block)
        for page in PAGES
        for index, block in enumerate(blocks(page, "python"))
    ]


def test_python_in_the_documentation_compiles() -> None:
    for name, block in examples():
        compile(block, name, "exec")


CONTRIB_SITEMAPS = """
from django.contrib.sitemaps import GenericSitemap, Sitemap

from .models import Article

class ArticleSitemap(Sitemap):
    def items(self):
        return Article.objects.all()

    def lastmod(self, item):
        return item.updated

sitemaps = {
    "news": ArticleSitemap,
    "generic": GenericSitemap(
        {"queryset": Article.objects.all(), "date_field": "updated"}, priority=0.5
    ),
}
"""
ENTRY = (
    "<url><loc>https://www.example.com/articles/first/</loc>"
    "<lastmod>2026-03-01T09:30:00+00:00</lastmod></url>"
)


def test_the_readmes_example_runs(site: Site) -> None:
    for block in blocks(README, "python"):
        site.add_example(block)
    told = site.visit("build_sitemaps", "/sitemap.xml", "/robots.txt")
    assert "Section 'article': 1 page, 1 entry; 1 built, 0 unchanged." in told
    assert ENTRY in told
    assert "Sitemap: https://www.example.com/sitemap.xml" in told


def moving(start: str) -> str:
    """Return the block of the page for those who move over that begins so."""
    page = ROOT / "docs" / "moving-from-contrib.md"
    (block,) = (block for block in blocks(page, "python") if block.startswith(start))
    return block


def test_moving_over_is_one_changed_import_and_no_app(site: Site) -> None:
    first, *rest = CONTRIB_SITEMAPS.strip().splitlines(keepends=True)
    assert first.startswith("from django.contrib.sitemaps import")
    site.add_example(moving("# news/sitemaps.py\nfrom django_sitemaps_plus import G"))
    site.add("news/sitemaps.py", "".join(rest))
    site.add_example(moving("# urls.py"))
    told = site.visit("/sitemap.xml", "/sitemap-news.xml", "/sitemap-generic.xml?p=1")
    assert "<loc>https://www.example.com/sitemap-generic.xml</loc>" in told
    assert ENTRY in told
    assert "<priority>0.5</priority>" in told


def test_contribs_dict_named_in_the_settings_is_paged_by_key(site: Site) -> None:
    site.add("news/sitemaps.py", CONTRIB_SITEMAPS)
    site.add_example(moving("# settings.py"))
    site.add("urls.py", INCLUDE)
    told = site.visit("build_sitemaps", "/sitemap-news.xml", "/sitemap-generic-1.xml")
    assert "Section 'generic': 1 page, 1 entry; 1 built, 0 unchanged." in told
    assert ENTRY in told


def test_the_page_of_several_sites_runs(site: Site) -> None:
    for block in blocks(ROOT / "docs" / "several-sites.md", "python"):
        if not block.startswith("# mysite/settings_shop.py"):
            site.add_example(block)
    site.add("news/views.py", "def article(request, slug): ...\n")
    site.add("settings.py", 'INSTALLED_APPS += ["django_sitemaps_plus"]\n')
    site.add("urls.py", INCLUDE)
    told = site.visit("build_sitemaps", "/sitemap.xml")
    assert "Site 'blog':\nSection 'article': 1 page, 1 entry; 1 built" in told
    assert "<url><loc>https://www.example.com/articles/first/</loc></url>" in told


def test_the_page_of_a_front_end_runs_where_django_has_a_host_of_its_own(
    site: Site,
) -> None:
    site.add("settings.py", '\nINSTALLED_APPS += ["django_sitemaps_plus"]\n')
    for block in blocks(ROOT / "docs" / "headless.md", "python"):
        if block.startswith("# "):
            site.add_example(block)
    told = site.visit("build_sitemaps", "/sitemap.xml", "/robots.txt")
    assert "Section 'article': 1 page, 1 entry; 1 built, 0 unchanged." in told
    assert "<loc>https://www.example.com/news/first</loc>" in told
    assert "<loc>https://www.example.com/about</loc>" in told
    assert "Sitemap: https://www.example.com/sitemap.xml" in told
