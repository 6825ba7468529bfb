"""What hypothesis feeds to the protocol floor: legal values, and anything at all."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from django_sitemaps_plus import Image, News, Video
from django_sitemaps_plus.protocol.entries import Platform, Restriction, Uploader
from django_sitemaps_plus.protocol.limits import CHANGEFREQS

# Surrogates, control characters and what XML must escape, far more often than chance.
_SPICE = (
    "\x00\x1a\x7f\x85\ud800\udfff\ufffe\uffff\t\n\r &<>\"'%/#?@:[]\\éßλ茶\U0001f375"
)
any_text = st.text(st.sampled_from(_SPICE) | st.characters(), max_size=40)

offsets = st.timedeltas(
    min_value=timedelta(hours=-23), max_value=timedelta(hours=23)
).map(timezone)
zones = st.just(UTC) | st.timezones() | offsets
datetimes = st.datetimes(timezones=st.none() | zones)
dates = st.dates() | datetimes

anything: st.SearchStrategy[Any] = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**5000),
    st.floats(),
    st.decimals(),
    st.sampled_from(["sNaN", "1E-999999", "1_0", "\u0660", " 1", "0,5", "1e-9"]),
    any_text,
    st.binary(max_size=5),
    dates,
    st.lists(any_text, max_size=2),
)

# Legal values

_ILLEGAL_IN_URLS = "\x7f#"
paths = (
    st.text(
        st.characters(
            exclude_categories=("Cc", "Cs"), exclude_characters=_ILLEGAL_IN_URLS
        ),
        max_size=40,
    )
    .map(lambda text: f"/{text.lstrip('/')}")
    .filter(lambda path: {".", ".."}.isdisjoint(path.partition("?")[0].split("/")))
)
urls_anywhere = st.builds(
    lambda host, path: f"https://{host}{path}",
    st.sampled_from(
        ["cdn.example", "www.example.com:444", "Bücher.example:8443", "[::1]"]
    ),
    paths,
)
locations = paths | urls_anywhere
texts = st.text(
    st.characters(
        exclude_categories=("Cs",),
        exclude_characters="".join(
            {*map(chr, range(32)), "\ufffe", "\uffff"} - {*"\t\n\r"}
        ),
    ),
    min_size=1,
    max_size=100,
).filter(str.strip)
# Years that no shift of the clock can leave.
safe_datetimes = st.datetimes(
    min_value=datetime(2, 1, 1),  # noqa: DTZ001 (given a zone below)
    max_value=datetime(9998, 1, 1),  # noqa: DTZ001 (given a zone below)
    timezones=st.none() | zones,
)
legal_dates = (
    st.dates()
    | safe_datetimes
    | st.sampled_from(
        ["2026-01-02", "2026-01-02T03:04Z", "2026-01-02T03:04:05.6-09:30"]
    )
)
languages = st.sampled_from(["en", "de-CH", "zh-Hant-TW", "x-default", "es-419"])
priorities = st.one_of(
    st.sampled_from([0, 1, "0.5", "1.0", Decimal("1E-7")]),
    st.decimals(0, 1, places=3),
    st.floats(0, 1).map(lambda number: round(number, 9)),
)


def optional(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return a strategy of None and of the other's values."""
    return st.none() | strategy


def tuples(strategy: st.SearchStrategy[Any], **size: int) -> st.SearchStrategy[Any]:
    """Return a strategy of tuples of any length up to ``max_size``."""
    return st.lists(strategy, **{"max_size": 3, **size}).map(tuple)


def entries(dirty: bool) -> st.SearchStrategy[dict[str, Any]]:
    """Return arguments of ``url_xml``: all legal, or with anything anywhere."""

    def field(legal: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
        # Mostly legal still, or no entry would get past its first field.
        return st.one_of(*[legal] * 8, anything) if dirty else legal

    def relation(kind: type, values: list[str]) -> st.SearchStrategy[Any]:
        return st.builds(
            kind,
            relationship=field(st.sampled_from(["allow", "deny"])),
            values=field(tuples(st.sampled_from(values), min_size=1)),
        )

    flag = field(optional(st.booleans()))
    day = field(optional(legal_dates))
    # Unlike any location, so that it cannot equal the entry's own.
    player = st.integers(0).map(lambda number: f"/player?{number}&{number}#"[:-1])
    video = st.builds(
        Video,
        thumbnail_loc=field(locations),
        title=field(texts),
        description=field(texts),
        content_loc=field(st.none() | st.just("https://cdn.example/v.mp4")),
        player_loc=field(player),
        duration=field(optional(st.integers(1, 28_800))),
        expiration_date=day,
        rating=field(optional(st.decimals(0, 5, places=1))),
        view_count=field(optional(st.integers(0, 10**12))),
        publication_date=day,
        family_friendly=flag,
        restriction=field(optional(relation(Restriction, ["GB", "IE", "US"]))),
        platform=field(optional(relation(Platform, ["web", "mobile", "tv"]))),
        requires_subscription=flag,
        uploader=field(
            optional(texts | st.builds(Uploader, field(texts), field(optional(paths))))
        ),
        live=flag,
        tags=field(tuples(texts, max_size=32)),
    )
    news = st.builds(
        News,
        name=field(texts),
        language=field(st.sampled_from(["en", "deu", "zh-cn", "zh-tw"])),
        publication_date=field(legal_dates),
        title=field(texts),
    )
    return st.fixed_dictionaries(
        {
            "loc": field(paths),
            "lastmod": day,
            "changefreq": field(optional(st.sampled_from(sorted(CHANGEFREQS)))),
            "priority": field(optional(priorities)),
            "alternates": tuples(st.tuples(field(languages), field(locations))),
            "images": tuples(st.builds(Image, field(locations))),
            "videos": tuples(video, max_size=2),
            "news": tuples(news, max_size=1),
        }
    )


#: Locations and dates of an index.
index_items = st.tuples(urls_anywhere, optional(legal_dates))
any_index_items = st.tuples(urls_anywhere | anything, optional(legal_dates) | anything)
