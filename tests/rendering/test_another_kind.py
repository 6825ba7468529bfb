"""A fourth kind of media, by what the guide says and nothing else."""

from __future__ import annotations

import re
from dataclasses import dataclass
from textwrap import dedent
from typing import Any

import pytest
from django.db.models import F, Q
from django.test import Client
from django.utils.translation import gettext_lazy

from django_sitemaps_plus import Related, Sitemap
from django_sitemaps_plus.checks.attributes import check_attributes
from django_sitemaps_plus.models import Page, PageFile
from django_sitemaps_plus.protocol import entries, extensions
from django_sitemaps_plus.protocol.entries import Record
from django_sitemaps_plus.protocol.extensions import MEDIA, MediaKind, Place
from tests.support.documented import ROOT
from tests.support.factories import articles
from tests.support.helpers import ArticleSitemap, PagesSitemap, body, urlset
from tests.support.two_paths import both
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
    _, _, guide = (
        (ROOT / "CONTRIBUTING.md")
        .read_text()
        .partition("## Add an attribute of an entry\n")
    )
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
def test_it_is_written_beside_the_others(
    client: Client, register: Any, declared: Any
) -> None:
    """All four of them: their names fill the column of the stored page."""
    Article.objects.create(slug="b", title="A & B", photo="b.mp3")
    others = {"images": "/a.jpg", "videos": VIDEO, "news": NEWS}
    page = both(
        client,
        register,
        type("Heard", (ArticleSitemap,), {**others, "audio": declared}),
    )
    assert SPACE in page
    assert SAID in page
    assert all(f"</{tag}>".encode() in page for tag in ("image:image", "news:news"))
    for stored in PageFile.objects.all():
        assert stored.media == "images videos news audio"
    width = PageFile._meta.get_field("media").max_length
    assert width is not None
    assert width > 2 * len("images videos news audio")


def test_related_rows_have_it_and_an_empty_one_is_none(
    client: Client, register: Any
) -> None:
    one, _ = articles(2)
    for film in ("/a.mp3", "", "/b.mp3"):
        Photo.objects.create(article=one, film=film, title="A & B", file=film)
    audio = MEDIA["audio"].record(loc=F("film"), title=F("title"))
    related = Related("photos", audio, filter=~Q(film="/b.mp3"))
    page = both(client, register, type("Heard", (ArticleSitemap,), {"audio": related}))
    assert page.count(b"<url>") == 2
    assert page.count(b"<audio:audio>") == page.count(SAID) == 1
    assert not any(stored.problems for stored in Page.objects.all())


def test_a_faulty_one_costs_its_tag(client: Client, register: Any) -> None:
    articles(1)
    good, bad = ({"loc": "/a.mp3", "title": title} for title in ("A & B", ""))
    declared = {"audio": [bad, good, good]}
    page = both(client, register, type("Heard", (ArticleSitemap,), declared))
    assert page.count(b"<audio:audio>") == page.count(SAID) == 1
    for stored in Page.objects.all():
        reasons = [reason for _, reason in stored.problems]
        assert reasons[0].startswith("listed without audio: 3, over 2")


def test_methods_and_entries_that_a_class_gives_have_it(
    client: Client, register: Any
) -> None:
    audio = {"loc": "/a.mp3", "title": gettext_lazy("A & B")}

    class Method(ArticleSitemap):
        def audio(self, item: Article) -> Any:
            return MEDIA["audio"].record(**audio)

    class Given(Sitemap):
        model = Article

        def get_urls_for_item(self, item: Article) -> Any:
            return [{"location": "/", "audio": audio}]

    articles(1)
    sections = {
        "method": Method,
        "given": Given,
        "position": type("Paged", (PagesSitemap,), {"audio": audio}),
    }
    for name, section in sections.items():
        register(name, section)
        page = body(client.get(f"/sitemap-{name}-1.xml"))
        assert SPACE in page
        assert SAID in page


def test_a_misspelt_one_is_warned_of() -> None:
    misspelt = type("Heard", (ArticleSitemap,), {"audios": None})
    (found,) = check_attributes(misspelt())
    assert "Did you mean 'audio'?" in found.msg


def test_a_kind_that_is_an_address_is_written_in_bulk(
    client: Client, register: Any, monkeypatch: pytest.MonkeyPatch
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
    for maps in (F("title"), Map(F("title")), {"loc": F("title")}):
        declared = {"maps": maps, "images": F("photo")}
        page = both(client, register, type("Mapped", (ArticleSitemap,), declared))
        assert page.count(b"<map:map>") == page.count(b"<image:image>") == 1
        expected = f"<map:map><map:loc>{HOST}/a.kml</map:loc></map:map></url>"
        assert expected.encode() in page
        assert len(urlset(client.get("/sitemap-rows-1.xml"))) == 2
