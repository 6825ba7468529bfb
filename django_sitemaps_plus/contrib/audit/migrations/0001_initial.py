"""The tables of audits and of what they found."""

from __future__ import annotations

from typing import Any, ClassVar

import django.db.models.deletion
from django.db import migrations, models

import django_sitemaps_plus.sitemaps.site_rows


class Migration(migrations.Migration):
    """Create the tables."""

    initial = True

    dependencies: ClassVar[Any] = []

    operations: ClassVar[Any] = [
        migrations.CreateModel(
            name="Audit",
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
                ("started_at", models.FloatField()),
                ("finished_at", models.FloatField()),
                ("sections", models.JSONField(default=dict)),
                (
                    "fetched",
                    models.CharField(
                        blank=True,
                        choices=[
                            ("", "not fetched"),
                            ("process", "fetched in process"),
                            ("live", "fetched over HTTP"),
                            ("crawl", "robots.txt and sitemaps read as a crawler"),
                        ],
                        default="",
                        max_length=7,
                    ),
                ),
                ("urls", models.PositiveBigIntegerField(default=0)),
                ("fetched_urls", models.PositiveBigIntegerField(default=0)),
                ("errors", models.PositiveBigIntegerField(default=0)),
                ("warnings", models.PositiveBigIntegerField(default=0)),
                ("counts", models.JSONField(default=dict)),
                ("times", models.JSONField(default=dict)),
                ("missed", models.TextField(blank=True, default="")),
                ("remembered", models.JSONField(default=dict)),
            ],
            options={
                "indexes": [
                    models.Index(fields=["site", "id"], name="sitemaps_plus_audit_site")
                ],
            },
        ),
        migrations.CreateModel(
            name="Finding",
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
                ("kind", models.CharField(max_length=30)),
                ("level", models.CharField(max_length=7)),
                (
                    "section",
                    models.CharField(
                        blank=True, max_length=100, verbose_name="section"
                    ),
                ),
                ("page", models.CharField(blank=True, max_length=120)),
                ("row", models.CharField(blank=True, max_length=255)),
                ("url", models.TextField(blank=True)),
                ("digest", models.CharField(blank=True, max_length=32)),
                ("text", models.TextField(blank=True, verbose_name="details")),
                (
                    "audit",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="findings",
                        to="sitemaps_plus_audit.audit",
                    ),
                ),
            ],
            options={
                "verbose_name": "finding",
                "verbose_name_plural": "findings",
                "indexes": [
                    models.Index(fields=["digest"], name="sitemaps_plus_audit_url")
                ],
            },
        ),
    ]
