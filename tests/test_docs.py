"""The documentation says what the code does, and its examples run."""

from __future__ import annotations

import ast
import dataclasses
import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.core.management import BaseCommand, get_commands, load_command_class

import django_sitemaps_plus
from django_sitemaps_plus.checks.messages import message
from django_sitemaps_plus.conf import Settings
from tests.support.fakes.server import FakeServer

ROOT = Path(__file__).parent.parent
PACKAGE = Path(django_sitemaps_plus.__file__).parent
README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("[a-z]*/README.md")), *DOCS]


#: Of system checks.
NUMBERS = sorted(
    {
        number
        for module in (PACKAGE / "checks").glob("*.py")
        for number in re.findall(r'"([EW]\d{3})"', module.read_text())
    }
)


def name_of(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[str]:
    """Return the fenced blocks of a page that are in ``language``."""
    fenced = re.compile(rf"^```{language}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return fenced.findall(page.read_text())


def rows(page: Path) -> Iterator[list[str]]:
    """Yield the cells of each row of tables that begins with code, but of no app's."""
    of_the_core, _, _ = page.read_text().partition("\n## `contrib.")
    for line in of_the_core.splitlines():
        if line.startswith(("| `", "| <a id=")):
            cells = [cell.strip() for cell in line.strip("|").split(" | ")]
            yield [re.sub(r"^<a id=.*></a>", "", cells[0]), *cells[1:]]


def anchors(page: Path) -> set[str]:
    """Return what can stand behind ``#`` in a link to a page, as GitHub makes it."""
    text = page.read_text()
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return set(re.findall(r'<a id="([^"]+)"></a>', text)) | {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        for heading in headings
    }


# Links


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


def test_what_messages_and_links_name_has_an_anchor() -> None:
    named = [str(message(number, "", "").hint) for number in NUMBERS]
    for text in named:
        path, _, anchor = text.strip().removeprefix("See ").rstrip(".").partition("#")
        assert anchor in anchors(ROOT / path), text
    own = {field.name for field in dataclasses.fields(Settings)}
    assert own <= anchors(ROOT / "docs" / "settings.md")


# Tables


def test_the_table_of_settings_is_the_class() -> None:
    listed = {
        cells[0].strip("`"): ast.literal_eval(cells[1].strip("`"))
        for cells in rows(ROOT / "docs" / "settings.md")
        if cells[0].strip("`").isupper()
    }
    defaults = Settings()
    assert listed == {
        field.name: getattr(defaults, field.name)
        for field in dataclasses.fields(Settings)
    }


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
    _, _, section = text.partition(f"\n## {name}\n")
    section, _, _ = section.partition("\n## ")
    page = tmp_path / "section.md"
    page.write_text(section)
    listed = {cells[0].strip("`") for cells in rows(page)}
    assert own
    assert listed == own


def test_every_command_that_is_named_exists() -> None:
    # Those of django-tenants and django-tasks-db, which tests of them run.
    theirs = {"migrate_schemas", "tenant_command", "all_tenants_command", "db_worker"}
    known = {*get_commands(), *theirs}
    for page in [README, *DOCS]:
        for line in page.read_text().splitlines():
            if "example_project/" not in line:
                named = set(re.findall(r"manage\.py (\w+)", line))
                assert named <= known, f"{name_of(page)}: {line}"


def test_every_public_name_is_explained() -> None:
    pages = [
        ROOT / "docs" / name
        for name in (
            "sitemaps.md",
            "images-videos-news.md",
            "changes.md",
            "notifying.md",
            "tenants.md",
        )
    ]
    text = "".join(page.read_text() for page in pages)
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
    _, _, quoted = page.read_text().partition(f"\n{start}")
    quoted, _, _ = quoted.partition("\n## ")
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


@pytest.mark.parametrize(
    "block", [pytest.param(block, id=name) for name, block in examples()]
)
def test_python_in_the_documentation_compiles(block: str) -> None:
    compile(block, "example", "exec")


SETTINGS = """
SECRET_KEY = "an example"
ROOT_URLCONF = "urls"
ALLOWED_HOSTS = ["www.example.com"]
INSTALLED_APPS = ["news"]
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "test.db"}}
TIME_ZONE = "UTC"
"""
URLS = """
from django.http import HttpResponse
from django.urls import include, path

def page(request, **kwargs):
    return HttpResponse("")

urlpatterns = [
    path("", page, name="home"),
    path("about/", page, name="about"),
    path("articles/<slug:slug>/", page, name="article"),
]
"""
MODELS = """
from django.db import models
from django.urls import reverse

class Article(models.Model):
    slug = models.SlugField()
    updated = models.DateTimeField()

    def get_absolute_url(self):
        return reverse("article", kwargs={"slug": self.slug})
"""
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
VISIT = """
import sys
from datetime import UTC, datetime

import django

django.setup()

from django.conf import settings
from django.core.management import call_command
from django.test import Client

call_command("makemigrations", "news", verbosity=0)
call_command("migrate", verbosity=0)
call_command("check", "--database", "default", "--fail-level", "WARNING", verbosity=0)

from news.models import Article

updated = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)
Article.objects.create(slug="first", updated=updated)
for address in sys.argv[1:]:
    if address.startswith("/"):
        client = Client(headers={"host": settings.ALLOWED_HOSTS[0]})
        response = client.get(address, secure=True)
        print(response.status_code, response.content.decode())
    elif address == "--":
        print("--")
    else:
        call_command(address)
"""
ENTRY = (
    "<url><loc>https://www.example.com/articles/first/</loc>"
    "<lastmod>2026-03-01T09:30:00+00:00</lastmod></url>"
)


class Site:
    """A project that is written file by file, and visited by another process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in {
            "settings.py": SETTINGS,
            "urls.py": URLS,
            "news/__init__.py": "",
            "news/models.py": MODELS,
            "news/migrations/__init__.py": "",
        }.items():
            self.add(name, text)

    def add(self, name: str, text: str) -> None:
        """Add to a file, or begin it."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as file:
            file.write(text)

    def add_example(self, block: str) -> None:
        """Add a block in which a comment names the file of what follows it."""
        _, *parts = re.split(r"^# ([\w/]+\.py)\b", block, flags=re.MULTILINE)
        for name, text in zip(parts[::2], parts[1::2], strict=True):
            self.add(name, f"#{text}")

    def visit(self, *addresses: str) -> str:
        """Migrate, check, then run commands and ask for addresses; return it all."""
        done = subprocess.run(
            [sys.executable, "-W", "error", "-c", VISIT, *addresses],
            cwd=self.folder,
            env={
                **os.environ,
                "DJANGO_SETTINGS_MODULE": "settings",
                "PYTHONPATH": str(PACKAGE.parent),
                "TMPDIR": str(self.folder),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout


@pytest.fixture
def site(tmp_path: Path) -> Site:
    return Site(tmp_path)


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
    classes, views = (
        moving("from django_sitemaps_plus import G"),
        moving("from django_sitemaps_plus import v"),
    )
    first, *rest = CONTRIB_SITEMAPS.strip().splitlines(keepends=True)
    assert first.startswith("from django.contrib.sitemaps import")
    site.add("news/sitemaps.py", classes + "".join(rest))
    site.add("urls.py", f"{views}from news.sitemaps import sitemaps\n")
    site.add_example(moving("# urls.py"))
    told = site.visit("/sitemap.xml", "/sitemap-news.xml", "/sitemap-generic.xml?p=1")
    assert "<loc>https://www.example.com/sitemap-generic.xml</loc>" in told
    assert ENTRY in told
    assert "<priority>0.5</priority>" in told


INCLUDE = (
    'urlpatterns = [path("", include("django_sitemaps_plus.urls")), *urlpatterns]\n'
)


def test_contribs_dict_named_in_the_settings_is_paged_by_key(site: Site) -> None:
    site.add("news/sitemaps.py", CONTRIB_SITEMAPS)
    site.add_example(moving("# settings.py"))
    site.add("urls.py", INCLUDE)
    told = site.visit("build_sitemaps", "/sitemap-news.xml", "/sitemap-generic-1.xml")
    assert "Section 'generic': 1 page, 1 entry; 1 built, 0 unchanged." in told
    assert ENTRY in told


def test_the_page_of_several_sites_runs(site: Site) -> None:
    for block in blocks(ROOT / "docs" / "several-sites.md", "python"):
        if not block.startswith("# settings_shop.py"):
            site.add_example(block)
    site.add("news/views.py", "def post(request, slug): ...\n")
    site.add("settings.py", 'INSTALLED_APPS += ["django_sitemaps_plus"]\n')
    site.add("urls.py", INCLUDE)
    told = site.visit("build_sitemaps", "/sitemap.xml")
    assert "Site 'blog':\nSection 'article': 1 page, 1 entry; 1 built" in told
    assert "<url><loc>https://www.example.com/articles/first/</loc></url>" in told


def test_the_page_of_a_front_end_runs_where_django_has_a_host_of_its_own(
    site: Site,
) -> None:
    settings = '\nINSTALLED_APPS += ["django_sitemaps_plus"]\n'
    site.add("settings.py", settings)
    for block in blocks(ROOT / "docs" / "headless.md", "python"):
        if block.startswith("# "):
            site.add_example(block)
    told = site.visit("build_sitemaps", "/sitemap.xml", "/robots.txt")
    assert "Section 'article': 1 page, 1 entry; 1 built, 0 unchanged." in told
    assert "<loc>https://www.example.com/news/first</loc>" in told
    assert "<loc>https://www.example.com/about</loc>" in told
    assert "Sitemap: https://www.example.com/sitemap.xml" in told


SECTION = """
from django_sitemaps_plus import Sitemap, register
from .models import Article

@register
class ArticleSitemap(Sitemap):
    model = Article
"""
MONITORED = """
INSTALLED_APPS += [
    "django_sitemaps_plus",
    "django_sitemaps_plus.contrib.insight",
]
SITEMAPS_PLUS = {
    "BASE_URL": "https://www.example.com",
    "ENGINES": {"memory": {"BACKEND": "django_sitemaps_plus.engines.memory.Memory"}},
}
"""
EXPORTED = """
from django.http import HttpResponse
from prometheus_client import generate_latest

urlpatterns += [path("metrics/", lambda request: HttpResponse(generate_latest()))]
"""
#: Where the recipes are asked, before and after the pages are built.
ASKED = ("/health/sitemaps/", "/metrics/sitemaps/", "/metrics/")


@pytest.fixture
def monitored(site: Site) -> Site:
    """A site with all recipes of the page about monitoring."""
    site.add("news/sitemaps.py", SECTION)
    site.add("settings.py", MONITORED)
    site.add("urls.py", INCLUDE)
    page = ROOT / "docs" / "monitoring.md"
    for block in blocks(page, "python"):
        if block.startswith("# "):
            site.add_example(block)
    site.add("urls.py", EXPORTED)
    return site


def test_the_recipes_for_prometheus_and_for_a_health_endpoint_run(
    monitored: Site,
) -> None:
    work = ("build_sitemaps", "notify_engines")
    told = monitored.visit(*ASKED, "--", *work, "--", *ASKED)
    before, _, after = told.split("--\n")
    wrong = '503 {"wrong": ["Section \'article\' was never built'
    assert wrong in before
    assert after.startswith('200 {"wrong": []}\n')
    # Exported by the view of the page, and by the registry of the process.
    assert before.count("\nsitemaps_waiting 1.0\n") == 2
    for name in ("waiting", "paused_engines", "unbuilt_pages", "left_out_rows"):
        assert after.count(f"\nsitemaps_{name} 0.0\n") == 2
    for name in ("unbuilt_pages", "left_out_rows"):
        assert f"sitemaps_{name} " not in before


def check_ins(sentry: FakeServer) -> list[tuple[str, str]]:
    """Return the slug and the state of each check-in that a server was sent."""
    lines = [
        json.loads(line)
        for request in sentry.requests
        for line in gzip.decompress(request.body).splitlines()
    ]
    found = [line for line in lines if "check_in_id" in line]
    return [(one["monitor_slug"], one["status"]) for one in found]


def test_the_recipe_for_sentry_says_how_the_command_ended(
    monitored: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FakeServer() as sentry:
        monkeypatch.setenv("SENTRY_DSN", f"http://key@{sentry.host}/1")
        monitored.visit("build_sitemaps", "notify_engines")
        slug = "ping-sitemaps"
        assert check_ins(sentry) == [(slug, "in_progress"), (slug, "ok")]
        sentry.requests.clear()
        monitored.add("settings.py", "DEBUG = True\n")
        with pytest.raises(AssertionError, match="DEBUG is on"):
            monitored.visit("notify_engines")
        assert check_ins(sentry) == [(slug, "in_progress"), (slug, "error")]
