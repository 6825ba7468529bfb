"""
Settings of the benchmarks. The commands fill them in through the environment.

``BENCHMARK_DATABASE`` is ``sqlite``, ``sqlite:///file``,
``postgres://user@host:port/name`` or ``mysql://user@host:port/name``.
``BENCHMARK_SECTIONS`` names the sections that are registered, ``BENCHMARK_ENGINE`` is
the port of the engine on loopback, and with ``BENCHMARK_BACKGROUND`` each server
process has its background thread. With ``BENCHMARK_ADMIN`` the site has Django's admin.
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from urllib.parse import urlsplit

BACKENDS = {
    "postgres": "django.db.backends.postgresql",
    "postgresql": "django.db.backends.postgresql",
    "mysql": "django.db.backends.mysql",
}


def database(address: str) -> dict[str, object]:
    """Return Django's settings of the database at ``address``."""
    url = urlsplit(address)
    if url.scheme not in BACKENDS:
        file = Path(tempfile.gettempdir()) / "benchmarks-of-sitemaps.sqlite3"
        return {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": (url.scheme and url.path[1:]) or str(file),
            "OPTIONS": {"timeout": 60, "transaction_mode": "IMMEDIATE"},
            "CONN_MAX_AGE": None,
        }
    return {
        "ENGINE": BACKENDS[url.scheme],
        "NAME": url.path.lstrip("/") or "sitemaps_plus_benchmarks",
        "USER": url.username or "",
        "PASSWORD": url.password or "",
        "HOST": url.hostname or "",
        "PORT": str(url.port or ""),
        # Otherwise every request would open a connection, which costs more than
        # many of the things measured.
        "CONN_MAX_AGE": None,
        "OPTIONS": {"charset": "utf8mb4"} if url.scheme == "mysql" else {},
    }


def engine(port: str) -> dict[str, object]:
    """Return the engine on loopback, or one that only remembers."""
    if not port:
        return {"BACKEND": "django_sitemaps_plus.engines.memory.Memory"}
    endpoint = f"http://127.0.0.1:{port}/indexnow"
    options = {"key": "benchmarks-only", "endpoint": endpoint}
    return {"BACKEND": "benchmarks.listener.Loopback", "OPTIONS": options}


SECRET_KEY = "benchmarks only"
DEBUG = False
DEBUG_PROPAGATE_EXCEPTIONS = True  # an error ends the benchmark with its traceback
USE_TZ = True
TIME_ZONE = "UTC"
USE_I18N = True
LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("de", "German"), ("fr", "French")]
ALLOWED_HOSTS = ["www.example.com"]
MEDIA_URL = "/media/"
ROOT_URLCONF = "benchmarks.urls"
DATABASES = {"default": database(os.environ.get("BENCHMARK_DATABASE", "sqlite"))}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
INSTALLED_APPS = [
    "django.contrib.sitemaps",  # for its templates
    "django_sitemaps_plus",
    "django_sitemaps_plus.contrib.audit",
    "django_sitemaps_plus.contrib.insight",
    "django_sitemaps_plus.contrib.webmasters",
    "django_sitemaps_plus.contrib.edge",
    "django_sitemaps_plus.contrib.formats",
    "benchmarks.shop",
]
MIDDLEWARE = ["django.middleware.common.CommonMiddleware"]
TEMPLATES: list[dict[str, object]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
    }
]
STATIC_URL = "static/"
if os.environ.get("BENCHMARK_ADMIN"):
    INSTALLED_APPS += [
        "django.contrib.admin",
        "django.contrib.auth",
        "django.contrib.contenttypes",
        "django.contrib.messages",
        "django.contrib.sessions",
    ]
    MIDDLEWARE += [
        "django.contrib.sessions.middleware.SessionMiddleware",
        "django.contrib.auth.middleware.AuthenticationMiddleware",
        "django.contrib.messages.middleware.MessageMiddleware",
    ]
    TEMPLATES[0]["OPTIONS"] = {
        "context_processors": [
            "django.template.context_processors.request",
            "django.contrib.auth.context_processors.auth",
            "django.contrib.messages.context_processors.messages",
        ]
    }
SITEMAPS_PLUS = {
    "BASE_URL": "https://www.example.com",
    "SITEMAPS": "benchmarks.shop.sitemaps.registered",
    "ENGINES": {"engine": engine(os.environ.get("BENCHMARK_ENGINE", ""))},
    "FORMATS": {"text": {}, "feeds": {}, "recent": {}},
    "BACKGROUND": bool(os.environ.get("BENCHMARK_BACKGROUND")),
    "BACKGROUND_SHARE": float(os.environ.get("BENCHMARK_BACKGROUND") or 0.05),
}
