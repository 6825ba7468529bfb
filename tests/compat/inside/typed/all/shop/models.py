"""The models of a second app that pages take for granted."""

from __future__ import annotations

from django.db import models


class Shop(models.Model):
    slug = models.SlugField()
    is_open = models.BooleanField(default=True)


class Menu(models.Model):
    shop = models.ForeignKey(Shop, models.CASCADE, related_name="menus")

    def get_absolute_url(self):
        return f"/menus/{self.pk}/"


class Product(models.Model):
    slug = models.SlugField()
    name = models.CharField()
    summary = models.TextField()
    cover = models.FileField()
    film = models.FileField()
    film_seconds = models.PositiveIntegerField(default=60)


class Photo(models.Model):
    product = models.ForeignKey(Product, models.CASCADE, related_name="photos")
    file = models.FileField()
    public = models.BooleanField(default=True)
    position = models.PositiveIntegerField(default=0)


class Clip(models.Model):
    product = models.ForeignKey(Product, models.CASCADE, related_name="clips")
    title = models.CharField()
    still = models.FileField()
    file = models.FileField()
