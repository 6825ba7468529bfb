"""Notes are written here; characters and blocks come from Python, and are read."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone

from .models import Note


@admin.register(Note)
class NoteAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # in the stubs only
    """Notes, in both languages."""

    list_display = ("title_en", "title_de", "slug", "updated")
    search_fields = ("title_en", "title_de", "slug")
    fields = (("title_en", "title_de"), "slug", ("body_en", "body_de"), "updated")
    readonly_fields = ("updated",)

    def save_model(
        self, request: HttpRequest, obj: Note, form: Any, change: bool
    ) -> None:
        """Date what differs from what was stored, as the loader does."""
        if form.changed_data or not change:
            obj.updated = timezone.now()
        super().save_model(request, obj, form, change)
