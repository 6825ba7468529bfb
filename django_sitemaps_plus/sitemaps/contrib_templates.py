"""Whether a project renders sitemaps with a template of its own, as contrib allows."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from django.contrib.sitemaps import views as contrib
from django.core.signals import setting_changed
from django.template import TemplateDoesNotExist
from django.template.loader import get_template


@lru_cache(maxsize=64)
def is_own(name: str, default: str) -> bool:
    """Tell whether the template ``name`` is the project's own."""
    if name != default:
        return True
    try:
        origin = getattr(get_template(name), "origin", None)
    except TemplateDoesNotExist:
        return False
    shipped = Path(contrib.__file__).parent
    return shipped not in Path(str(getattr(origin, "name", ""))).parents


def _forget(*, setting: str, **kwargs: Any) -> None:
    """Look templates up again after a test has overridden the settings."""
    if setting in ("TEMPLATES", "INSTALLED_APPS"):
        is_own.cache_clear()


setting_changed.connect(
    _forget, dispatch_uid="django_sitemaps_plus.sitemaps.contrib_templates"
)
