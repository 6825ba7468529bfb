"""What further apps may add to the admin and to monitoring: hooks of this app."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import chain
from typing import Any

from django.db.models import Model

from django_sitemaps_plus import hooks


def _pairs(result: Any) -> list[tuple[type[Model], type[Any]]]:
    found = list(result)
    for model, shown in found:
        if not callable(shown):
            raise TypeError(f"It shows rows of {model!r} with {shown!r:.200}")
    return found


def _seconds(result: Any) -> float | None:
    if result is not None and math.isnan(result):
        raise ValueError("NaN is no number of seconds.")
    return None if result is None else float(result)


def panels(page: hooks.AdminPage) -> Iterator[str | hooks.Failed]:
    """
    Yield parts of the first page of the admin, as HTML that is safe.

    Each is a ``<section class="sitemaps-panel">``, without what the user may not view.
    In place of those of a hook that raises there is the error.
    """
    return hooks.each_or_failed("panels", str, page)


def stories(
    page: hooks.AdminPage, url: str, sections: Mapping[str, float]
) -> Iterator[str | hooks.Failed]:
    """
    Yield what is known of a URL of the site; otherwise as ``panels``.

    ``sections`` are those that list it, each with the time at which the URL was last
    added to it, 0 if that is not known.
    """
    return hooks.each_or_failed("stories", str, page, url, sections)


def admin_lists(base: Any, display: Any) -> Iterator[tuple[type[Model], type[Any]]]:
    """
    Yield lists of the admin: a model, and the ``ModelAdmin`` that shows its rows.

    Called once, when the admin is found. ``base`` has the classes in which nothing is
    edited, and their filters; ``display`` the functions that show times, URLs and words
    as all lists do: the modules of these names of ``contrib.insight.admin``. What a
    hook raises is a ``HookError``: the admin cannot be imported.
    """
    return chain.from_iterable(hooks.each("admin_lists", base, display, read=_pairs))


def audited_at() -> float | None:
    """
    Return when all that the site lists was last audited, for monitoring.

    In seconds since the epoch, of the section for which it is longest ago; None if one
    never was. Of several apps the last one counts. What a hook raises is a
    ``HookError``: monitoring fails.
    """
    times = [at for at in hooks.each("audited_at", read=_seconds) if at is not None]
    return max(times, default=None)
