"""A project that has not installed Django's admin."""

from __future__ import annotations

import subprocess
import sys

PROJECT = """
import django
from django.conf import settings

settings.configure(
    INSTALLED_APPS=["django_sitemaps_plus", "django_sitemaps_plus.contrib.insight"],
    TEMPLATES=[
        {"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}
    ],
)
django.setup()
from django.template import engines

# Makes the tags of all apps known, and so imports them.
print(engines["django"].from_string("{{ word }}").render({"word": "rendered"}))
"""


def test_templates_are_rendered() -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROJECT], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "rendered\n"), done.stderr
