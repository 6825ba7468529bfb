"""One model of six columns, in several sizes."""

from __future__ import annotations

from django.db import models
from django.urls import reverse


class Goods(models.Model):
    """What a shop lists: the primary key and five columns more."""

    # No index, so that ten million rows are loaded in a minute: nothing measured
    # here looks anything up by slug.
    slug = models.SlugField(max_length=100, allow_unicode=True, db_index=False)
    name = models.CharField(max_length=200)
    price = models.DecimalField(max_digits=8, decimal_places=2)
    listed = models.BooleanField()
    updated = models.DateTimeField()

    class Meta:
        abstract = True

    def __str__(self) -> str:
        return self.slug

    def get_absolute_url(self) -> str:
        """Return the address, as most models do."""
        return reverse(str(self._meta.model_name), kwargs={"slug": self.slug})


class Product(Goods):
    """A page of rows with ASCII slugs."""


class Dish(Goods):
    """A page of rows with slugs, and a path, that are not ASCII."""


class Guide(Goods):
    """A page of rows, in three languages."""


class Exhibit(Goods):
    """A page of rows with pictures."""


class Picture(models.Model):
    """One of ten pictures of an exhibit."""

    # Without a constraint the table of exhibits can be truncated.
    exhibit = models.ForeignKey(
        Exhibit, models.CASCADE, related_name="pictures", db_constraint=False
    )
    file = models.FileField()
    position = models.IntegerField()

    class Meta:
        ordering = ("position",)

    def __str__(self) -> str:
        return str(self.file)


class Book(Goods):
    """A million rows."""


class Track(Goods):
    """Up to ten million rows."""


class Article(Goods):
    """Saved and deleted."""


class Poster(Goods):
    """Ten thousand rows of a file of fifty thousand, as the next ones."""


class Postcard(Goods):
    """The second."""


class Sticker(Goods):
    """The third."""


class Stamp(Goods):
    """The fourth."""


class Draft(Goods):
    """The same, but no section lists it: a model of a project without the app."""


class Shelf(models.Model):
    """Deleted with all that stands on it."""

    def __str__(self) -> str:
        return f"Shelf {self.pk}"


class Volume(Goods):
    """Deleted with its shelf."""

    shelf = models.ForeignKey(Shelf, models.CASCADE)


class Notebook(Goods):
    """The same, but no section lists it."""

    shelf = models.ForeignKey(Shelf, models.CASCADE)
