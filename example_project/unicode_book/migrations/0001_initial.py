"""The tables of the encyclopedia."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name="Block",
            fields=[
                (
                    "first",
                    models.PositiveIntegerField(primary_key=True, serialize=False),
                ),
                ("slug", models.SlugField(max_length=16, unique=True)),
                ("updated", models.DateTimeField()),
            ],
            options={
                "ordering": ("first",),
            },
        ),
        migrations.CreateModel(
            name="Character",
            fields=[
                (
                    "code_point",
                    models.PositiveIntegerField(primary_key=True, serialize=False),
                ),
                ("slug", models.CharField(max_length=16, unique=True)),
                ("name", models.CharField(max_length=120)),
                ("category", models.CharField(max_length=2)),
                ("bidirectional", models.CharField(blank=True, max_length=3)),
                ("combining", models.PositiveSmallIntegerField()),
                ("mirrored", models.BooleanField()),
                ("east_asian_width", models.CharField(max_length=2)),
                ("decomposition", models.CharField(blank=True, max_length=200)),
                ("numeric", models.FloatField(null=True)),
                ("uppercase", models.CharField(max_length=4)),
                ("lowercase", models.CharField(max_length=4)),
                ("titlecase", models.CharField(max_length=4)),
                ("updated", models.DateTimeField()),
                (
                    "block",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="characters",
                        to="unicode_book.block",
                    ),
                ),
            ],
            options={
                "ordering": ("code_point",),
            },
        ),
        migrations.CreateModel(
            name="Note",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                ("slug", models.CharField(max_length=50, unique=True)),
                ("title_en", models.CharField(max_length=100)),
                ("title_de", models.CharField(max_length=100)),
                ("body_en", models.TextField()),
                ("body_de", models.TextField()),
                ("updated", models.DateTimeField()),
                (
                    "characters",
                    models.ManyToManyField(
                        related_name="notes", to="unicode_book.character"
                    ),
                ),
            ],
            options={
                "ordering": ("pk",),
            },
        ),
    ]
