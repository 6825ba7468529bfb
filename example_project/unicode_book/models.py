"""
Characters, blocks and notes.

``updated`` is never "now" by itself: the loader sets it when a row is new or differs
from what was stored, and leaves it alone otherwise. So it is fit for ``<lastmod>``.
"""

from __future__ import annotations

import html.entities
import unicodedata
from fractions import Fraction

from django.db import models
from django.urls import reverse

from . import terms

BLOCK_SIZE = 256
INVISIBLE = {"Zs", "Zl", "Zp", "Cf"}
"""Categories whose characters leave no ink: spaces, separators, format characters."""

DRAWN_ALL_THE_SAME = {
    *range(0x0600, 0x0606),
    0x06DD,
    0x070F,
    0x0890,
    0x0891,
    0x08E2,
    0x1680,
    0x110BD,
    0x110CD,
}
"""
Exceptions: the Ogham space, which is a line, and the format characters that are drawn
around a number, Prepended_Concatenation_Mark in
https://www.unicode.org/Public/UCD/latest/ucd/PropList.txt
"""


def slug_of(code_point: int) -> str:
    """
    Return the last part of a character's address: "1F600-😀".

    The code point makes it unique and leads back to the row even where a mail
    program has normalised or lost the character. Every character stays as it is,
    and is percent-encoded by ``reverse()``; only "/" would end the path segment,
    and is left out: "002F".
    """
    code = f"{code_point:04X}"
    return code if code_point == ord("/") else f"{code}-{chr(code_point)}"


class Block(models.Model):
    """
    256 consecutive code points, at least one of them named: a page of the book.

    Python carries no data on the blocks that Unicode names ("Box Drawing"), so these
    are called by their range.
    """

    first = models.PositiveIntegerField(primary_key=True)
    slug = models.SlugField(max_length=16, unique=True)
    updated = models.DateTimeField()

    class Meta:
        ordering = ("first",)

    def __str__(self) -> str:
        return f"U+{self.first:04X} to U+{self.last:04X}"

    def get_absolute_url(self) -> str:
        return reverse("block", kwargs={"slug": self.slug})

    @property
    def last(self) -> int:
        """The last code point of the range, named or not."""
        return self.first + BLOCK_SIZE - 1

    @classmethod
    def slug_of(cls, first: int) -> str:
        """Return the last part of a block's address: "2500-25FF"."""
        return f"{first:04X}-{first + BLOCK_SIZE - 1:04X}"


class Character(models.Model):
    """A character that has a name, with what Python's ``unicodedata`` says of it."""

    code_point = models.PositiveIntegerField(primary_key=True)
    block = models.ForeignKey(
        Block, on_delete=models.CASCADE, related_name="characters"
    )
    slug = models.CharField(max_length=16, unique=True)
    name = models.CharField(max_length=120)
    category = models.CharField(max_length=2)
    bidirectional = models.CharField(max_length=3, blank=True)
    combining = models.PositiveSmallIntegerField()
    mirrored = models.BooleanField()
    east_asian_width = models.CharField(max_length=2)
    decomposition = models.CharField(max_length=200, blank=True)
    numeric = models.FloatField(null=True)
    uppercase = models.CharField(max_length=4)
    lowercase = models.CharField(max_length=4)
    titlecase = models.CharField(max_length=4)
    updated = models.DateTimeField()

    class Meta:
        ordering = ("code_point",)

    def __str__(self) -> str:
        return f"{self.code} {self.name}"

    def get_absolute_url(self) -> str:
        return reverse("character", kwargs={"slug": self.slug})

    @property
    def text(self) -> str:
        """The character itself."""
        return chr(self.code_point)

    @property
    def code(self) -> str:
        """The code point as Unicode writes it: "U+1F600"."""
        return f"U+{self.code_point:04X}"

    @property
    def glyph(self) -> str:
        """
        What to show for it: nothing for a character without ink.

        A mark that combines with the letter before it is shown on a dotted circle.
        """
        if self.category in INVISIBLE and self.code_point not in DRAWN_ALL_THE_SAME:
            return ""
        return f"◌{self.text}" if self.category.startswith("M") else self.text

    @property
    def category_name(self) -> str:
        """The general category in words."""
        return terms.CATEGORIES.get(self.category, "")

    @property
    def bidirectional_name(self) -> str:
        """The bidirectional class in words."""
        return terms.BIDIRECTIONAL.get(self.bidirectional, "")

    @property
    def width_name(self) -> str:
        """The East Asian width in words."""
        return terms.EAST_ASIAN_WIDTHS.get(self.east_asian_width, "")

    @property
    def utf8(self) -> str:
        """Its bytes in UTF-8: "F0 9F 98 80"."""
        return self.text.encode().hex(" ").upper()

    @property
    def utf16(self) -> str:
        """Its 16-bit units in UTF-16: "D83D DE00"."""
        return self.text.encode("utf-16-be").hex(" ", 2).upper()

    @property
    def entities(self) -> list[str]:
        """Its HTML entities, numbered first: "&#x26;", "&amp;"."""
        name = html.entities.codepoint2name.get(self.code_point)
        return [f"&#x{self.code_point:X};", *([f"&{name};"] if name else [])]

    @property
    def python_escape(self) -> str:
        """The character in a Python string literal, by its name."""
        return f"\\N{{{self.name}}}"

    @property
    def numeric_value(self) -> str:
        """The number it stands for, "1/3" or "10", or "" if it stands for none."""
        if self.numeric is None:
            return ""
        # Unicode's values are ratios of small integers; Python says them as floats.
        return str(Fraction(self.numeric).limit_denominator(1000))

    @property
    def decomposition_tag(self) -> str:
        """The kind of a compatibility decomposition: "compat", "font", …"""
        head = self.decomposition.partition(" ")[0]
        return head.strip("<>") if head.startswith("<") else ""

    @property
    def decomposition_text(self) -> str:
        """The characters that it decomposes into."""
        parts = self.decomposition.split()
        return "".join(chr(int(part, 16)) for part in parts if part[0] != "<")

    @property
    def normal_forms(self) -> dict[str, str]:
        """The normalisation forms that change it: ``{"NFD": "Å"}``."""
        forms = {
            form: unicodedata.normalize(form, self.text)
            for form in ("NFC", "NFD", "NFKC", "NFKD")
        }
        return {form: text for form, text in forms.items() if text != self.text}


class Note(models.Model):
    """A short article on a character or a script, in English and in German."""

    slug = models.CharField(max_length=50, unique=True)
    title_en = models.CharField(max_length=100)
    title_de = models.CharField(max_length=100)
    body_en = models.TextField()
    body_de = models.TextField()
    characters = models.ManyToManyField(Character, related_name="notes")
    updated = models.DateTimeField()

    class Meta:
        ordering = ("pk",)

    def __str__(self) -> str:
        return self.title_en

    def get_absolute_url(self) -> str:
        """Return its address in the active language."""
        return reverse("note", kwargs={"slug": self.slug})

    def title(self, language: str) -> str:
        """Return the title in ``language``: "en" or "de"."""
        return self.title_de if language == "de" else self.title_en

    def body(self, language: str) -> str:
        """Return the text in ``language``: paragraphs parted by an empty line."""
        return self.body_de if language == "de" else self.body_en
