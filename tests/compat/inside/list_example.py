"""Write the path of every page of the example site, as the site itself links it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from pathlib import Path

import django
from django.urls import reverse
from django.utils.translation import override

os.environ["DJANGO_SETTINGS_MODULE"] = "encyclopedia_site.settings"
django.setup()

from unicode_book.models import Block, Character, Note  # noqa: E402 (after the setup)


def paths() -> Iterator[str]:
    for name in ("home", "about", "search", "block-list"):
        yield reverse(name)
    for model in (Block, Character):
        for item in model.objects.iterator():
            yield item.get_absolute_url()
    for language in ("en", "de"):
        with override(language):
            yield reverse("note-list")
            for note in Note.objects.iterator():
                yield note.get_absolute_url()


Path(sys.argv[1]).write_text("\n".join(paths()))
