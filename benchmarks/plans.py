"""How the database means to run a query."""

from __future__ import annotations

from . import site


def explain(query: str) -> str:
    """Return the plan of a query, a line for each step."""
    from django.db import connection

    how = "EXPLAIN QUERY PLAN" if connection.vendor == "sqlite" else "EXPLAIN"
    with connection.cursor() as cursor:
        cursor.execute(f"{how} {query}")
        names = [column[0] for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    return "\n".join(
        "  ".join(f"{name}: {value}" for name, value in row.items() if value)
        for row in rows
    )


def of_page(section: str, number: int) -> tuple[str, list[str]]:
    """
    Return the plan of a page's query, and what is wrong with it.

    The query is the one that a request for the page runs.
    """
    from django.db import connection

    site.chill(section, number)
    statements = site.queries_of(f"/sitemap-{section}-{number}.xml", on="shop_")
    if len(statements) != 1:
        return "", [f"{len(statements)} queries on the rows, not one"]
    plan = explain(statements[0])
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
