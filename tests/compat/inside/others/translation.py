from __future__ import annotations

from modeltranslation.translator import TranslationOptions, register

from .models import Translated


@register(Translated)
class TranslatedOptions(TranslationOptions):
    fields = ("slug", "title")
