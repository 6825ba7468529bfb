"""The settings that all projects with tenants share; ``GIVEN`` in the environment."""

from __future__ import annotations

import json
import os

from tests.support.further_apps import APPS

GIVEN = json.loads(os.environ["GIVEN"])
SECRET_KEY = "tests only"
USE_TZ = True
ALLOWED_HOSTS = ["*"]
ROOT_URLCONF = "tests.tenants.urls"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
TEMPLATES = [
    {"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}
]
OURS = ["django_sitemaps_plus", *APPS]
