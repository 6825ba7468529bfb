"""What the projects for other people's packages share."""

from __future__ import annotations

from pathlib import Path

SECRET_KEY = "tests only"
ALLOWED_HOSTS = ["www.example.com", "testserver"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}}
DEFAULT_AUTO_FIELD = "django.db.models.AutoField"
USE_TZ = True
SITE_ID = 1
STATIC_URL = "/static/"
LANGUAGE_CODE = "en"
_CONTRIB = "admin auth contenttypes sessions messages sites sitemaps staticfiles"
INSTALLED_APPS = [
    *(f"django.contrib.{name}" for name in _CONTRIB.split()),
    "django_sitemaps_plus",
]
MIDDLEWARE = [
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]
PROCESSORS = [
    "django.template.context_processors.request",
    "django.template.context_processors.i18n",
    "django.contrib.auth.context_processors.auth",
    "django.contrib.messages.context_processors.messages",
]
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [Path(__file__).parent / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {"context_processors": PROCESSORS},
    }
]


def on_disk(name: str) -> dict[str, dict[str, object]]:
    """Return ``DATABASES`` with a file in the project's folder."""
    file = Path.cwd() / name
    return {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": file}}


class OursOnly(dict[str, None]):
    """Some have hundreds of migrations; their tables are made without them."""

    def __contains__(self, label: object) -> bool:
        return label != "sitemaps_plus"

    def __missing__(self, label: str) -> None:
        return None
