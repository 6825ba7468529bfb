"""Audits that were stored: written, looked up by URL, deleted when they are old."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.db import router, transaction
from django.db.models import (
    BooleanField,
    Case,
    Exists,
    OuterRef,
    Q,
    QuerySet,
    Value,
    When,
)

from django_sitemaps_plus.db import digest_of
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import Site

from .kinds import fetched as of_answers
from .kinds import known
from .models import Audit, Finding
from .rules.documents import NOT_BUILT

#: Audits of a site that are stored, of each way to fetch: enough to see a trend. More
#: are where older ones say what no later one looked at.
KEPT = 10
#: Rows of one INSERT.
_ROWS = 500


def audits() -> QuerySet[Audit]:
    """Return the site's audits, the newest first, in the database for writing."""
    return _stored().exclude(fetched=Audit.Fetched.CRAWLED)


def _stored() -> QuerySet[Audit]:
    return Audit.objects.on_site().order_by("-pk")


def last_crawls() -> list[Audit]:
    """
    Return how the sitemaps arrived when they were last read as a crawler reads them.

    The newest run and, where that read only some of the files, the newest that read all
    of them; empty where nobody has looked. Each has ``errors``, ``warnings``,
    ``findings`` and ``missed``, what it did not look at; of its ``urls`` files it read
    ``fetched_urls``.
    """
    newest = list(_stored().filter(fetched=Audit.Fetched.CRAWLED))
    whole = [one for one in newest if one.fetched_urls >= one.urls]
    return list(dict.fromkeys(newest[:1] + whole[:1]))


def last_audit() -> Audit | None:
    """Return the site's newest audit, with ``findings`` to read; None without one."""
    return audits().first()


@dataclass(frozen=True)
class Verdict:
    """What the newest audit found of one section, looked at in one way."""

    #: Its name; empty: what is wrong with the whole site, such as its robots.txt.
    section: str
    #: One of ``Audit.Fetched``: "" for what its pages list, else for the answers.
    fetched: str
    audit: Audit
    #: How many URLs it lists, and how many of these were fetched.
    urls: int
    fetched_urls: int
    #: How many things were found, by the id of their kind.
    counts: Mapping[str, int]
    #: Whether all there is was looked at: no sample, nor an audit that ended early.
    is_complete: bool

    def number(self, level: str) -> int:
        """Return how many things of a level ("error", "warning") were found."""
        return sum(n for kind, n in self.counts.items() if known()[kind].level == level)


def verdicts() -> list[Verdict]:
    """
    Return what audits found of each registered section, and what no later one saw.

    Of each section: what its pages list, by the newest audit that read them; what its
    URLs answer, in process and over HTTP, by the newest that fetched all of them and,
    where that was later, by the newest that fetched some. A section without a verdict
    was not looked at.
    """
    named = {"", *registry.sources()}
    return [one for one in _verdicts() if one.section in named]


def _verdicts() -> list[Verdict]:
    newest: dict[tuple[str, str, bool], Verdict] = {}
    for audit in audits().defer("remembered", "times"):
        for verdict in _verdicts_of(audit):
            way = verdict.section, verdict.fetched
            if (*way, True) not in newest:
                newest.setdefault((*way, verdict.is_complete), verdict)
    return list(newest.values())


def _verdicts_of(audit: Audit) -> Iterator[Verdict]:
    """Yield what one audit says."""
    live = Audit.Fetched.LIVE
    # The whole site's robots.txt is fetched by each audit, in one of two ways.
    of_site = live if audit.fetched == live else Audit.Fetched.NOTHING
    yield Verdict("", of_site, audit, 0, 0, _counts(audit, ""), is_complete=True)
    # Of a section whose pages were not all read something may have been found.
    found = {name for numbers in audit.counts.values() for name in numbers}
    for section in sorted({*audit.sections, *found} - {""}):
        urls, fetched = audit.sections.get(section, (0, 0))
        counts = _counts(audit, section)
        is_read = section in audit.sections and NOT_BUILT not in counts
        listed = {kind: n for kind, n in counts.items() if kind not in of_answers()}
        yield Verdict(section, "", audit, urls, fetched, listed, is_complete=is_read)
        if fetched:
            answers = {kind: n for kind, n in counts.items() if kind in of_answers()}
            yield Verdict(
                *(section, audit.fetched, audit, urls, fetched, answers),
                is_complete=is_read and fetched >= urls,
            )


def _counts(audit: Audit, section: str) -> dict[str, int]:
    return {
        kind: numbers[section]
        for kind, numbers in audit.counts.items()
        if section in numbers and kind in known()
    }


def newest_findings() -> QuerySet[Any]:
    """
    Return what ``verdicts()`` and ``last_crawls()`` count, if it is stored.

    ``is_new`` says that the audit before, which looked at as much, did not find it.
    """
    crawled = Q(audit__in=[one.pk for one in last_crawls()])
    return _findings(verdicts(), crawled).annotate(is_new=_is_new())


def _is_new() -> Case:
    every = list(_stored().defer("counts", "remembered", "times"))
    cases = []
    for n, audit in enumerate(every):
        before = next((one for one in every[n + 1 :] if _saw_all(one, audit)), None)
        if before is not None:
            names = "kind", "section", "page", "digest"
            same = Finding.objects.using(every[0]._state.db).filter(
                audit=before.pk, **{name: OuterRef(name) for name in names}
            )
            cases.append(When(audit=audit.pk, then=~Exists(same)))
    return Case(*cases, default=Value(value=False), output_field=BooleanField())


def _saw_all(former: Audit, audit: Audit) -> bool:
    """Return whether a former audit looked at all that one did, in the same way."""
    if former.fetched != audit.fetched or former.missed:
        return False
    is_sample = former.fetched and former.fetched_urls < former.urls
    return not is_sample and former.sections.keys() >= audit.sections.keys()


def findings_of(url: str) -> list[Finding]:
    """
    Return what audits found wrong with a URL, or with a path of the site.

    Of its section, by the audits that ``verdicts()`` names.
    """
    return list(_findings(_verdicts()).filter(digest=url_digest(url)).order_by("pk"))


def _findings(some: Iterable[Verdict], chosen: Q | None = None) -> QuerySet[Finding]:
    """Return the findings of some verdicts, and those that are chosen besides."""
    chosen = chosen or Q(pk__in=[])
    sections: dict[tuple[int, bool], list[str]] = {}
    for one in some:
        if one.section:
            way = one.audit.pk, bool(one.fetched)
            sections.setdefault(way, []).append(one.section)
        else:
            chosen |= Q(audit=one.audit.pk, section="")
    for (audit, is_fetched), names in sections.items():
        answers = Q(kind__in=of_answers())
        kinds = answers if is_fetched else ~answers
        chosen |= Q(audit=audit, section__in=names) & kinds
    return Finding.objects.using(router.db_for_write(Finding)).filter(chosen)


def remembered() -> dict[str, Any]:
    """Return what the newest audit remembers of rows, by section."""
    newest = last_audit()
    return {} if newest is None else dict(newest.remembered)


def url_digest(url: str) -> str:
    """Return what stands for a URL in the index: that of its path, if it is ours."""
    site = Site.current().address()
    path = url.removeprefix(str(site.origin)) if site else url
    return digest_of(path if path.startswith("/") else url)


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
        same = _stored().filter(fetched=audit.fetched)
        former = set(same.values_list("pk", flat=True)[KEPT:])
        former -= {one.audit.pk for one in _verdicts()}
        former -= {one.pk for one in last_crawls()}
        _stored().filter(pk__in=former).delete()


def audited_at() -> float | None:
    """Return when the section was audited whose last audit is longest ago."""
    newest = dict.fromkeys(registry.sources(), 0.0)
    for one in verdicts():
        if one.section in newest and one.is_complete and not one.fetched:
            newest[one.section] = max(newest[one.section], one.audit.finished_at)
    return min(newest.values(), default=0.0) or None
