"""The models that pages take for granted: the article of the quick start, and more."""

from __future__ import annotations

from datetime import date

from django.db import models
from django.utils import timezone


class Author(models.Model):
    pass


class Article(models.Model):
    slug = models.SlugField(unique=True)
    updated = models.DateTimeField(auto_now=True)
    title = models.CharField(default="First")
    live = models.BooleanField(default=True)
    in_sitemap = models.BooleanField(default=True)
    author = models.ForeignKey(Author, models.CASCADE, null=True)
    published = models.DateField(default=date.today)
    publish_at = models.DateTimeField(null=True, db_index=True)
    ends_at = models.DateTimeField(null=True, db_index=True)

    def get_absolute_url(self):
        return f"/articles/{self.slug}/"


class Note(models.Model):
    slug = models.SlugField()


class Story(models.Model):
    slug = models.SlugField()
    title = models.CharField()
    published = models.DateTimeField(default=timezone.now, db_index=True)
