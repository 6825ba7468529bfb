from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("sitemaps_plus", "0003_submissions"),
    ]

    operations = [
        migrations.AddField(
            model_name="page",
            name="listed",
            field=models.CharField(blank=True, default="", max_length=64),
        ),
    ]
