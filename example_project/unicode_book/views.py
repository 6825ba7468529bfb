"""The pages of the encyclopedia."""

from __future__ import annotations

import re
import unicodedata
from typing import Any

from django import forms
from django.conf import settings
from django.core.paginator import Paginator
from django.db.models import Count, Min, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import translation

from .models import Block, Character, Note

PER_PAGE = 48

CODE_POINT = re.compile(r"(U\+|0X|\\U)?([0-9A-F]{4,6})", re.IGNORECASE)


class SearchForm(forms.Form):
    """What was asked for; a form refuses the characters that no database takes."""

    q = forms.CharField(max_length=100, required=False)


def home(request: HttpRequest) -> HttpResponse:
    """Show what there is, and a way in."""
    notes = Note.objects.prefetch_related("characters")
    context = {
        "characters": f"{Character.objects.count():,}",
        "blocks": Block.objects.count(),
        "notes": [(note, note.title("en")) for note in notes],
    }
    return render(request, "unicode_book/home.html", context)


def about(request: HttpRequest) -> HttpResponse:
    """Say where the data is from and what it is not."""
    return render(request, "unicode_book/about.html")


def search(request: HttpRequest) -> HttpResponse:
    """Find characters by the words of their names, by code point, or by themselves."""
    form = SearchForm(request.GET)
    query = form.cleaned_data["q"] if form.is_valid() else ""
    page = Paginator(_found(query), PER_PAGE).get_page(request.GET.get("page"))
    context = {"query": query, "page": page, "form": form}
    return render(request, "unicode_book/search.html", context)


def _found(query: str) -> QuerySet[Character]:
    code_point = CODE_POINT.fullmatch(query)
    # "FACE" is a word first; "U+FACE" and "1F600" cannot be anything but numbers.
    if code_point and (code_point[1] or re.search("[0-9]", query)):
        return Character.objects.filter(pk=int(code_point[2], 16))
    if len(query) == 1 or not query.isascii():
        return Character.objects.filter(pk__in={ord(text) for text in query})
    if not query:
        return Character.objects.none()
    found = Character.objects.all()
    for word in query.split():
        found = found.filter(name__icontains=word)
    return found


def block_list(request: HttpRequest) -> HttpResponse:
    """List the blocks, with how many named characters each has."""
    blocks = Block.objects.annotate(
        size=Count("characters"), opens_with=Min("characters")
    ).order_by("first")
    page = Paginator(blocks, PER_PAGE).get_page(request.GET.get("page"))
    # The first named character of each block is its picture.
    first = Character.objects.in_bulk([block.opens_with for block in page])
    rows = [(block, first[block.opens_with]) for block in page]
    context = {"page": page, "rows": rows}
    return render(request, "unicode_book/block_list.html", context)


def block(request: HttpRequest, slug: str) -> HttpResponse:
    """Show 256 code points as a chart of sixteen by sixteen."""
    block = get_object_or_404(Block, slug=slug)
    named = block.characters.in_bulk()
    context = {
        "current": block,  # in a template, "block" is the {% block %} it stands in
        "named": len(named),
        "columns": [f"{column:X}" for column in range(16)],
        "chart": [
            (f"{first // 16:03X}", [named.get(first + column) for column in range(16)])
            for first in range(block.first, block.last, 16)
        ],
        "first": next(iter(named.values())),
        "previous": Block.objects.filter(first__lt=block.first).last(),
        "next": Block.objects.filter(first__gt=block.first).first(),
    }
    return render(request, "unicode_book/block.html", context)


def character(request: HttpRequest, slug: str) -> HttpResponse:
    """Show one character."""
    code_point = CODE_POINT.fullmatch(slug.partition("-")[0])
    if code_point is None or code_point[1]:
        raise Http404(f"{slug!r} does not begin with a code point.")
    character = get_object_or_404(
        Character.objects.select_related("block"), pk=int(code_point[2], 16)
    )
    # Something between the reader and us may have normalised the address. To send
    # such a reader on would go in a circle: <link rel="canonical"> says it instead.
    if _nfc(slug) != _nfc(character.slug):
        return redirect(character, permanent=True)
    others = Character.objects.order_by("code_point")
    context = {
        "character": character,
        "decomposition": _parts(character.decomposition_text),
        "cases": [
            (label, _parts(text))
            for label, text in (
                ("Uppercase", character.uppercase),
                ("Lowercase", character.lowercase),
                ("Titlecase", character.titlecase),
            )
            if text != character.text
        ],
        "previous": others.filter(pk__lt=character.pk).last(),
        "next": others.filter(pk__gt=character.pk).first(),
        "notes": [(note, note.title("en")) for note in character.notes.all()],
    }
    return render(request, "unicode_book/character.html", context)


def _nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def _parts(text: str) -> list[Character]:
    """Return the rows of the characters of ``text``, in its order."""
    rows = Character.objects.in_bulk([ord(part) for part in text])
    return [rows[ord(part)] for part in text if ord(part) in rows]


def note_list(request: HttpRequest) -> HttpResponse:
    """List the notes in the language of the address."""
    language = translation.get_language()
    notes = Note.objects.prefetch_related("characters")
    context = {
        "notes": [(note, note.title(language)) for note in notes],
        **_in_all_languages("note-list"),
    }
    return render(request, "unicode_book/note_list.html", context)


def note(request: HttpRequest, slug: str) -> HttpResponse:
    """Show one note in the language of the address."""
    note = get_object_or_404(Note, slug=slug)
    language = translation.get_language()
    context = {
        "note": note,
        "title": note.title(language),
        "body": note.body(language),
        "about": note.characters.all(),
        **_in_all_languages("note", slug=slug),
    }
    return render(request, "unicode_book/note.html", context)


def _in_all_languages(name: str, **kwargs: Any) -> dict[str, Any]:
    """
    Return the page's language and its addresses in all of them, for the templates.

    They are the addresses that the sitemap gives as alternates, "x-default" included:
    without a prefix the address leads to the language that the browser asks for.
    """
    addresses = []
    for code, label in settings.LANGUAGES:
        with translation.override(code):
            addresses.append((code, label, reverse(name, kwargs=kwargs)))
    code, _, address = addresses[0]
    return {
        "page_language": translation.get_language(),
        "translations": addresses,
        "x_default": address.removeprefix(f"/{code}"),
    }
