"""A shop of django-oscar's apps in several languages, and this app."""

from __future__ import annotations

import os

from base_settings import *  # noqa: F403 (as settings do)
from base_settings import INSTALLED_APPS, MIDDLEWARE, on_disk
from oscar.defaults import *  # noqa: F403 (as settings do)

DATABASES = on_disk("shop.sqlite3")
ROOT_URLCONF = "shop_urls"
LANGUAGE_CODE = "en-gb"
LANGUAGES = [("en-gb", "English"), ("de", "German"), ("fr", "French")]
HAYSTACK_CONNECTIONS = {
    "default": {"ENGINE": "haystack.backends.simple_backend.SimpleEngine"}
}
_OSCAR = {
    **{name: name.title() for name in ("analytics", "checkout", "address", "shipping")},
    **{name: name.title() for name in ("catalogue", "communication", "partner")},
    **{name: name.title() for name in ("basket", "payment", "offer", "order")},
    **{name: name.title() for name in ("customer", "search", "voucher", "wishlists")},
    "catalogue.reviews": "CatalogueReviews",
    "dashboard": "Dashboard",
    **{
        f"dashboard.{name}": f"{name.title()}Dashboard"
        for name in (
            *("reports", "users", "orders", "catalogue", "offers", "partners"),
            *("pages", "ranges", "reviews", "vouchers", "communications", "shipping"),
        )
    },
}
INSTALLED_APPS += [
    "django.contrib.flatpages",
    "oscar.config.Shop",
    *(f"oscar.apps.{name}.apps.{config}Config" for name, config in _OSCAR.items()),
    *("widget_tweaks", "haystack", "treebeard", "django_tables2"),
    "django_sitemaps_plus.contrib.audit",
]
MIDDLEWARE += ["oscar.apps.basket.middleware.BasketMiddleware"]
SITEMAPS_PLUS = {
    "BASE_URL": "https://www.example.com",
    "SITEMAPS": os.environ.get("SUITE_SITEMAPS"),
}
