"""The site's own views."""

from __future__ import annotations

import time

from django.db import connection
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.utils import timezone
from django.views.decorators.http import require_POST

from .models import Product, Track


def anything(request: HttpRequest, slug: str) -> HttpResponse:
    """Stand for the page of a row: only its address matters here."""
    return HttpResponse(slug)


def smallest(request: HttpRequest) -> HttpResponse:
    """Run the smallest query of the ORM: one column of one row."""
    slug = Product.objects.values_list("slug", flat=True).get(pk=1)
    return HttpResponse(slug)


def select(request: HttpRequest) -> HttpResponse:
    """Run the same without the ORM."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT slug FROM shop_product WHERE id = %s", [1])
        return HttpResponse(cursor.fetchone()[0])


def show(request: HttpRequest, pk: int) -> HttpResponse:
    """Show one object, as most requests of a site do."""
    found = Track.objects.filter(pk=pk).first()
    return HttpResponse(found.name if found else "It was deleted.")


@require_POST
def save(request: HttpRequest, pk: int) -> HttpResponse:
    """Save an object; answer with its address and the time of the commit."""
    track = Track.objects.get(pk=pk)
    track.updated = timezone.now()
    track.save()
    return JsonResponse({"path": track.get_absolute_url(), "at": time.time()})


@require_POST
def create(request: HttpRequest, pk: int) -> HttpResponse:
    """Create an object; answer as ``save``."""
    names = {"slug": f"created-{pk}", "name": f"Track {pk}"}
    track = Track.objects.create(
        pk=pk, **names, price=1, listed=True, updated=timezone.now()
    )
    return JsonResponse({"path": track.get_absolute_url(), "at": time.time()})


@require_POST
def rename(request: HttpRequest, pk: int) -> HttpResponse:
    """Give an object another address; answer with both and the time of the commit."""
    track = Track.objects.get(pk=pk)
    former = track.get_absolute_url()
    track.slug = f"renamed-{track.slug}"[: Track._meta.get_field("slug").max_length]
    track.save()
    path = track.get_absolute_url()
    return JsonResponse({"former": former, "path": path, "at": time.time()})


@require_POST
def delete(request: HttpRequest, pk: int) -> HttpResponse:
    """Delete an object; answer with its address and the time of the commit."""
    track = Track.objects.get(pk=pk)
    path = track.get_absolute_url()
    track.delete()
    return JsonResponse({"path": path, "at": time.time()})
