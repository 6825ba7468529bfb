"""The admin's list of inspected URLs."""

from __future__ import annotations

from typing import Any, ClassVar

from django.db.models import Count, QuerySet
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.db import digest_of
from django_sitemaps_plus.sitemaps.site import SiteAddress

from .shares import NAMES, SHARE_COLUMNS, STATES, lately

#: Answers among which a filter lets choose.
_MOST = 20


def inspection_admin(base: Any, display: Any) -> type[Any]:
    """Return the list, made of the classes in which nothing is edited."""

    class StateFilter(base.FieldFilter):  # type: ignore[misc]  # a base that is given
        """By what Google says."""

        title = _("state")
        parameter_name = "state"

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[Any]:
            """Return the states."""
            return list(NAMES.items())

        def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
            """Narrow the list down."""
            state = STATES.get(self.value())
            return queryset if state is None else queryset.filter(state)

    class AnswerFilter(base.FieldFilter):  # type: ignore[misc]  # a base that is given
        """By the words of an answer."""

        def lookups(self, request: HttpRequest, model_admin: Any) -> list[Any]:
            """Return the most frequent ones."""
            rows = lately().exclude(**{self.field: ""}).values_list(self.field)
            counted = rows.annotate(count=Count("pk")).order_by("-count", self.field)
            return [(word, word) for word, _ in counted[:_MOST]]

    class ReasonFilter(AnswerFilter):
        """By Google's reason."""

        title = _("in Google's words")
        parameter_name = field = "reason"

    class CanonicalFilter(AnswerFilter):
        """By Google's canonical, where it is another URL."""

        title = _("another canonical")
        parameter_name = field = "canonical"

    class InspectionAdmin(base.Exported):  # type: ignore[misc]  # a base that is given
        """What Google said of URLs."""

        rows = staticmethod(lately)
        list_display = ("address", "section", "reason", "crawled_ago", "inspected_ago")
        list_display_links = None
        list_filter = (base.SectionFilter, StateFilter, ReasonFilter, CanonicalFilter)
        search_fields = ("url",)
        ordering = ("-pk",)
        columns: ClassVar[dict[Any, Any]] = SHARE_COLUMNS

        address = display.column("url", _("URL"), display.link)
        crawled_ago = display.column("crawled_at", _("crawled"), display.ago)
        inspected_ago = display.column("inspected_at", _("inspected"), display.ago)

        def of_url(
            self, queryset: QuerySet[Any], location: str, site: SiteAddress
        ) -> QuerySet[Any]:
            """Return what Google said of a URL."""
            return queryset.filter(digest=digest_of(site.url(location)))

    return InspectionAdmin
