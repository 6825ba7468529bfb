"""
The page of the search manager: 1,000 pages, a million submissions and events.

The number of queries has to be that of a site with hardly anything. And the search for
the story of a URL that no page lists, the longest there is.
"""

from __future__ import annotations

import os
import sys
import time
from typing import Any

from . import bench, data, site
from .timing import Contestant, medians, shown

INDEX = "/admin/sitemaps_plus/"
STORY = "/admin/sitemaps_plus/urlchange/story/?url=/products/number-4711/"
PAGES, CRAWLERS, DAYS = 1_000, 20, 30


def main() -> int:
    """Run it, and return the exit code."""
    os.environ["BENCHMARK_ADMIN"] = "1"
    options = bench.start(
        bench.parser(__doc__, rounds=20, rows=1_000_000), "product", "book"
    )
    data.load(product=1_000, book=1_000)
    site.build("product")
    site.build("book")
    session = log_in()
    report = bench.Report(f"The admin's page: {PAGES:,} pages, {options.rows:,} events")
    few = queries(session)
    fill(options.rows)
    many = queries(session)
    wrong = [f"{few} queries, then {many}"] if few != many else []
    report.check("queries that grow with the site", wrong)
    taken = medians(
        [
            Contestant("index", lambda: site.page(INDEX, **session)),
            Contestant("story", lambda: site.page(STORY, **session)),
        ],
        options.rounds,
    )
    how = f"{many} queries; quickest {shown(taken['index'].quickest)}"
    index = taken["index"].median * 1000
    report.at_most("the page of the search manager, in ms", index, how, target=150)
    report.note("a URL that no page lists", shown(taken["story"].median))
    data.forget()
    return report.finish()


def log_in() -> dict[str, str]:
    """Log a superuser in; return the header that says so."""
    from django.conf import settings
    from django.contrib.auth import get_user_model
    from django.test import Client

    users = get_user_model()._default_manager
    user, _ = users.get_or_create(
        username="benchmark",
        defaults={"is_staff": True, "is_superuser": True, "password": "!"},
    )
    client = Client()
    client.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    return {"HTTP_COOKIE": f"{name}={client.cookies[name].value}"}


def queries(session: dict[str, str]) -> int:
    """Return how many queries the page runs once everything is cached that can be."""
    site.page(INDEX, **session)
    return len(site.queries_of(INDEX, **session))


def fill(rows: int) -> None:
    """Have the database write submissions and events; then pages, readers and days."""
    from django.db import connection

    from django_sitemaps_plus import models

    now = time.time()
    is_mysql = connection.vendor == "mysql"
    text = "CHAR" if is_mysql else "VARCHAR(20)"
    number = f"CAST(n AS {text})"
    path = (
        f"CONCAT('/products/number-', {number}, '/')"
        if is_mysql
        else f"'/products/number-' || {number} || '/'"
    )
    insert(
        models.UrlChange,
        rows,
        section="'product'",
        kind="'changed'",
        location=path,
        digest=f"CAST(n AS {text})",
        at=f"{now} - n / 10.0",
        queued_at=f"{now}",
    )
    # One of a hundred waits.
    insert(
        models.Submission,
        rows,
        engine="'engine'",
        url=path,
        digest=number,
        host="'www.example.com'",
        kind="'changed'",
        section="'product'",
        state="CASE WHEN n % 100 = 0 THEN 'pending' ELSE 'accepted' END",
        live="CASE WHEN n % 100 = 0 THEN 1 = 1 ELSE NULL END",
        due_at=f"CASE WHEN n % 100 = 0 THEN {now} ELSE NULL END",
        attempts="1",
        created_at=f"{now} - n / 10.0",
    )
    others(now)
    data.analyze(*models_of_the_app())


def models_of_the_app() -> list[Any]:
    """Return all models of the app."""
    from django.apps import apps

    return list(apps.get_app_config("sitemaps_plus").get_models())


def insert(model: Any, rows: int, **columns: str) -> None:
    """Insert so many rows, whose columns are expressions of their number n."""
    from django.db import connection

    if connection.vendor == "mysql":
        with connection.cursor() as cursor:
            for statement in data.MYSQL_FIRST:
                cursor.execute(statement)
    series = data.SERIES[connection.vendor].format(rows=rows)
    data.insert(model, f"({series}) series", **columns)


def others(now: float) -> None:
    """Add pages, who read them, and what was counted by day."""
    import datetime as dt

    from django_sitemaps_plus.contrib.insight import history
    from django_sitemaps_plus.contrib.insight.crawlers import CRAWLER_NAMES
    from django_sitemaps_plus.contrib.insight.models import DailyCount, Read
    from django_sitemaps_plus.models import Page, Section

    section = Section.objects.get(name="product")
    first = Page.objects.get(section=section)
    known = {
        field.attname: getattr(first, field.attname)
        for field in Page._meta.concrete_fields
        if not field.primary_key
    }
    # Behind the first, so that its keys stay there.
    Page.objects.bulk_create(
        Page(**{**known, "number": n, "position": n << 20, "lower": f"[{n * 50_000}]"})
        for n in range(2, PAGES)
    )
    Read.objects.bulk_create(
        (
            Read(
                document=f"sitemap-product-{n}.xml",
                crawler=name,
                full=3,
                unchanged=9,
                first_at=now,
                last_at=now - n,
            )
            for n in range(1, PAGES)
            for name in CRAWLER_NAMES[:CRAWLERS]
        ),
        batch_size=1_000,
    )
    topics = (
        ("entries", ("product", "book"), ("",)),
        ("submissions", ("engine",), ("accepted", "rejected", "failed")),
        ("reads", CRAWLER_NAMES, ("200", "304")),
    )
    DailyCount.objects.bulk_create(
        DailyCount(
            day=history.today() - dt.timedelta(days=day),
            topic=topic,
            name=name,
            outcome=outcome,
            number=1000 + day,
        )
        for day in range(DAYS)
        for topic, names, outcomes in topics
        for name in names
        for outcome in outcomes
    )


if __name__ == "__main__":
    sys.exit(main())
