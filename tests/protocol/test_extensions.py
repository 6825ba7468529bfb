"""Videos and news: what Google asks of them, field by field."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pytest

from django_sitemaps_plus import News, Video
from django_sitemaps_plus.protocol.entries import Platform, Restriction, Uploader
from django_sitemaps_plus.protocol.errors import EntryError
from django_sitemaps_plus.protocol.extensions import Place, news_xml, video_xml
from django_sitemaps_plus.protocol.locations import ORIGIN_MARK

SITE = "https://www.example.com"
VIDEO = Video("/thumb.jpg", "Tea", "How to make tea.", content_loc="/tea.mp4")
PLACE = Place(SITE, "/tea/", UTC)
NEWS = News("The Tea Times", "en", "2026-01-02", "Tea")


def write(origin: str = SITE, **fields: Any) -> str:
    """Return the XML of a good video with some fields changed."""
    return video_xml(replace(VIDEO, **fields), Place(origin, "/tea/", UTC))


def test_a_video_says_everything() -> None:
    video = Video(
        thumbnail_loc="/media/thumb.jpg",
        title="Tea <for> \"two\" & 'one'",
        description="Two lines,\nno more.",
        content_loc="https://cdn.example/tea.mp4",
        player_loc="/player/?v=1&w=2",
        duration=600,
        expiration_date=date(2027, 1, 1),
        rating=4.5,
        view_count=12_345,
        publication_date=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        family_friendly=True,
        restriction=Restriction("allow", ("GB", "IE")),
        platform=Platform("deny", ("tv",)),
        requires_subscription=False,
        uploader=Uploader("Tea & Co", "/users/tea/"),
        live=False,
        tags=("tea", "чай"),
    )
    tags = """
<video:thumbnail_loc>https://www.example.com/media/thumb.jpg</video:thumbnail_loc>
<video:title>Tea &lt;for&gt; &quot;two&quot; &amp; &apos;one&apos;</video:title>
<video:description>Two lines,|no more.</video:description>
<video:content_loc>https://cdn.example/tea.mp4</video:content_loc>
<video:player_loc>https://www.example.com/player/?v=1&amp;w=2</video:player_loc>
<video:duration>600</video:duration>
<video:expiration_date>2027-01-01</video:expiration_date>
<video:rating>4.5</video:rating>
<video:view_count>12345</video:view_count>
<video:publication_date>2026-01-02T03:04:05+00:00</video:publication_date>
<video:tag>tea</video:tag><video:tag>чай</video:tag>
<video:family_friendly>yes</video:family_friendly>
<video:restriction relationship="allow">GB IE</video:restriction>
<video:requires_subscription>no</video:requires_subscription>
<video:uploader info="https://www.example.com/users/tea/">Tea &amp; Co</video:uploader>
<video:platform relationship="deny">tv</video:platform>
<video:live>no</video:live>
"""
    tags = tags.replace("\n", "").replace("|", "\n")
    assert video_xml(video, PLACE) == f"<video:video>{tags}</video:video>"


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("thumbnail_loc", None, "missing"),
        ("thumbnail_loc", "", "empty"),
        ("thumbnail_loc", "thumb.jpg", "neither a path nor"),
        ("title", None, "not a text"),
        ("title", " ", "empty"),
        ("title", "a" * 101, "101 characters, over 100"),
        ("title", "a\x00", r"U\+0000"),
        ("description", "", "empty"),
        ("description", "a" * 2_049, "2049 characters, over 2048"),
        ("content_loc", "ftp://a.example/", "neither a path nor"),
        *(
            ("content_loc", location, "is the loc of the entry")
            for location in ("/tea/", "https://WWW.example.com/tea/")
        ),
        ("player_loc", "/tea/", "is the loc of the entry"),
        ("player_loc", "/#a", "fragment"),
        *(("duration", value, "not within 1 and 28800") for value in (0, 28_801)),
        *(("duration", value, "not a whole number") for value in (1.5, True, "60")),
        ("expiration_date", "2027", "YYYY-MM-DD at least"),
        ("expiration_date", "never", "not a W3C Datetime"),
        *(("rating", value, "not within 0 and 5") for value in (5.1, -1)),
        ("rating", "good", "not a number"),
        *(("view_count", value, "not within") for value in (-1, 2**63)),
        pytest.param("view_count", 10**5000, "not within", id="huge"),
        ("publication_date", "2026-01-02T03:04", "no zone"),
        ("family_friendly", "yes", "neither True nor False"),
        ("requires_subscription", 1, "neither True nor False"),
        ("live", "no", "neither True nor False"),
        ("restriction", Restriction("only", ("GB",)), "neither allow nor deny"),
        ("restriction", Restriction("allow", ()), "no values"),
        ("restriction", Restriction("allow", ("gb",)), "'gb'"),
        ("restriction", Restriction("allow", ("GB IE",)), "'GB IE'"),
        ("restriction", Restriction("allow", "GB"), "not a tuple"),
        ("restriction", ("allow", "GB"), "not of Restriction"),
        ("platform", Platform("deny", ("phone",)), "'phone'"),
        ("platform", Restriction("deny", ("web",)), "not of Platform"),
        ("uploader", "", "empty"),
        ("uploader", "a" * 256, "256 characters, over 255"),
        ("uploader", 7, "not of Uploader"),
        ("uploader", Uploader("Ann", "ann"), "neither a path nor"),
        ("uploader", Uploader("Ann", "https://a.example/"), "not on the domain"),
        ("tags", "tea", "not a tuple"),
        ("tags", ("tea",) * 33, "33, over 32"),
        ("tags", ("",), "empty"),
        ("tags", (7,), "not of str"),
    ],
)
def test_an_illegal_field_of_a_video_is_named(
    field: str, value: Any, reason: str
) -> None:
    with pytest.raises(EntryError, match=f"(?s)videos.{field}.*{reason}"):
        write(**{field: value})


def test_a_video_must_be_somewhere() -> None:
    with pytest.raises(EntryError, match="neither content_loc nor player_loc"):
        write(content_loc=None)


@pytest.mark.parametrize(
    ("field", "value", "written"),
    [
        ("title", "a" * 100, "a" * 100),
        ("description", "ü" * 2_048, "ü" * 2_048),
        *(("duration", value, str(value)) for value in (1, 28_800)),
        ("rating", 0, "0"),
        ("rating", Decimal("5.0"), "5.0"),
        ("view_count", 0, "0"),
        ("live", True, "yes"),
        ("live", False, "no"),
        ("uploader", "a" * 255, "a" * 255),
        ("tag", ("tea",) * 32, "</video:tag><video:tag>".join(["tea"] * 32)),
    ],
)
def test_a_limit_is_legal_itself(field: str, value: Any, written: str) -> None:
    name = "tags" if field == "tag" else field
    assert f"<video:{field}>{written}</video:{field}>" in write(**{name: value})


@pytest.mark.parametrize("info", ["/ann/", "https://WWW.example.com/ann/?a&b"])
def test_an_uploaders_page_is_on_the_site(info: str) -> None:
    page = '<video:uploader info="https://www.example.com/ann/'
    assert page in write(uploader=Uploader("Ann", info))


def test_behind_the_mark_paths_are_compared_and_stamped() -> None:
    xml = write(origin=ORIGIN_MARK, uploader=Uploader("Ann", "/ann/"))

    assert xml.replace(ORIGIN_MARK, SITE) == write(uploader=Uploader("Ann", "/ann/"))
    assert xml.count(ORIGIN_MARK) == 3
    with pytest.raises(EntryError, match="is the loc of the entry"):
        write(origin=ORIGIN_MARK, content_loc="/tea/")


@pytest.mark.parametrize(
    ("field", "value", "reason"),
    [
        ("name", "", "empty"),
        ("name", None, "not a text"),
        ("language", "en-gb", "ISO 639"),
        ("language", "EN", "ISO 639"),
        ("language", "", "ISO 639"),
        ("language", None, "ISO 639"),
        ("publication_date", None, "neither a date nor a text"),
        ("publication_date", "2026-01", "YYYY-MM-DD at least"),
        ("title", "\n", "empty"),
        ("title", "a\ud800", r"U\+D800"),
    ],
)
def test_an_illegal_field_of_news_is_named(field: str, value: Any, reason: str) -> None:
    with pytest.raises(EntryError, match=f"(?s)news.{field}.*{reason}"):
        news_xml(replace(NEWS, **{field: value}), PLACE)


@pytest.mark.parametrize("language", ["en", "deu", "zh-cn", "zh-tw"])
def test_news_says_everything(language: str) -> None:
    assert news_xml(replace(NEWS, language=language), PLACE) == (
        "<news:news><news:publication><news:name>The Tea Times</news:name>"
        f"<news:language>{language}</news:language></news:publication>"
        "<news:publication_date>2026-01-02</news:publication_date>"
        "<news:title>Tea</news:title></news:news>"
    )
