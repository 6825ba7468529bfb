"""The tables: what engines say of the sitemaps, and Google of URLs."""

from __future__ import annotations

import datetime
from typing import Any, ClassVar

from django.db import migrations, models

import django_sitemaps_plus.sitemaps.site_rows


class Migration(migrations.Migration):
    """The first tables."""

    initial = True

    dependencies: ClassVar[list[Any]] = []

    operations: ClassVar[list[Any]] = [
        migrations.CreateModel(
            name="SitemapReport",
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
                (
                    "site",
                    models.CharField(
                        blank=True,
                        default=django_sitemaps_plus.sitemaps.site_rows.current_key,
                        max_length=50,
                    ),
                ),
                ("engine", models.CharField(max_length=100)),
                ("asked_at", models.FloatField(default=0)),
                ("due_at", models.FloatField(default=0)),
                ("sitemaps", models.JSONField(blank=True, default=list)),
                ("unlisted_due_at", models.FloatField(default=0)),
                ("unlisted", models.JSONField(blank=True, default=dict)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("site", "engine"),
                        name="sitemaps_plus_webmasters_report",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Inspection",
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
                (
                    "site",
                    models.CharField(
                        blank=True,
                        default=django_sitemaps_plus.sitemaps.site_rows.current_key,
                        max_length=50,
                    ),
                ),
                ("section", models.CharField(max_length=100)),
                ("url", models.TextField()),
                ("digest", models.CharField(max_length=32)),
                ("inspected_at", models.FloatField(default=0)),
                ("is_drawn", models.BooleanField(default=False)),
                ("verdict", models.CharField(blank=True, default="", max_length=40)),
                (
                    "former_verdict",
                    models.CharField(blank=True, default="", max_length=40),
                ),
                ("reason", models.CharField(blank=True, default="", max_length=300)),
                ("obstacle", models.CharField(blank=True, default="", max_length=60)),
                ("canonical", models.TextField(blank=True, default="")),
                ("crawled_at", models.FloatField(blank=True, null=True)),
                ("bing_crawled_at", models.FloatField(blank=True, null=True)),
                ("lastmod", models.FloatField(blank=True, null=True)),
                ("link", models.TextField(blank=True, default="")),
            ],
            options={
                "verbose_name": "inspection",
                "verbose_name_plural": "inspections",
                "indexes": [
                    models.Index(
                        fields=["site", "inspected_at"],
                        name="sitemaps_plus_wm_inspected",
                    )
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("site", "section", "digest"),
                        name="sitemaps_plus_webmasters_url",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="InspectionQuota",
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
                ("property", models.CharField(max_length=200, unique=True)),
                ("day", models.DateField(default=datetime.date(1970, 1, 1))),
                ("used", models.PositiveIntegerField(default=0)),
                ("claimed_by", models.CharField(blank=True, default="", max_length=32)),
                ("claimed_until", models.FloatField(default=0)),
                ("closed_until", models.FloatField(default=0)),
                ("problem", models.TextField(blank=True, default="")),
                ("answered_at", models.FloatField(default=0)),
            ],
        ),
    ]
