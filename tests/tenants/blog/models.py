from __future__ import annotations

from django.db import models


class Post(models.Model):
    """What each tenant has its own of."""

    slug = models.SlugField(unique=True)

    def __str__(self) -> str:
        return self.slug
