"""
What a reader, or a crawler, of this site would miss.

Run by Django's own runner, as a user's tests are: ``python manage.py test``.
"""

# ruff: noqa: PT009

from __future__ import annotations

import sys
import unicodedata
from datetime import UTC, datetime, timedelta
from html import escape
from io import StringIO
from urllib.parse import unquote, urlsplit
from xml.etree.ElementTree import Element, fromstring

from django.core.management import CommandError, call_command
from django.test import SimpleTestCase, TestCase
from django.urls import resolve, reverse
from django.utils.translation import override

from .loading import load_characters, load_notes
from .models import Block, Character, Note, slug_of
from .notes import read_notes

SITEMAP = "{http://www.sitemaps.org/schemas/sitemap/0.9}"

FEW, LAST = 0x05FF, 0x2FFF
FIRST_DAY = datetime(2024, 2, 29, 12, tzinfo=UTC)
LATER = datetime(2025, 1, 1, tzinfo=UTC)

AWKWARD = "/.?#%& \\;'\"<\u00a0\u0300\u200d\u2028\u202e\u212b"
"""Characters that mean something in a path, in XML, or to the bidi algorithm."""


def load(moment: datetime = FIRST_DAY, last: int = FEW) -> list[int]:
    """Load all up to ``last``; return how many were added, changed and removed."""
    reports = [*load_characters(moment, last), load_notes(moment)]
    return [
        sum(getattr(report, what) for report in reports)
        for what in ("added", "changed", "removed")
    ]


class AddressTests(SimpleTestCase):
    """Every character that this Python can name has an address of its own."""

    def test_every_address_leads_back_to_its_character(self) -> None:
        addresses = set()
        for code_point in range(sys.maxunicode + 1):
            if unicodedata.name(chr(code_point), None) is None:
                continue
            address = reverse("character", kwargs={"slug": slug_of(code_point)})
            match = resolve(unquote(address))
            self.assertEqual(match.url_name, "character")
            self.assertEqual(int(match.kwargs["slug"].split("-")[0], 16), code_point)
            self.assertTrue(address.isascii())
            addresses.add(address)
        self.assertGreater(len(addresses), 100_000)


class LoadingTests(TestCase):
    """The tables agree with Python, and dates tell when that last took a change."""

    def test_loads_every_named_character_once(self) -> None:
        added, *others = load()
        named = [c for c in range(FEW + 1) if unicodedata.name(chr(c), None)]
        self.assertEqual(list(Character.objects.values_list("pk", flat=True)), named)
        self.assertEqual([added, *others], [len(named) + len(read_notes()), 0, 0])
        self.assertEqual(
            set(Block.objects.values_list("first", flat=True)),
            {code_point // 256 * 256 for code_point in named},
        )

    def test_loading_again_changes_nothing(self) -> None:
        load()
        self.assertEqual(load(LATER), [0, 0, 0])
        for model in (Character, Block, Note):
            self.assertFalse(model.objects.filter(updated=LATER).exists())

    def test_only_what_differed_gets_a_new_date(self) -> None:
        load()
        Character.objects.filter(pk=ord("A")).update(name="LATIN LETTER ALPHA")
        Note.objects.filter(slug="ß").update(title_de="Scharfes S")
        self.assertEqual(load(LATER), [0, 2, 0])
        self.assertEqual(
            Character.objects.get(updated=LATER).name, "LATIN CAPITAL LETTER A"
        )
        self.assertEqual(Block.objects.get(updated=LATER).first, 0)
        self.assertEqual(Note.objects.get(updated=LATER).slug, "ß")

    def test_removes_what_this_python_does_not_know(self) -> None:
        load()
        unknown = Block.objects.create(first=0xE000, slug="x", updated=FIRST_DAY)
        other = Character.objects.get(pk=ord("A"))
        other.code_point, other.slug, other.block = 0xE000, "E000", unknown
        other.save(force_insert=True)
        self.assertEqual(load(LATER, last=0xEFFF)[2], 1)
        self.assertFalse(Character.objects.filter(pk=0xE000).exists())
        self.assertFalse(Block.objects.filter(pk=0xE000).exists())

    def test_goes_on_where_it_was_stopped(self) -> None:
        stopped = load_characters(FIRST_DAY, LAST)
        done = next(stopped).added
        self.assertEqual(Character.objects.count(), done)
        self.assertGreater(done, 0)
        load(LATER, last=LAST)
        self.assertEqual(Character.objects.filter(updated=FIRST_DAY).count(), done)


class PageTests(TestCase):
    """The pages open, and say what Python says."""

    @classmethod
    def setUpTestData(cls) -> None:
        load(last=LAST)

    def test_a_character_of_each_kind_opens(self) -> None:
        kinds = {(c.category, c.bidirectional): c for c in Character.objects.all()}
        awkward = Character.objects.filter(pk__in=map(ord, AWKWARD))
        self.assertEqual(len(awkward), len(AWKWARD))
        for character in [*kinds.values(), *awkward]:
            address = character.get_absolute_url()
            response = self.client.get(address)
            self.assertContains(response, character.code)
            canonical = escape(f"http://127.0.0.1:8000{address}")
            self.assertContains(response, f'rel="canonical" href="{canonical}"')

    def test_a_character_page_says_what_it_is(self) -> None:
        page = self.client.get("/character/00C5-Å/")
        for fact in (
            "LATIN CAPITAL LETTER A WITH RING ABOVE",
            "letter, uppercase",
            "left to right",
            "C3 85",
            "&amp;Aring;",
            "COMBINING RING ABOVE",
            "U+0000 to U+00FF",
            "29 February 2024",
            reverse("character", args=["00E5-å"]),
            reverse("character", args=["00C4-Ä"]),
            reverse("character", args=["00C6-Æ"]),
        ):
            self.assertContains(page, fact)

    def test_numbers_are_said_as_fractions(self) -> None:
        self.assertContains(self.client.get("/character/2153-⅓/"), "<dd>1/3</dd>")
        self.assertContains(self.client.get("/character/216C-\u216c/"), "<dd>50</dd>")

    def test_an_incomplete_address_leads_to_the_whole_one(self) -> None:
        for slug in ("0041", "0041-B", "41", "0041-"):
            response = self.client.get(f"/character/{slug}/")
            expected = 404 if slug == "41" else 301
            self.assertEqual(response.status_code, expected, slug)
        self.assertRedirects(
            self.client.get("/character/00c5/"),
            "/character/00C5-%C3%85/",
            status_code=301,
        )

    def test_a_normalised_address_opens_and_is_not_sent_in_a_circle(self) -> None:
        kelvin = Character.objects.get(pk=0x212A)
        normalised = unicodedata.normalize("NFC", kelvin.get_absolute_url())
        response = self.client.get(normalised.replace("%E2%84%AA", "K"))
        self.assertContains(response, kelvin.get_absolute_url())

    def test_unknown_characters_are_not_found(self) -> None:
        for slug in ("0000", "D800", "FFFF", "110000", "xyz", "U+0041", "-A"):
            response = self.client.get(f"/character/{slug}/")
            self.assertEqual(response.status_code, 404, slug)

    def test_blocks(self) -> None:
        self.assertContains(self.client.get("/blocks/"), "/block/2500-25FF/")
        page = self.client.get("/block/2500-25FF/")
        self.assertContains(page, "256 of 256")
        self.assertContains(page, "BOX DRAWINGS LIGHT HORIZONTAL")
        self.assertContains(page, "/block/2400-24FF/")
        self.assertEqual(self.client.get("/block/E000-E0FF/").status_code, 404)

    def test_search(self) -> None:
        for query, found in (
            ("small greek omega", "GREEK SMALL LETTER OMEGA"),
            ("u+2603", "SNOWMAN"),
            ("2603", "SNOWMAN"),
            ("ß", "LATIN SMALL LETTER SHARP S"),
            ("naïve", "LATIN SMALL LETTER I WITH DIAERESIS"),
            ("%", "PERCENT SIGN"),
        ):
            page = self.client.get("/search/", {"q": query})
            self.assertContains(page, found)
            self.assertContains(page, "noindex")
        for query in ("\0", "x" * 101, "no such name", ""):
            page = self.client.get("/search/", {"q": query, "page": "nan"})
            self.assertNotContains(page, "/character/")

    def test_static_pages_and_an_empty_book(self) -> None:
        for name in ("home", "about", "search", "block-list"):
            self.assertContains(self.client.get(reverse(name)), "</html>")
        Block.objects.all().delete()
        self.assertContains(self.client.get("/"), "load_unicode")


class NoteTests(TestCase):
    """The notes, in English and in German."""

    @classmethod
    def setUpTestData(cls) -> None:
        load()

    def test_each_note_is_there_in_both_languages(self) -> None:
        for note in Note.objects.all():
            for language in ("en", "de"):
                with override(language):
                    address = note.get_absolute_url()
                page = self.client.get(address)
                self.assertContains(page, f'<html lang="{language}">')
                self.assertContains(page, f"<h1>{note.title(language)}</h1>")

    def test_each_language_names_all_and_itself(self) -> None:
        for language in ("en", "de"):
            page = self.client.get(f"/{language}/notes/%C3%9F/")
            for code, prefix in (("en", "/en"), ("de", "/de"), ("x-default", "")):
                self.assertContains(
                    page,
                    f'hreflang="{code}" '
                    f'href="http://127.0.0.1:8000{prefix}/notes/%C3%9F/"',
                    1,
                )

    def test_without_a_language_the_reader_decides(self) -> None:
        for accepted, address in (("de-AT,de", "/de"), ("fr", "/en")):
            response = self.client.get(
                "/notes/%C3%9F/", headers={"accept-language": accepted}
            )
            self.assertRedirects(response, f"{address}/notes/%C3%9F/")

    def test_the_language_of_the_reader_does_not_touch_other_pages(self) -> None:
        english = self.client.get("/", headers={"accept-language": "en"})
        german = self.client.get("/", headers={"accept-language": "de"})
        self.assertEqual(english.content, german.content)


class CommandTests(TestCase):
    """``load_unicode`` loads, says so, and refuses what it cannot read."""

    def test_says_what_it_did_and_what_to_type_next(self) -> None:
        out = StringIO()
        call_command("load_unicode", "--last", "U+00FF", stdout=out, stderr=StringIO())
        self.assertRegex(out.getvalue(), r"191 characters .*\(191 added, 0 changed")
        self.assertRegex(out.getvalue(), r"Next, type: .* show_sitemap\n$")

    def test_the_sitemaps_know_at_once_what_was_loaded(self) -> None:
        for last in ("U+00FF", "U+01FF"):
            call_command("load_unicode", "--last", last, verbosity=0)
            page = self.client.get("/sitemap-character.xml")
            self.assertContains(page, "<loc>", Character.objects.count())

    def test_refuses_what_is_no_code_point(self) -> None:
        for text in ("U+110000", "-1", "snowman", ""):
            with self.assertRaisesMessage(CommandError, "is no code point"):
                call_command("load_unicode", f"--last={text}")


class SitemapTests(TestCase):
    """The sitemaps list every page of the site, and nothing else."""

    @classmethod
    def setUpTestData(cls) -> None:
        load()

    def entries(self, address: str) -> dict[str, Element]:
        """Return the entries of a sitemap by location, through its index if it is."""
        response = self.client.get(urlsplit(address).path)
        self.assertEqual(response.status_code, 200, address)
        root = fromstring(response.getvalue())  # noqa: S314  this site's own
        found = {entry.findtext(f"{SITEMAP}loc") or "": entry for entry in root}
        self.assertEqual(len(found), len(root))
        if root.tag == f"{SITEMAP}sitemapindex":
            return {
                location: entry
                for page in found
                for location, entry in self.entries(page).items()
            }
        return found

    def test_lists_every_page_with_its_date(self) -> None:
        expected = {
            item.get_absolute_url(): item.updated.isoformat()
            for model in (Character, Block)
            for item in model.objects.all()
        }
        expected |= {
            reverse(name): None for name in ("home", "about", "search", "block-list")
        }
        for language in ("en", "de"):
            with override(language):
                expected[reverse("note-list")] = None
                expected |= {
                    note.get_absolute_url(): note.updated.isoformat()
                    for note in Note.objects.all()
                }
        entries = self.entries("/sitemap.xml")
        found = {
            location.removeprefix("http://127.0.0.1:8000"): entry.findtext(
                f"{SITEMAP}lastmod"
            )
            for location, entry in entries.items()
        }
        self.assertEqual(found, expected)

    def test_notes_name_their_languages_as_the_pages_do(self) -> None:
        entries = self.entries("/sitemap-note.xml")
        self.assertEqual(len(entries), 2 * len(read_notes()))
        for location, entry in entries.items():
            head = self.client.get(urlsplit(location).path).content.decode()
            links = entry.findall("{http://www.w3.org/1999/xhtml}link")
            self.assertEqual(
                [link.get("hreflang") for link in links], ["en", "de", "x-default"]
            )
            for link in links:
                self.assertInHTML(
                    f'<link rel="alternate" hreflang="{link.get("hreflang")}" '
                    f'href="{link.get("href")}">',
                    head,
                )

    def test_serves_text_files_feeds_and_recent_changes(self) -> None:
        addresses = [unquote(address) for address in self.entries("/sitemap-note.xml")]
        lines = self.client.get("/sitemap-note.txt").getvalue().decode().split()
        self.assertEqual(list(map(unquote, lines)), addresses)
        note = Note.objects.earliest("pk")
        note.updated += timedelta(minutes=1)
        note.save()
        self.entries("/sitemap-note.xml")  # builds the page, and reports what changed
        for address in ("/sitemap.atom", "/sitemap.rss", "/sitemap-note.atom"):
            for language in ("en", "de"):
                self.assertContains(
                    self.client.get(address), f"<title>{escape(note.title(language))}</"
                )
        self.assertEqual(len(self.entries("/sitemap-recent.xml")), 2)

    def test_robots_txt_names_the_sitemap(self) -> None:
        self.assertContains(
            self.client.get("/robots.txt"),
            "Sitemap: http://127.0.0.1:8000/sitemap.xml",
        )

    def test_show_sitemap_reads_it_all(self) -> None:
        out = StringIO()
        call_command("show_sitemap", stdout=out)
        self.assertIn(f"{len(self.entries('/sitemap.xml')):,} URLs", out.getvalue())
        self.assertRegex(out.getvalue(), r"type: .* runserver\n")

    def test_show_sitemap_of_an_empty_book_says_what_to_type(self) -> None:
        Character.objects.all().delete()
        with self.assertRaisesMessage(CommandError, "type: "):
            call_command("show_sitemap", stdout=StringIO())
