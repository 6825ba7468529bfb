"""What the admin's pages show of audits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from django.template.loader import render_to_string
from django.utils.translation import gettext

from django_sitemaps_plus.health.alerts import Alert
from django_sitemaps_plus.hooks import AdminPage

from .kinds import known
from .looks import looks
from .models import Finding
from .queries import findings_of, newest_findings, verdicts


def site_panel(page: AdminPage) -> str:
    """Return what was audited, and what was found."""
    display, every = page.display, looks()
    counts: dict[str, Counter[str]] = {}
    for look in every:
        for name, some in look.counts.items():
            # What was found by two ways to look is counted once.
            counts[name] = counts.get(name, Counter()) | some
    found = [(known()[name], some) for name, some in counts.items()]
    rows = newest_findings().filter(is_new=True) if found else Finding.objects.none()
    new = Counter(rows.values_list("kind", flat=True))
    shown = {
        "looks": [
            {
                "of": look.of,
                "how": look.how,
                "when": display.ago(look.audit.finished_at),
                "result": look.result,
            }
            for look in every
        ],
        "findings": [
            {
                "level": display.state(display.LEVELS[kind.level], kind.level),
                "title": kind.translated_title,
                "number": display.number(by_section.total()),
                "new": new[kind.id] and display.number(new[kind.id]),
                "link": page.list(Finding, f"kind={kind.id}"),
                "sections": ", ".join(filter(None, by_section)) or "–",
                "fix": kind.translated_fix,
            }
            for kind, by_section in sorted(
                found, key=lambda item: item[0].level != Alert.ERROR
            )
        ],
    }
    return render_to_string("django_sitemaps_plus/audits.html", {"part": shown})


def of_url(page: AdminPage, url: str, sections: Mapping[str, float]) -> str:
    """Return what audits found about a URL, and what they covered."""
    display = page.display
    found = [
        {
            "level": display.state(display.LEVELS[finding.level], finding.level),
            "title": finding.about.translated_title,
            "text": finding.text,
            "id": finding.kind,
            "fix": finding.about.translated_fix,
        }
        for finding in findings_of(url)
    ]
    shown = {"findings": found, "audited": _audited(page, sections)}
    return render_to_string("django_sitemaps_plus/found_of_url.html", {"part": shown})


def _audited(page: AdminPage, sections: Mapping[str, float]) -> str:
    """Return in a sentence how much of a URL was audited."""
    if not sections:
        return gettext("Audits only read what is listed.")
    seen = [
        one
        for one in verdicts()
        if one.section in sections and one.audit.started_at > sections[one.section]
    ]
    fetched = [one for one in seen if one.fetched]
    if not seen:
        return gettext("Not audited since it was listed.")
    if any(one.is_complete for one in fetched):
        return gettext("Its entry and its response were audited.")
    if fetched:
        text = gettext(
            "Its entry was audited; %(fetched)s of %(urls)s URLs of its section were "
            "fetched, maybe not this one."
        )
        one = fetched[0]
        counts = {"fetched": one.fetched_urls, "urls": one.urls}
        return text % {name: page.display.number(n) for name, n in counts.items()}
    return gettext("Only its entry was audited. It was not fetched.")
