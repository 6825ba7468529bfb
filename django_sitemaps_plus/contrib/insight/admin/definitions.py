"""What deploys changed: the sections whose definition is new, and what followed."""

from __future__ import annotations

import time
from collections.abc import Iterator

from django.db.models import Count
from django.utils.translation import gettext

from django_sitemaps_plus.models import Section, UrlChange

from . import display

#: Sections that are named, and the seconds after which something else is the reason.
_MOST, _AFTER = 5, 3_600


def definitions() -> Iterator[str]:
    """Yield the newest definitions, each with what its section listed anew or not."""
    since = time.time() - UrlChange.KEEP
    rows = Section.objects.on_site().filter(digest_since__gt=since).exclude(name="")
    for row in rows.order_by("-digest_since", "name")[:_MOST]:
        begin = row.digest_since
        after = UrlChange.objects.on_site().filter(
            section=row.name, at__gte=begin, at__lt=begin + _AFTER
        )
        kinds = after.order_by().values_list("kind").annotate(count=Count("pk"))
        counts = dict(kinds)
        values = {
            one.value: display.number(counts.get(one, 0)) for one in UrlChange.Kind
        }
        text = gettext(
            "The definition of %(section)s is new since %(when)s; in the hour after: "
            "%(added)s added, %(changed)s changed, %(removed)s removed."
        )
        yield text % {"section": row.name, "when": display.when(begin), **values}
