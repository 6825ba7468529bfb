"""A small news site, and one model for each kind of key."""

from __future__ import annotations

import uuid

from django.contrib.contenttypes.fields import GenericForeignKey, GenericRelation
from django.db import models
from django.urls import reverse


class Category(models.Model):
    slug = models.SlugField()

    def __str__(self) -> str:
        return self.slug


class Article(models.Model):
    slug = models.CharField(max_length=200)
    title = models.CharField(max_length=200, default="")
    category = models.ForeignKey(Category, models.CASCADE, null=True)
    updated = models.DateTimeField(null=True)
    day = models.DateField(null=True)
    live = models.BooleanField(default=True)
    weight = models.FloatField(null=True)
    photo = models.FileField(blank=True)

    def __str__(self) -> str:
        return self.slug

    def get_absolute_url(self) -> str:
        return reverse("article", kwargs={"slug": self.slug})


class Tag(models.Model):
    article = models.ForeignKey(Article, models.CASCADE, related_name="tags")
    name = models.CharField(max_length=50)

    def __str__(self) -> str:
        return self.name


class Photo(models.Model):
    """A picture of an article, or a film of it."""

    article = models.ForeignKey(Article, models.CASCADE, related_name="photos")
    file = models.FileField(blank=True)
    film = models.CharField(max_length=200, blank=True)
    title = models.CharField(max_length=100, default="A picture")
    position = models.IntegerField(default=0)
    public = models.BooleanField(default=True)

    class Meta:
        ordering = ("position",)

    def __str__(self) -> str:
        return str(self.file)


class Note(models.Model):
    number = models.IntegerField(unique=True)

    def __str__(self) -> str:
        return str(self.number)


class ByUuid(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)

    def __str__(self) -> str:
        return str(self.id)


class ByText(models.Model):
    code = models.CharField(max_length=50, primary_key=True)

    def __str__(self) -> str:
        return self.code


class ByDay(models.Model):
    day = models.DateField(unique=True)
    moment = models.DateTimeField(unique=True)
    amount = models.DecimalField(max_digits=12, decimal_places=3, unique=True)

    def __str__(self) -> str:
        return str(self.day)


class ByPair(models.Model):
    pk = models.CompositePrimaryKey("shop", "code")
    shop = models.IntegerField()
    code = models.CharField(max_length=20)

    def __str__(self) -> str:
        return f"{self.shop}/{self.code}"


class Story(Article):
    source = models.CharField(max_length=50, default="")


class Elsewhere(models.Model):
    slug = models.SlugField()

    def __str__(self) -> str:
        return self.slug


class ArticleProxy(Article):
    class Meta:
        proxy = True


class Named(models.Model):
    name = models.SlugField()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.name


class Label(Named):
    pass


class Region(Named):
    pass


class Scan(models.Model):
    """A picture of any object."""

    # This app's tables are created before those of apps with migrations.
    content_type = models.ForeignKey(
        "contenttypes.ContentType", models.CASCADE, db_constraint=False
    )
    object_id = models.PositiveIntegerField()
    target = GenericForeignKey()
    file = models.FileField()

    def __str__(self) -> str:
        return str(self.file)


class Folio(Named):
    """What scans are of."""

    scans = GenericRelation(Scan, related_query_name="folios")


class Spot(Named):
    """A tree of places, with every kind of relation."""

    above = models.ForeignKey("self", models.CASCADE, null=True, related_name="below")
    region = models.ForeignKey(Region, models.SET_NULL, null=True, related_name="+")
    labels = models.ManyToManyField(Label, related_name="spots")
    friends = models.ManyToManyField(Region, through="Bond", related_name="friends")
    guarded = models.ForeignKey(
        Category, models.PROTECT, null=True, related_name="guarded"
    )


class Bond(models.Model):
    spot = models.ForeignKey(Spot, models.CASCADE)
    region = models.ForeignKey(Region, models.CASCADE)

    def __str__(self) -> str:
        return f"{self.spot_id}-{self.region_id}"


#: Django 6.1's, else the ordinary kind.
DB_CASCADE = getattr(models, "DB_CASCADE", models.CASCADE)


class Sheet(models.Model):
    region = models.ForeignKey(Region, DB_CASCADE)

    def __str__(self) -> str:
        return str(self.pk)
