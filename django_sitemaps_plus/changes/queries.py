"""Where changes are read and written."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from django.db.models import Q, QuerySet

from django_sitemaps_plus.pagination.queries import ledger
from django_sitemaps_plus.prepared import Prepared, Slot, Step, delete, listed, slots
from django_sitemaps_plus.sitemaps.site import Site

from .models import Change, RelatedState, UrlChange


def changes(section: str | None = None) -> QuerySet[Change]:
    """Return the site's changes, of one section or all, in the database for writing."""
    rows = Change.objects.on_site()
    return rows if section is None else rows.filter(section=section)


#: Changes of a page that one build takes. The page waits for the rest, and is built
#: again for it.
MOST_TAKEN = 20_000


def waiting_changes(section: str, page: int, *, unassigned: bool) -> Any:
    """
    Return the changes of a page that a build takes, in the order of their recording.

    With ``unassigned`` those of the section that nobody has assigned to a page, too.
    """
    using = ledger()
    values = {"site": Site.current().key, "section": section, "page": page}
    rows = _OF_PAGE.rows(using, unassigned, **values)
    return [Change.from_db(using, CHANGE_COLUMNS, row) for row in rows]


#: Of the table of changes.
CHANGE_COLUMNS = [field.attname for field in Change._meta.concrete_fields]


def _of_page_query(unassigned: bool) -> Any:
    own = Q(page=Slot("page"))
    own = own | Q(page=None) if unassigned else own
    rows = Change.objects.filter(own, site=Slot("site"), section=Slot("section"))
    return rows.order_by("pk").values_list(*CHANGE_COLUMNS)[:MOST_TAKEN]


_OF_PAGE = Prepared(_of_page_query)


def deleting(ids: Collection[int]) -> Step:
    """Return the step that deletes some changes."""
    count, values = listed("id", ids)
    return Step(_DELETE, (count,), {"site": Site.current().key, **values})


def _delete_query(ids: int) -> Any:
    rows = Change.objects.filter(site=Slot("site"))
    return delete(rows.filter(pk__in=slots("id", ids)))


_DELETE = Prepared(_delete_query)


def url_changes() -> QuerySet[UrlChange]:
    """Return what happened to the site's URLs, in the database for writing."""
    return UrlChange.objects.on_site()


def related_states() -> QuerySet[RelatedState]:
    """Return what the site knows of related objects, in the database for writing."""
    return RelatedState.objects.on_site()
