"""The smallest views, to compare with."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse

from .models import Product


def anything(request: HttpRequest, slug: str) -> HttpResponse:
    """Stand for the page of a row: only its address matters here."""
    return HttpResponse(slug)


def smallest(request: HttpRequest) -> HttpResponse:
    """Make one query, the smallest that the ORM has: one column of one row."""
    slug = Product.objects.values_list("slug", flat=True).get(pk=1)
    return HttpResponse(slug)
