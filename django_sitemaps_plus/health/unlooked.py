"""What is not checked while the app for it is not installed."""

from __future__ import annotations

from django.apps import apps
from django.utils.translation import gettext

#: The app that looks at what the listed URLs answer, and asks as crawlers do.
_AUDIT = "django_sitemaps_plus.contrib.audit"


def is_audited() -> bool:
    """Return whether there are audits, and with them ``check_sitemaps``."""
    return apps.is_installed(_AUDIT)


def unaudited() -> tuple[str, str] | None:
    """Return what is not checked without audits, and what to do; else None."""
    if is_audited():
        return None
    text = gettext(
        "The audit is not installed, so nobody has looked at what the listed URLs "
        "answer, or at how the sitemaps arrive at a crawler."
    )
    fix = gettext("To have both looked at, add '%(app)s' to INSTALLED_APPS.")
    return text, fix % {"app": _AUDIT}
