"""Whether a project renders sitemaps with a template of its own, as contrib allows."""

from __future__ import annotations

from pathlib import Path

from django.contrib.sitemaps import views as contrib
from django.template import TemplateDoesNotExist
from django.template.loader import get_template


def is_own(name: str, default: str) -> bool:
    """Return whether the template ``name`` is the project's own."""
    if name != default:
        return True
    try:
        origin = getattr(get_template(name), "origin", None)
    except TemplateDoesNotExist:
        return False
    shipped = Path(contrib.__file__).parent
    return shipped not in Path(str(getattr(origin, "name", ""))).parents
