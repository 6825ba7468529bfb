"""A shop of django-oscar's in several languages, and this app."""

from __future__ import annotations

import os

from oscar.defaults import *  # noqa: F403 (as settings do)

SECRET_KEY = "tests only"
ALLOWED_HOSTS = ["shop.example.com"]
DATABASES = {
    "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "shop.sqlite3"}
}
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = True
SITE_ID = 1
STATIC_URL = "/static/"
ROOT_URLCONF = "oscar_urls"
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
INSTALLED_APPS = [
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.sites",
    "django.contrib.flatpages",
    "django.contrib.staticfiles",
    "oscar.config.Shop",
    *(f"oscar.apps.{name}.apps.{config}Config" for name, config in _OSCAR.items()),
    "widget_tweaks",
    "haystack",
    "treebeard",
    "django_tables2",
    "django_sitemaps_plus",
    "django_sitemaps_plus.contrib.audit",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "oscar.apps.basket.middleware.BasketMiddleware",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]
SITEMAPS_PLUS = {"BASE_URL": "https://shop.example.com"}
if "SHOP_SITEMAPS" in os.environ:
    SITEMAPS_PLUS["SITEMAPS"] = os.environ["SHOP_SITEMAPS"]
