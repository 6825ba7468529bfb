"""
Run ``check_sitemaps`` in a shop of django-oscar's.

It is filled if its database is not in the current folder yet.
"""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path

import django

warnings.simplefilter("ignore")
os.environ["DJANGO_SETTINGS_MODULE"] = "oscar_settings"
django.setup()

from django.contrib.sites.models import Site  # noqa: E402 (after the setup)
from django.core.management import CommandError, call_command  # noqa: E402 (after the setup)
from oscar.core.loading import get_model  # noqa: E402 (after the setup)

if not Path("shop.sqlite3").exists():
    call_command("migrate", verbosity=0, skip_checks=True)
    Site.objects.update(domain="shop.example.com")
    kind = get_model("catalogue", "ProductClass").objects.create(name="Book")
    for number in range(20):
        get_model("catalogue", "Product").objects.create(
            title=f"Book {number}", product_class=kind, upc=str(number)
        )
    parent = get_model("catalogue", "Category").add_root(name="Novels")
    parent.add_child(name="Short ones")
try:
    call_command("check_sitemaps", *sys.argv[1:])
except CommandError as error:
    print(f"{error.returncode}: {error}")  # noqa: T201 (the test reads it)
