"""How a page is cut: what holds for any number of rows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from django_sitemaps_plus.pagination.cutting import filled_to, halves, tail

limits = st.integers(1, 60)


@given(limit=limits, data=st.data())
def test_a_page_that_others_follow_is_cut_in_equal_pieces_that_fit(
    limit: int, data: st.DataObject
) -> None:
    count = data.draw(st.integers(limit + 1, 20 * limit + 1))
    pieces = halves(limit, limit, 10_000, count)
    pieces.append(count - sum(pieces))
    assert min(pieces) >= 1, "no piece is empty"
    assert max(pieces) - min(pieces) <= 1
    assert max(pieces) <= max(2, limit)
    assert len(pieces) == max(2, -(-count // filled_to(limit))), (
        "and no more than needed"
    )


@given(limit=limits, fitting=st.integers(0, 60), most=st.integers(1, 8))
def test_the_first_piece_has_no_more_rows_than_fit(
    limit: int, fitting: int, most: int
) -> None:
    for sizes in (halves(limit, fitting, most, 500), tail(limit, fitting, most)):
        assert sizes[0] <= max(1, fitting)
        assert len(sizes) <= most
        assert min(sizes) >= 1


@given(limit=limits)
def test_what_fits_a_last_page_stays_there_and_new_pages_are_not_quite_filled(
    limit: int,
) -> None:
    first, *others = tail(limit, limit, 5)
    assert first == limit
    assert others == [filled_to(limit)] * 4
    assert filled_to(limit) >= max(1, int(limit * 0.9))
    assert filled_to(limit) < limit or limit == 1
