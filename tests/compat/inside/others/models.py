"""A model of each package that changes models, managers or how rows are saved."""

from __future__ import annotations

import reversion
from django.db import models
from django.urls import reverse
from modeltrans.fields import TranslationField
from mptt.models import MPTTModel, TreeForeignKey
from parler.models import TranslatableModel, TranslatedFields
from polymorphic.models import PolymorphicModel
from safedelete.models import SafeDeleteModel
from treebeard.mp_tree import MP_Node


class Listed(models.Model):
    slug = models.SlugField()
    updated = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True

    def get_absolute_url(self):
        kwargs = {"kind": self._meta.model_name, "slug": self.slug}
        return reverse("item", kwargs=kwargs)


class Translated(Listed):
    """Of django-modeltranslation: see ``translation.py``."""

    title = models.CharField()


class Json(Listed):
    title = models.CharField()
    i18n = TranslationField(fields=("title",))


class Parler(TranslatableModel):
    updated = models.DateTimeField(auto_now=True)
    translations = TranslatedFields(slug=models.SlugField())

    get_absolute_url = Listed.get_absolute_url


@reversion.register()
class Versioned(Listed):
    pass


class Category(Listed):
    """Read by django-cte."""

    parent = models.ForeignKey("self", models.CASCADE, null=True)


class Medium(PolymorphicModel, Listed):
    pass


class Film(Medium):
    minutes = models.IntegerField(default=0)


class Node(MP_Node, Listed):
    pass


class Genre(MPTTModel, Listed):
    parent = TreeForeignKey("self", models.CASCADE, null=True)


class Document(SafeDeleteModel, Listed):
    pass


class Imported(Listed):
    pass
