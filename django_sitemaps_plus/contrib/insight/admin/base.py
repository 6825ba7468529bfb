"""Lists in which nothing is edited, and their filters."""

from __future__ import annotations

import datetime as dt
import time
from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

from django.contrib import admin, messages
from django.contrib.admin.options import IncorrectLookupParameters
from django.contrib.admin.sites import AdminSite
from django.core.exceptions import PermissionDenied
from django.core.paginator import Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import SimpleTemplateResponse, TemplateResponse
from django.urls import path, reverse
from django.utils import formats, timezone
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus import hooks
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.contrib.insight.history import today
from django_sitemaps_plus.health.alerts import missing_tables
from django_sitemaps_plus.models import UrlChange
from django_sitemaps_plus.protocol.errors import LocationError
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress, working_for

from . import display
from .display import MOST, known_engines, registered
from .entered import stored_location
from .export import Columns, csv_of

if TYPE_CHECKING:
    Base: TypeAlias = admin.ModelAdmin[Any]
else:
    # Django's class takes no parameters while it runs.
    Base = admin.ModelAdmin


#: The one stylesheet.
_STYLES = "django_sitemaps_plus/admin.css"


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # in the stubs only
    """Counts some thousand rows at most, however many there are."""

    @cached_property
    def count(self) -> int:
        """Return how many rows the list can show."""
        rows: Any = self.object_list
        # In the order of the list: what is new lies where a scan comes last.
        return int(rows.values("pk")[:MOST].count())


class FieldFilter(admin.SimpleListFilter):
    """By the value of a field; its values are known, so that no row is read for it."""

    field: str
    #: Stands in an address for the empty value.
    EMPTY = "-"

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Narrow the list down."""
        value = self.value()
        return self.narrowed(queryset, value) if value else queryset

    def narrowed(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        """Return the rows that have a value."""
        return rows.filter(**{self.field: "" if value == self.EMPTY else value})


class SectionFilter(FieldFilter):
    """By section."""

    title = _("section")
    parameter_name = "of"
    field = "section"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """Return the registered sections."""
        return [(name, name) for name in registered()[0]]


class PageSectionFilter(SectionFilter):
    """By section, of pages."""

    field = "section__name"


class EngineFilter(FieldFilter):
    """By engine."""

    title = _("engine")
    parameter_name = field = "engine"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """Return the aliases in the settings."""
        return [(alias, alias) for alias in known_engines()[0]]


class ProblemsFilter(FieldFilter):
    """By whether rows were left out."""

    title = _("problems")
    parameter_name = "bad"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """Return yes and no."""
        return [("yes", _("Rows left out")), ("no", _("None"))]

    def narrowed(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        """Return the pages with such rows, or those without."""
        return rows.filter(**{"bad" if value == "no" else "bad__gt": 0})


class TimeFilter(FieldFilter):
    """By how long ago."""

    title = _("time")
    parameter_name = "since"
    field = "at"

    spans: ClassVar[dict[str, Any]] = {
        "3600": _("Last hour"),
        "86400": _("Last day"),
        "604800": _("Last week"),
    }

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """Return the last hour, day and week."""
        return list(self.spans.items())

    def narrowed(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        """Return the rows since then."""
        if value not in self.spans:
            return rows
        return rows.filter(**{f"{self.field}__gte": time.time() - int(value)})


class DayFilter(FieldFilter):
    """By day, in ``TIME_ZONE``: those of which URL changes are stored."""

    title = _("day")
    parameter_name = "day"
    field = "at"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """Return the days, today first."""
        days = [
            today() - dt.timedelta(days=n) for n in range(UrlChange.KEEP // 86_400 + 1)
        ]
        words = [gettext("Today"), gettext("Yesterday")]
        words += [formats.date_format(day, "DATE_FORMAT") for day in days[2:]]
        return [(f"{day}", word) for day, word in zip(days, words, strict=True)]

    def narrowed(self, rows: QuerySet[Any], value: str) -> QuerySet[Any]:
        """Return the rows of that day."""
        if value not in dict(self.lookup_choices):
            return rows
        day, zone = dt.date.fromisoformat(value), timezone.get_default_timezone()
        since, until = (
            dt.datetime.combine(one, dt.time(), zone).timestamp()
            for one in (day, day + dt.timedelta(days=1))
        )
        return rows.filter(**{f"{self.field}__gte": since, f"{self.field}__lt": until})


class SiteFilter(admin.SimpleListFilter):
    """By site, in a project that serves several: the whole page is about one."""

    title = _("site")
    parameter_name = "site"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        """Return the sites that have a name."""
        return [(name, name) for name in get_settings().SITES]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Leave the list as it is: it is read for the site."""
        return queryset

    def choices(self, changelist: Any) -> Iterator[Any]:
        """Say of the first one that it is the site without a name, not all."""
        first, *others = super().choices(changelist)
        yield {**first, "display": _("the site without a name")}
        yield from others


class ShownPage:
    """What apps are given that add to a page: see ``hooks.AdminPage``."""

    display: Any = display

    def __init__(self, request: HttpRequest) -> None:
        self.request = request

    def may(self, model: type[Model]) -> bool:
        """Return whether the user may view the rows of a model."""
        label, name = model._meta.app_label, model._meta.model_name
        may = self.request.user.has_perm
        return bool(may(f"{label}.view_{name}") or may(f"{label}.change_{name}"))

    def list(self, model: type[Model], query: str) -> str:
        """Return the address of a list in the admin."""
        name = f"admin:{model._meta.app_label}_{model._meta.model_name}_changelist"
        current_app = getattr(self.request, "current_app", "admin")
        return f"{reverse(name, current_app=current_app)}?{query}"


def said(one: str | hooks.Failed) -> str:
    """Return what an app shows; of one that failed, that it did."""
    if not isinstance(one, hooks.Failed):
        return one
    return format_html(
        '<section class="sitemaps-panel"><p class="sitemaps-problem">{}</p></section>',
        one,
    )


class ReadOnly(Base):
    """A list in which nothing is added, edited or deleted."""

    class Media:
        css: ClassVar[dict[str, list[str]]] = {"all": [_STYLES]}

    #: Returns the rows of the site that is worked for.
    rows: Callable[[], QuerySet[Any]]
    #: Further pages beside the list: the method that shows each, by its path.
    views: ClassVar[dict[str, str]] = {}
    show_full_result_count = False
    # Only its own order has an index.
    sortable_by = ()
    # They count all rows of the table for each choice of each filter.
    show_facets = admin.ShowFacets.NEVER
    paginator = BoundedPaginator
    empty_value_display = "–"

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return the rows of the site."""
        return self.rows()

    def get_urls(self) -> list[Any]:
        """Add the further pages."""
        wrap = self.admin_site.admin_view
        added = [
            path(f"{name}/", wrap(getattr(self, view)), name=f"sitemaps_plus_{name}")
            for name, view in self.views.items()
        ]
        return [*added, *super().get_urls()]

    def get_list_filter(self, request: HttpRequest) -> Any:
        """Return the filters, by site too where there are several."""
        found = super().get_list_filter(request)
        return [SiteFilter, *found] if get_settings().SITES else found

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the list of one site."""
        show = super().changelist_view
        more = extra_context or {}
        return of_site(request, lambda: show(request, {**self.more_context(), **more}))

    def changeform_view(
        self, request: HttpRequest, *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Show a row of one site."""
        show = super().changeform_view
        return of_site(request, lambda: show(request, *args, **kwargs))

    def more_context(self) -> dict[str, Any]:
        """Return what a list's template shows besides."""
        return {}

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Nothing can be added, edited or deleted; there are actions."""
        return False

    has_add_permission = has_delete_permission = has_change_permission

    def has_act_permission(self, request: HttpRequest) -> bool:
        """Return whether a user may run the actions: with the change permission."""
        name = f"{self.opts.app_label}.change_{self.opts.model_name}"
        return bool(request.user.has_perm(name))


class Exported(ReadOnly):
    """A list that can be searched for a URL, and exported as CSV."""

    change_list_template = "django_sitemaps_plus/admin/exported_list.html"
    #: What a file has, by the headings of its columns.
    columns: ClassVar[Columns] = {}

    def of_url(
        self, queryset: QuerySet[Any], location: str, site: SiteAddress
    ) -> QuerySet[Any]:
        """Return the rows of a location: a path of the site, or a whole URL."""
        raise NotImplementedError

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Find a URL by its digest: no index has the URLs themselves."""
        if not search_term:
            return queryset, False
        site = Site.current().address_for(request)
        try:
            location = stored_location(search_term, site)
        except LocationError as error:
            self.message_user(request, str(error), messages.WARNING)
            return queryset.none(), False
        return self.of_url(queryset, location, site), False

    def get_urls(self) -> list[Any]:
        """Add the file."""
        view = self.admin_site.admin_view(self.export)
        name = f"{self.opts.app_label}_{self.opts.model_name}_export"
        return [path("export/", view, name=name), *super().get_urls()]

    def export(self, request: HttpRequest) -> HttpResponse:
        """Return what the list shows with its filters, as CSV."""
        if not self.has_view_permission(request):
            raise PermissionDenied
        return of_site(request, lambda: self._file(request))

    def _file(self, request: HttpRequest) -> HttpResponse:
        try:
            rows = self.get_changelist_instance(request).queryset
        except IncorrectLookupParameters:
            return redirect("..")
        return csv_of(f"sitemap-{self.opts.model_name}", rows, self.columns)


def page_of(
    request: HttpRequest, site: AdminSite, name: str, **context: Any
) -> TemplateResponse:
    """Return a further page of the admin, by the name of its template."""
    context = {**site.each_context(request), "subtitle": None, **context}
    return TemplateResponse(request, f"django_sitemaps_plus/admin/{name}.html", context)


def chosen_site(request: HttpRequest) -> Site:
    """Return the site that is shown: the chosen one, or the request's."""
    chosen = request.GET.get("site") or QueryDict(
        # From a list to one of its rows.
        request.GET.get("_changelist_filters", "")
    ).get("site")
    known = {site.key: site for site in Site.of_process()}
    return known[chosen] if chosen in known else Site.of_request(request)


def of_site(request: HttpRequest, show: Callable[[], HttpResponse]) -> HttpResponse:
    """Return what a view shows of that site; without tables, the app's first page."""
    site = chosen_site(request)
    for missing in missing_tables():
        messages.error(request, missing.sentence)
        return redirect("admin:app_list", app_label="sitemaps_plus")
    if site == Site.current():
        return show()
    with working_for(site):
        response = show()
        if isinstance(response, SimpleTemplateResponse):
            # Later another site would be worked for.
            response.render()
    return response
