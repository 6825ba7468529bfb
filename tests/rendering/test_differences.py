"""What differs between two texts is found block by block as by comparing all of it."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from django_sitemaps_plus.rendering import listing

#: Few locations and contents, so that entries repeat and move; some begin alike.
entries = st.lists(st.tuples(st.integers(0, 30), st.integers(0, 1)), max_size=120)


def text_of(found: list[tuple[int, int]]) -> bytes:
    return b"".join(
        b"<url><loc>https://e.com/%d</loc><priority>0.%d</priority></url>\n" % entry
        for entry in found
    )


def blocks_of(found: list[tuple[int, int]], size: int) -> list[bytes]:
    return [text_of(found[at : at + size]) for at in range(0, len(found), size)]


@given(entries, entries, st.integers(1, 40))
def test_two_texts_differ_as_their_listings_do(
    former: list[tuple[int, int]], new: list[tuple[int, int]], size: int
) -> None:
    check(former, new, size)


@given(
    st.lists(st.integers(0, 1_000), min_size=1, max_size=400, unique=True),
    st.lists(st.tuples(st.integers(0, 399), st.sampled_from("dic")), max_size=20),
    st.integers(1, 100),
)
def test_an_edited_text_differs_as_its_listing_does(
    numbers: list[int], edits: list[tuple[int, str]], size: int
) -> None:
    former = [(number, 0) for number in numbers]
    new = list(former)
    for at, what in edits:
        place = at % (len(new) + 1)
        if what == "i":
            new.insert(place, (2_000 + at, 0))
        elif new:
            place %= len(new)
            number, content = new.pop(place)
            if what == "c":
                new.insert(place, (number, 1 - content))
    check(former, new, size)


def check(former: list[tuple[int, int]], new: list[tuple[int, int]], size: int) -> None:
    text, blocks = text_of(former), blocks_of(new, size)
    old, current = listing.listings(text, blocks)
    whole_old, whole_new = map(listing.listing_of, (text, b"".join(blocks)))
    assert whole_old.items() ^ whole_new.items() == old.items() ^ current.items()
    assert old.items() <= whole_old.items()
    assert current.items() <= whole_new.items()


def test_what_is_equal_is_not_taken_apart() -> None:
    found = [(number, 0) for number in range(1_000)]
    changed = [*found[:500], (500, 1), *found[501:]]
    blocks = blocks_of(changed, 100)
    ((old, new),) = listing.differing(text_of(found), blocks)
    assert (old, new) == (text_of(found[500:600]), text_of(changed[500:600]))
    assert listing.listings(text_of(found), blocks) == (entry(500, 0), entry(500, 1))


def entry(number: int, content: int) -> listing.Listing:
    return listing.listing_of(text_of([(number, content)]))
