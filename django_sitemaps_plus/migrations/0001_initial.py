"""The tables: sections and their pages, changes, what happened to URLs, the outbox."""

from __future__ import annotations

from typing import Any, ClassVar

import django.db.models.deletion
from django.db import migrations, models

import django_sitemaps_plus.sitemaps.site_rows


def store_bytes_apart(apps: Any, schema_editor: Any) -> None:
    """Have PostgreSQL not try to compress what is gzipped."""
    if schema_editor.connection.vendor == "postgresql":
        table = apps.get_model("sitemaps_plus", "PageFile")._meta.db_table
        schema_editor.execute(f"ALTER TABLE {table} ALTER data SET STORAGE EXTERNAL")


class Migration(migrations.Migration):
    """Create the tables."""

    initial = True

    dependencies: ClassVar[Any] = []

    operations: ClassVar[Any] = [
        migrations.CreateModel(
            name="Section",
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
                ("name", models.CharField(max_length=100, verbose_name="name")),
                ("key", models.CharField(blank=True, default="", max_length=255)),
                ("next_number", models.PositiveIntegerField(default=1)),
                ("filled", models.BooleanField(default=False)),
                ("damaged_at", models.FloatField(default=0)),
                ("failure", models.TextField(blank=True, default="")),
                ("is_index", models.BooleanField(default=False)),
                (
                    "claimed_by",
                    models.CharField(blank=True, default="", max_length=32),
                ),
                ("claimed_until", models.FloatField(default=0)),
                ("waiting_until", models.FloatField(default=0)),
                ("digest", models.CharField(blank=True, default="", max_length=64)),
                ("digest_since", models.FloatField(default=0)),
                ("digest_seen", models.FloatField(default=0)),
                ("digest_served", models.FloatField(default=0)),
                ("ticked_at", models.FloatField(default=0)),
                ("confirmed_at", models.FloatField(default=0)),
                ("listed", models.JSONField(blank=True, default=dict)),
                ("checked", models.JSONField(blank=True, default=dict)),
                ("tended_at", models.FloatField(default=0)),
            ],
            options={
                "verbose_name": "section",
                "verbose_name_plural": "sections",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("name", "site"), name="sitemaps_plus_section_name"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Change",
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
                ("section", models.CharField(max_length=100, verbose_name="section")),
                ("key", models.TextField(blank=True, default="")),
                ("upto", models.TextField(blank=True, null=True)),
                ("related", models.CharField(blank=True, default="", max_length=100)),
                ("created", models.BooleanField(default=False)),
                ("at", models.FloatField()),
                (
                    "page",
                    models.PositiveIntegerField(
                        blank=True, null=True, verbose_name="page"
                    ),
                ),
            ],
            options={
                "verbose_name": "waiting change",
                "verbose_name_plural": "waiting changes",
                "indexes": [
                    models.Index(
                        fields=["site", "section", "page", "id"],
                        name="sitemaps_plus_change_page",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="EngineState",
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
                ("engine", models.CharField(max_length=100, verbose_name="engine")),
                ("host", models.CharField(max_length=255, verbose_name="host")),
                ("verified", models.CharField(blank=True, default="", max_length=32)),
                ("verified_at", models.FloatField(default=0)),
                ("problem", models.TextField(blank=True, default="")),
                ("paused_until", models.FloatField(default=0)),
                ("exhausted_until", models.FloatField(default=0)),
                (
                    "failures",
                    models.PositiveIntegerField(
                        default=0, verbose_name="failures in a row"
                    ),
                ),
                ("failing_since", models.FloatField(default=0)),
                ("answered_at", models.FloatField(default=0)),
                (
                    "status",
                    models.PositiveSmallIntegerField(
                        blank=True, null=True, verbose_name="status"
                    ),
                ),
                (
                    "message",
                    models.TextField(blank=True, default="", verbose_name="message"),
                ),
                ("succeeded_at", models.FloatField(default=0)),
            ],
            options={
                "verbose_name": "search engine",
                "verbose_name_plural": "search engines",
                "constraints": [
                    models.UniqueConstraint(
                        fields=("site", "engine", "host"), name="sitemaps_plus_engine"
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="RelatedState",
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
                ("model", models.CharField(max_length=100)),
                ("key", models.CharField(max_length=255)),
                ("state", models.CharField(max_length=255)),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("site", "section", "model", "key"),
                        name="sitemaps_plus_related",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="Page",
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
                ("number", models.PositiveIntegerField(verbose_name="number")),
                ("position", models.BigIntegerField()),
                ("lower", models.TextField(blank=True, null=True)),
                (
                    "version",
                    models.PositiveIntegerField(default=0, verbose_name="version"),
                ),
                ("digest", models.CharField(blank=True, default="", max_length=64)),
                (
                    "checksum",
                    models.CharField(
                        blank=True, default="", max_length=64, verbose_name="checksum"
                    ),
                ),
                ("entries", models.PositiveIntegerField(blank=True, null=True)),
                ("items", models.PositiveIntegerField(default=0)),
                ("newest", models.FloatField(blank=True, null=True)),
                ("size", models.PositiveBigIntegerField(default=0)),
                ("lastmod", models.FloatField(blank=True, null=True)),
                ("changed_at", models.FloatField(default=0)),
                ("verified_at", models.FloatField(default=0)),
                ("read_at", models.FloatField(default=0)),
                ("unknown_at", models.FloatField(default=0)),
                ("searched", models.BooleanField(default=True)),
                ("lost_at", models.FloatField(default=0)),
                ("refreshed_at", models.FloatField(default=0)),
                ("asked_at", models.FloatField(default=0)),
                ("bad", models.PositiveIntegerField(default=0)),
                ("problems", models.JSONField(blank=True, default=list)),
                (
                    "error",
                    models.TextField(blank=True, default="", verbose_name="error"),
                ),
                ("failures", models.PositiveIntegerField(default=0)),
                (
                    "claimed_by",
                    models.CharField(blank=True, default="", max_length=32),
                ),
                ("claimed_until", models.FloatField(default=0)),
                (
                    "section",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="pages",
                        to="sitemaps_plus.section",
                        verbose_name="section",
                    ),
                ),
            ],
            options={
                "verbose_name": "sitemap page",
                "verbose_name_plural": "sitemap pages",
            },
        ),
        migrations.CreateModel(
            name="Submission",
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
                ("engine", models.CharField(max_length=100, verbose_name="engine")),
                ("url", models.TextField(verbose_name="URL")),
                ("digest", models.CharField(max_length=32)),
                ("host", models.CharField(max_length=255, verbose_name="host")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("added", "added"),
                            ("changed", "changed"),
                            ("removed", "removed"),
                            ("sitemap", "sitemap"),
                            ("feed", "feed"),
                            ("document", "document"),
                            ("requested", "requested"),
                        ],
                        max_length=9,
                    ),
                ),
                (
                    "section",
                    models.CharField(
                        blank=True, default="", max_length=100, verbose_name="section"
                    ),
                ),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("pending", "waiting"),
                            ("sending", "being sent"),
                            ("accepted", "accepted"),
                            ("rejected", "rejected"),
                            ("failed", "given up"),
                        ],
                        default="pending",
                        max_length=8,
                        verbose_name="state",
                    ),
                ),
                ("live", models.BooleanField(default=True, null=True)),
                ("due_at", models.FloatField(blank=True, null=True)),
                ("claimed_by", models.CharField(blank=True, default="", max_length=32)),
                ("again", models.CharField(blank=True, default="", max_length=9)),
                ("deferred", models.BooleanField(default=False)),
                (
                    "attempts",
                    models.PositiveIntegerField(default=0, verbose_name="attempts"),
                ),
                ("created_at", models.FloatField()),
                ("sent_at", models.FloatField(blank=True, null=True)),
                ("answered_at", models.FloatField(blank=True, null=True)),
                (
                    "status",
                    models.PositiveSmallIntegerField(
                        blank=True, null=True, verbose_name="status"
                    ),
                ),
                ("excerpt", models.TextField(blank=True, default="")),
                (
                    "message",
                    models.TextField(blank=True, default="", verbose_name="message"),
                ),
                ("seconds", models.FloatField(blank=True, null=True)),
            ],
            options={
                "verbose_name": "submission",
                "verbose_name_plural": "submissions",
                "indexes": [
                    models.Index(
                        fields=["site", "engine", "host", "due_at"],
                        name="sitemaps_plus_due",
                    ),
                    models.Index(
                        fields=["site", "state", "id"], name="sitemaps_plus_outcome"
                    ),
                    models.Index(fields=["site", "sent_at"], name="sitemaps_plus_sent"),
                ],
                "constraints": [
                    models.UniqueConstraint(
                        fields=("digest", "engine", "site", "live"),
                        name="sitemaps_plus_one_waits",
                    )
                ],
            },
        ),
        migrations.CreateModel(
            name="UrlChange",
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
                ("section", models.CharField(max_length=100, verbose_name="section")),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("added", "added"),
                            ("changed", "changed"),
                            ("removed", "removed"),
                        ],
                        max_length=7,
                    ),
                ),
                ("location", models.TextField()),
                ("digest", models.CharField(max_length=32)),
                ("lastmod", models.CharField(blank=True, default="", max_length=40)),
                ("title", models.CharField(blank=True, default="", max_length=200)),
                ("at", models.FloatField()),
                ("on_hold", models.BooleanField(default=False)),
                ("queued_at", models.FloatField(blank=True, null=True)),
                ("announce_at", models.FloatField(blank=True, null=True)),
            ],
            options={
                "verbose_name": "URL change",
                "verbose_name_plural": "URL changes",
                "indexes": [
                    models.Index(
                        fields=["digest", "at"], name="sitemaps_plus_url_location"
                    ),
                    models.Index(
                        fields=["site", "section", "kind", "at"],
                        name="sitemaps_plus_url_change",
                    ),
                    models.Index(
                        fields=["site", "queued_at", "on_hold", "id"],
                        name="sitemaps_plus_url_queue",
                    ),
                    models.Index(
                        fields=["site", "at"], name="sitemaps_plus_url_newest"
                    ),
                    models.Index(
                        fields=["site", "section", "at"],
                        name="sitemaps_plus_url_section",
                    ),
                    models.Index(
                        fields=["site", "announce_at", "id"],
                        name="sitemaps_plus_url_announce",
                    ),
                ],
            },
        ),
        migrations.CreateModel(
            name="PageFile",
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
                ("checksum", models.CharField(max_length=64)),
                ("origin", models.CharField(max_length=300)),
                ("media", models.CharField(blank=True, default="", max_length=200)),
                ("entries", models.PositiveIntegerField()),
                ("size", models.PositiveBigIntegerField()),
                ("text_crc", models.BigIntegerField()),
                ("crc", models.BigIntegerField()),
                ("part", models.PositiveSmallIntegerField(default=0)),
                ("data", models.BinaryField()),
                (
                    "page",
                    models.ForeignKey(
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="files",
                        to="sitemaps_plus.page",
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("page", "checksum", "part"),
                        name="sitemaps_plus_page_file",
                    )
                ],
            },
        ),
        migrations.AddConstraint(
            model_name="page",
            constraint=models.UniqueConstraint(
                fields=["section", "position"], name="sitemaps_plus_page_position"
            ),
        ),
        migrations.AddIndex(
            model_name="page",
            index=models.Index(fields=["searched"], name="sitemaps_plus_page_searched"),
        ),
        migrations.AddConstraint(
            model_name="page",
            constraint=models.UniqueConstraint(
                fields=("section", "number"), name="sitemaps_plus_page_number"
            ),
        ),
        migrations.RunPython(
            store_bytes_apart, migrations.RunPython.noop, elidable=False
        ),
    ]
