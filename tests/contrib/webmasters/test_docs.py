"""The documentation lists the settings and the options of this app."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

from django.core.management import BaseCommand, load_command_class

from django_sitemaps_plus.contrib.webmasters.conf import Settings
from tests.engines.test_documents import sections

ROOT = Path(__file__).parents[3]
APP = "django_sitemaps_plus.contrib.webmasters"


def section(page: str, heading: str) -> str:
    return sections((ROOT / "docs" / f"{page}.md").read_text())[heading]


def test_the_table_of_settings_lists_what_the_app_adds() -> None:
    own = section("settings", "`contrib.webmasters`")
    listed = re.findall(r'^\| <a id="(\w+)"></a>`\w+` \| `(.+?)` \|', own, re.MULTILINE)
    known = {field.name: str(field.default) for field in dataclasses.fields(Settings)}
    assert dict(listed) == known


def test_the_table_of_options_is_the_command() -> None:
    def options(command: BaseCommand) -> set[str]:
        parser = command.create_parser("manage.py", "name")
        return {one for action in parser._actions for one in action.option_strings}

    command = load_command_class(APP, "sitemap_coverage")
    own = section("commands", "sitemap_coverage")
    listed = set(re.findall(r"^\| `(--\w+)` \|", own, re.MULTILINE))
    assert listed == options(command) - options(BaseCommand())


def test_what_is_said_of_inspections_has_at_most_600_words() -> None:
    assert len(section("webmasters", "Is it indexed?").split()) <= 600
