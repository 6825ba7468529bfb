"""A fourth kind of media, by what the guide says and nothing else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from textwrap import dedent
from typing import Any

import pytest
from django.db.models import F, Q
from django.utils.translation import gettext_lazy

from django_sitemaps_plus import Related
from django_sitemaps_plus.checks.attributes import check_attributes
from django_sitemaps_plus.models import Page, PageFile
from django_sitemaps_plus.protocol import entries, extensions
from django_sitemaps_plus.protocol.entries import Record
from django_sitemaps_plus.protocol.extensions import MEDIA, MediaKind, Place
from tests.support.documented import ROOT
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, PagesSitemap, body
from tests.testapp.models import Article, Photo

from .test_media import NEWS, VIDEO

pytestmark = pytest.mark.django_db

SPACE = b' xmlns:audio="https://example.com/audio/1.0"'


def said(loc: str, title: str) -> bytes:
    tags = f"<audio:loc>{loc}</audio:loc><audio:title>{title}</audio:title>"
    return f"<audio:audio>{tags}</audio:audio>".encode()


HOST = "https://www.example.com"
SAID = said(f"{HOST}/a.mp3", "A &amp; B")


@pytest.fixture(autouse=True)
def kind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Do what the guide says."""
    text = (ROOT / "CONTRIBUTING.md").read_text()
    guide = text.partition("## Add an attribute of an entry\n")[2]
    record, writer = re.findall(r"^ *```python\n(.*?)^ *```$", guide, re.M | re.S)[:2]
    (line,) = re.findall(r'`("audio": MediaKind\(.*?\))`', guide)
    names = dict(vars(entries))
    exec(dedent(record), names)  # noqa: S102 (the guide's own lines)
    names = {**vars(extensions), "Audio": names["Audio"]}
    exec(dedent(writer), names)  # noqa: S102 (the guide's own lines)
    for name, given in eval(f"{{{line}}}", names).items():  # noqa: S307 (as above)
        monkeypatch.setitem(MEDIA, name, given)


@pytest.mark.parametrize(
    "declared",
    [
        {"loc": "/a.mp3", "title": "A & B"},
        {"loc": "/a.mp3", "title": F("title")},
        [{"loc": F("photo"), "title": "B"}, {"loc": "/a.mp3", "title": F("title")}],
    ],
)
@pytest.mark.costly
def test_it_is_written_beside_the_others(both: Any, declared: Any) -> None:
    """All four of them: their names fill the column of the stored page."""
    Article.objects.create(slug="b", title="A & B", photo="b.mp3")
    page = body(both(images="/a.jpg", videos=VIDEO, news=NEWS, audio=declared))
    for tag in (SPACE, SAID, b"</image:image>", b"</news:news>"):
        assert tag in page
    for stored in PageFile.objects.all():
        assert stored.media == "images videos news audio"
    width = PageFile._meta.get_field("media").max_length
    assert width is not None
    assert width > 2 * len("images videos news audio")


def test_related_rows_have_it_and_an_empty_or_faulty_one_costs_its_tag(
    both: Any,
) -> None:
    one, _ = articles(2)
    for film in ("/a.mp3", "", "/b.mp3"):
        Photo.objects.create(article=one, film=film, title="A & B", file=film)
    audio = MEDIA["audio"].record(loc=F("film"), title=F("title"))
    page = body(both(audio=Related("photos", audio, filter=~Q(film="/b.mp3"))))
    assert page.count(b"<url>") == 2
    assert page.count(b"<audio:audio>") == page.count(SAID) == 1
    assert not any(stored.problems for stored in Page.objects.all())
    good, bad = ({"loc": "/a.mp3", "title": title} for title in ("A & B", ""))
    page = body(both(audio=[bad, good, good]))
    assert page.count(b"<audio:audio>") == page.count(SAID) == 2
    for stored in Page.objects.all():
        assert stored.problems[0][1].startswith("listed without audio: 3, over 2")


def test_methods_and_entries_that_a_class_gives_have_it(page_of: Any) -> None:
    audio = {"loc": "/a.mp3", "title": gettext_lazy("A & B")}
    record = MEDIA["audio"].record(**audio)
    given = [{"location": "/", "audio": audio}]
    articles(1)
    for page in (
        page_of(audio=lambda self, item: record),
        page_of(get_urls_for_item=lambda self, item: given),
        page_of(PagesSitemap, audio=audio),
    ):
        assert SPACE in body(page)
        assert SAID in body(page)


def test_a_misspelt_one_is_warned_of() -> None:
    misspelt = type("Heard", (ArticleSitemap,), {"audios": None})
    (found,) = check_attributes(misspelt())
    assert "Did you mean 'audio'?" in found.msg


def test_a_kind_that_is_an_address_is_written_in_bulk(
    both: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside images: a text, a file or a record stands for it."""

    @dataclass(frozen=True, slots=True)
    class Map(Record):
        loc: Any

    def map_xml(given: Map, place: Place) -> str:
        loc = extensions.location_text(given.loc, place.origin, "maps.loc")
        return f"<map:map><map:loc>{loc}</map:loc></map:map>"

    kind = MediaKind(Map, map_xml, "map", "urn:maps", is_address=True)
    monkeypatch.setitem(MEDIA, "maps", kind)
    Article.objects.create(slug="one", title="/a.kml", photo="a.jpg")
    Article.objects.create(slug="two", title="")
    expected = f"<map:map><map:loc>{HOST}/a.kml</map:loc></map:map></url>".encode()
    for maps in (F("title"), Map(F("title")), {"loc": F("title")}):
        page = body(both(maps=maps, images=F("photo")))
        assert page.count(b"<map:map>") == page.count(b"<image:image>") == 1
        assert page.count(b"<url>") == 2
        assert expected in page
