"""How the database means to run the query of a page."""

from __future__ import annotations

from . import site


def of_page(section: str, number: int) -> tuple[str, list[str]]:
    """
    Return the plan of a page's query, and what is wrong with it.

    The query is the one that the page's request runs, which is listened to.
    """
    from django.db import connection

    from django_sitemaps_plus.sitemaps import sections

    site.chill(section, number)
    table = sections.source(section).sitemap.items().model._meta.db_table
    statements = [
        statement
        for statement in site.queries_of(f"/sitemap-{section}-{number}.xml")
        if table in statement
    ]
    if len(statements) != 1:
        return "", [f"{len(statements)} queries on {table}, not one"]
    explain = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
    with connection.cursor() as cursor:
        cursor.execute(f"{explain} {statements[0]}")
        names = [column[0] for column in cursor.description]
        lines = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    plan = "\n".join(
        "  ".join(f"{name}: {value}" for name, value in line.items() if value)
        for line in lines
    )
    good = _IS_RANGE[connection.vendor](plan)
    return f"{statements[0]}\n\n{plan}", [] if good else [plan]


#: How a plan says that both bounds are looked up in an index, and nothing sorted.
_IS_RANGE = {
    "postgresql": lambda plan: (
        "Index Scan" in plan and "Index Cond" in plan and "Sort" not in plan
    ),
    "sqlite": lambda plan: (
        "SEARCH" in plan
        and "(rowid>? AND rowid<?)" in plan
        and "TEMP B-TREE" not in plan
    ),
    "mysql": lambda plan: "type: range" in plan and "filesort" not in plan,
}
