from __future__ import annotations

from typing import Any

from django.http import HttpRequest, HttpResponse


def anything(request: HttpRequest, **kwargs: Any) -> HttpResponse:
    """Say where one is."""
    return HttpResponse(repr(sorted(kwargs.items())))
