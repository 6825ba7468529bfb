"""Responses for the addresses of sitemaps."""

from __future__ import annotations

from django.http import Http404, HttpRequest, HttpResponseBase

from django_sitemaps_plus import hooks
from django_sitemaps_plus.exceptions import HookError
from django_sitemaps_plus.sitemaps.registry import registry
from django_sitemaps_plus.sitemaps.site import Site, SiteAddress
from django_sitemaps_plus.storing.freshness import fresh_state, stored_page

from . import documents, index
from .responses import not_modified, send_document

_CONDITIONS = {"HTTP_IF_NONE_MATCH", "HTTP_IF_MODIFIED_SINCE"}


def gathered(
    request: HttpRequest,
    *,
    name: str = "",
    part: int | None = None,
    ending: str = "xml",
    gz: bool = False,
) -> HttpResponseBase:
    """
    ``/sitemap.xml``, or ``/sitemap-<section>.xml``: all entries, or the index.

    With ``part``, counted from 2, a further file of that index. With another ending
    what an app derives from it.
    """
    if name:
        _refuse_other_sites(name)
    sources = index.usable([name]) if name else index.usable()
    document, place = None, Site.current().address_for(request)
    if part is None or part > 1:
        is_xml = ending == "xml"
        document = index.document_of(
            name, sources, place, part or 1, may_be_index=is_xml
        )
    if document is None:
        owner = f" of the section {name!r}" if name else ""
        raise Http404(f"The index{owner} has no part {part}.")
    return send_document(request, _with_ending(ending, document, place), gz=gz)


def page(
    request: HttpRequest, page: str, *, ending: str = "xml", gz: bool = False
) -> HttpResponseBase:
    """``/sitemap-<section>-<page>.xml``: one page of a section."""
    name, _, text = page.rpartition("-")
    # The length first: Python refuses to read a number of some thousand digits.
    if len(text) > 9 or text != str(int(text)) or int(text) == 0:
        raise Http404(
            f"{text!r} is not a page number: they count from 1, without leading zeros."
        )
    number, place = int(text), Site.current().address_for(request)
    _refuse_other_sites(name)
    section, document = documents.usable_source(name), None
    if section is None:
        document = documents.former_document(name, number, place)
    elif section.key is None:
        document = documents.page_or_former(section, number, place)
    else:
        own = place.with_scheme(section.sitemap.protocol)
        asks = _CONDITIONS & request.META.keys()
        state = fresh_state(section, number) if asks else None
        # Of a page in error it depends on its bytes whether they may be sent.
        if state and not state.error:
            # No bytes are read of what the client has.
            tag = own.version_tag(state.checksum)
            if response := not_modified(request, tag, state.changed_at, gz=gz):
                return response
        stored, is_fresh = None, False
        if state or not asks:
            stored, is_fresh = stored_page(section, number)
        if stored and is_fresh:
            document = documents.served_document(stored, own)
        else:
            document = documents.page_or_former(section, number, place, stored)
    if document is None:
        raise Http404(f"The section {name!r} has no page {number}.")
    return send_document(request, _with_ending(ending, document, place), gz=gz)


def _with_ending(
    ending: str, document: documents.Document, site: SiteAddress
) -> documents.Document:
    """Return a document as it is, or what an app derives from it."""
    if ending == "xml":
        return document
    derived = hooks.derived(site)
    if ending not in derived:
        raise HookError(f"No app derives {ending!r}, whose address is among its URLs.")
    return derived[ending].make(document)


def _refuse_other_sites(name: str) -> None:
    """Raise ``Http404`` for a section that only another of ``SITES`` has."""
    if name not in registry.sources():
        raise Http404(f"This site has no section {name!r}.")
