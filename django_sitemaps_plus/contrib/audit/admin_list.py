"""The admin's list of what the newest audits found, URL by URL."""

from __future__ import annotations

from operator import attrgetter
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.protocol.dates import moment
from django_sitemaps_plus.sitemaps.site import SiteAddress

from .kinds import known
from .looks import MODES
from .models import Finding
from .queries import newest_findings, url_digest


def _title(kind: str) -> str:
    return known()[kind].translated_title if kind in known() else kind


def _filters(base: Any, display: Any) -> list[type[Any]]:
    """Return the filters: by section, kind, level and mode."""

    class KindFilter(base.FieldFilter):  # type: ignore[misc]  # a base that is given
        """By what was found."""

        title = _("what was found")
        parameter_name = field = "kind"

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[Any]:
            """Return the kinds that have findings."""
            rows = newest_findings().order_by().values_list("kind", flat=True)
            return [(name, _title(name)) for name in sorted(rows.distinct())]

    class LevelFilter(base.FieldFilter):  # type: ignore[misc]  # a base that is given
        """By level."""

        title = _("level")
        parameter_name = field = "level"

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[Any]:
            """Return the levels."""
            return list(display.LEVELS.items())

    class ModeFilter(base.FieldFilter):  # type: ignore[misc]  # a base that is given
        """By how the audit looked."""

        title = _("how")
        parameter_name = "mode"
        field = "audit__fetched"

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[Any]:
            """Return the modes."""
            return [(str(mode) or self.EMPTY, word) for mode, word in MODES.items()]

    class NewFilter(base.FieldFilter):  # type: ignore[misc]  # a base that is given
        """What the audit before did not find."""

        title = _("new since the last audit")
        parameter_name = "new"
        field = "is_new"

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[Any]:
            """Return yes: for what it is looked for."""
            return [("True", _("new since the last audit"))]

    return [base.SectionFilter, KindFilter, LevelFilter, ModeFilter, NewFilter]


def finding_admin(base: Any, display: Any) -> type[Any]:
    """Return the list, made of the classes in which nothing is edited."""

    class FindingAdmin(base.Exported):  # type: ignore[misc]  # a base that is given
        """What the newest audits found."""

        rows = staticmethod(newest_findings)
        list_display = ("what", "address", "where", "text", "found_ago")
        list_display_links = ("what",)
        list_filter = _filters(base, display)
        list_select_related = ("audit",)
        search_fields = ("url",)
        ordering = ("-pk",)
        fields = (
            "what",
            "level_shown",
            "address",
            "text_shown",
            "section",
            "where",
            "fix",
            "mode",
            "found_when",
        )
        columns: ClassVar[dict[Any, Any]] = {
            _("URL"): attrgetter("url"),
            _("what was found"): lambda row: _title(row.kind),
            _("level"): lambda row: display.LEVELS[row.level],
            _("details"): attrgetter("text"),
            _("section"): attrgetter("section"),
            _("page"): attrgetter("page"),
            _("key"): attrgetter("row"),
            _("what to do"): attrgetter("about.translated_fix"),
            _("how"): lambda row: MODES[row.audit.fetched],
            # As a spreadsheet reads it, in UTC.
            _("when"): lambda row: f"{moment(row.audit.finished_at):%F %T}",
            _("id"): attrgetter("kind"),
        }

        address = display.column("url", _("URL"), lambda url: url and display.link(url))
        text_shown = display.column("text", _("details"), lambda text: text or "–")
        where = display.column("page", _("page"), lambda page: page or "–")
        fix = display.column("about", _("what to do"), attrgetter("translated_fix"))
        mode = display.column("audit", _("how"), lambda audit: MODES[audit.fetched])
        found_ago = display.column(
            "audit", _("when"), lambda audit: display.ago(audit.finished_at)
        )
        found_when = display.column(
            "audit", _("when"), lambda audit: display.when(audit.finished_at)
        )

        @admin.display(description=_("what was found"))
        def what(self, row: Finding) -> Any:
            """Return what was found, coloured by its level, and whether it is new."""
            new = _("new since the last audit") if getattr(row, "is_new", False) else ""
            return display.state(_title(row.kind), row.level, new)

        @admin.display(description=_("level"))
        def level_shown(self, row: Finding) -> Any:
            """Return the level in a word."""
            return display.state(display.LEVELS[row.level], row.level)

        def of_url(
            self, queryset: QuerySet[Any], location: str, site: SiteAddress
        ) -> QuerySet[Any]:
            """Return what was found of a URL."""
            return queryset.filter(digest=url_digest(site.url(location)))

    return FindingAdmin
