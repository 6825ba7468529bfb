"""Hang up some photographs."""

from __future__ import annotations

import django

django.setup()

from django.contrib.sites.models import Site  # noqa: E402 (after the setup)
from photologue.models import Gallery, Photo  # noqa: E402 (after the setup)

site, _ = Site.objects.update_or_create(pk=1, defaults={"domain": "www.example.com"})
for number in range(12):
    Gallery.objects.create(title=f"G {number}", slug=f"g-{number}").sites.add(site)
# Without files, which nobody looks at.
Photo.objects.bulk_create(
    Photo(title=f"P {number}", slug=f"p-{number}", image=f"p{number}.jpg")
    for number in range(30)
)
for photo in Photo.objects.all():
    photo.sites.add(site)
