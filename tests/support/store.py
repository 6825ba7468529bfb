"""Have a site live with this version, and write the file of ``stored``."""

from __future__ import annotations

import json
import os
import time
from typing import Any

import django


def main() -> None:
    """Write the file of ``stored``."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.settings"
    django.setup()
    from django.core.serializers.json import DjangoJSONEncoder
    from django.test import override_settings
    from django.test.runner import DiscoverRunner

    from tests.support import stored

    runner = DiscoverRunner(verbosity=0)
    databases = runner.setup_databases()
    try:
        with override_settings(SITEMAPS_PLUS=stored.SETTINGS, STORAGES=stored.STORAGES):
            live()
            content = {
                "at": time.time(),
                "migrations": {one: stored.digests(one) for one in stored.labels()},
                "rows": {one: rows(one) for one in stored.labels()},
            }
        text = json.dumps(content, cls=DjangoJSONEncoder, indent=1)
        stored.FILE.write_text(text + "\n")
    finally:
        runner.teardown_databases(databases)


def live() -> None:
    """Do what a site does, and leave some of it undone."""
    from django.core.management import call_command, get_commands
    from django.test import Client

    from django_sitemaps_plus import hooks
    from django_sitemaps_plus.delivery import background
    from django_sitemaps_plus.sitemaps.registry import registry
    from django_sitemaps_plus.sitemaps.site import Site
    from tests.support import stored
    from tests.testapp.models import Article, Category

    for app in stored.of_apps():
        app.begin()
    for name, section in stored.SECTIONS.items():
        registry.add(name, section)
    address = Site.current().address()
    assert address is not None

    Article.objects.bulk_create(map(stored.article, [1, 2, 3]))
    call_command("build_sitemaps", verbosity=0)
    stored.listed(Client(headers={"User-Agent": "Googlebot/2.1"}))
    hooks.store(process_ends=True)
    Category.objects.get().save()
    stored.article(4).save()
    call_command("ping_sitemaps", verbosity=0)
    if "check_sitemaps" in get_commands():
        call_command("check_sitemaps", verbosity=0)
    stored.article(5).save()
    background.prepare(address)
    stored.article(6).save()


def rows(label: str) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of an app's tables, each table after those that it refers to."""
    from django.apps import apps
    from django.db.models import BinaryField

    def depth(model: Any) -> int:
        targets = [one.related_model for one in model._meta.fields if one.is_relation]
        return 1 + max(map(depth, targets), default=0)

    found = {}
    for model in sorted(apps.get_app_config(label).get_models(), key=depth):
        found[model.__name__] = [
            {
                field.attname: field.value_to_string(row)
                if isinstance(field, BinaryField)
                else getattr(row, field.attname)
                for field in model._meta.fields
            }
            for row in model._default_manager.order_by("pk")
        ]
    return found


if __name__ == "__main__":
    main()
