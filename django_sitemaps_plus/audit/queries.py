"""Audits that were stored: written, looked up by URL, deleted when they are old."""

from __future__ import annotations

from collections.abc import Iterable

from django.db import router, transaction
from django.db.models import QuerySet

from django_sitemaps_plus.changes.queries import location_digest
from django_sitemaps_plus.sitemaps.site import configured, current_site

from .kinds import FETCHED
from .models import Audit, Finding

#: Audits of a site that are stored, of each way to fetch: enough to see a trend.
KEPT = 10
#: Rows of one INSERT.
_ROWS = 500


def audits() -> QuerySet[Audit]:
    """Return the site's audits, the newest first, in the database for writing."""
    rows: QuerySet[Audit] = Audit.objects.using(router.db_for_write(Audit))
    return rows.filter(site=current_site()).order_by("-pk")


def last_audit() -> Audit | None:
    """Return the site's newest audit, with ``findings`` to read; None without one."""
    return audits().first()


def findings_of(url: str) -> list[Finding]:
    """
    Return what is known to be wrong with a URL, or with a path of the site.

    From the newest audit of its section and, of what only an answer shows, from the
    newest that fetched URLs.
    """
    rows = Finding.objects.using(router.db_for_write(Finding))
    found = rows.filter(digest=url_digest(url), audit__site=current_site())
    newest = list(audits().only("sections", "fetched"))

    def is_newest(finding: Finding) -> bool:
        needs_answer = finding.kind in FETCHED
        return finding.audit_id == next(
            audit.pk
            for audit in newest
            if finding.section in audit.sections and (audit.fetched or not needs_answer)
        )

    return [finding for finding in found.order_by("pk") if is_newest(finding)]


def url_digest(url: str) -> str:
    """Return what stands for a URL in the index: that of its path, if it is ours."""
    site = configured()
    path = url.removeprefix(str(site.origin)) if site else url
    return location_digest(path if path.startswith("/") else url)


def store(audit: Audit, findings: Iterable[Finding]) -> None:
    """Write an audit with what it found, and delete those that are too old."""
    rows = list(findings)
    using = audits().db
    with transaction.atomic(using=using):
        audit.save(using=using)
        for row in rows:
            row.audit = audit
            row.digest = url_digest(row.url) if row.url else ""
        Finding.objects.using(using).bulk_create(rows, batch_size=_ROWS)
        same = audits().filter(fetched=audit.fetched)
        former = list(same.values_list("pk", flat=True)[KEPT:])
        audits().filter(pk__in=former).delete()
