"""The pages of the documentation, and a project that does as they say."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import django_sitemaps_plus

ROOT = Path(__file__).parents[2]
PACKAGE = Path(django_sitemaps_plus.__file__).parent
README = ROOT / "README.md"
DOCS = sorted((ROOT / "docs").glob("*.md"))
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("[a-z]*/README.md")), *DOCS]


def name_of(page: Path) -> str:
    """Return the path of a page from the root."""
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[str]:
    """Return the fenced blocks of a page that are in ``language``."""
    fenced = re.compile(rf"^```{language}\n(.*?)^```$", re.MULTILINE | re.DOTALL)
    return fenced.findall(page.read_text())


def anchors(page: Path) -> set[str]:
    """Return what can stand behind ``#`` in a link to a page, as GitHub makes it."""
    text = page.read_text()
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return set(re.findall(r'<a id="([^"]+)"></a>', text)) | {
        re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
        for heading in headings
    }


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
INCLUDE = (
    'urlpatterns = [path("", include("django_sitemaps_plus.urls")), *urlpatterns]\n'
)
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
        """Add to a file, or begin it, with a key in place of what stands for one."""
        text = text.replace("<your key>", "0123456789abcdef")
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
    """A project without anything of this package."""
    return Site(tmp_path)
