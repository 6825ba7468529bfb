"""Wagtail's first pages, in a database whose tables were made without migrations."""

from __future__ import annotations

from typing import Any

from json_runner import JsonRunner


class WagtailRunner(JsonRunner):
    """Creates what Wagtail's data migrations create, which takes them a minute."""

    def setup_databases(self, **kwargs: Any) -> Any:
        databases = super().setup_databases(**kwargs)
        from wagtail.models import Locale, Page, Site

        locale = Locale.objects.create(language_code="en")
        root = Page.add_root(title="Root", slug="root", locale=locale)
        home = root.add_child(title="Welcome", slug="home", locale=locale)
        Site.objects.create(hostname="localhost", root_page=home, is_default_site=True)
        return databases
