"""Write the first pages of a new Wagtail project."""

from __future__ import annotations

import django

django.setup()

from home.models import HomePage  # noqa: E402 (after the setup)
from wagtail.models import Locale, Page, Site  # noqa: E402 (after the setup)

locale = Locale.objects.create(language_code="en")
root = Page.add_root(title="Root", slug="root", locale=locale)
home = root.add_child(instance=HomePage(title="Home", slug="home"))
Site.objects.create(
    hostname="www.example.com", port=443, root_page=home, is_default_site=True
)
for number in range(20):
    page = HomePage(title=f"Page {number}", slug=f"page-{number}", live=number % 5 > 0)
    home.add_child(instance=page)
    if page.live:
        page.save_revision().publish()
