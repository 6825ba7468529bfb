"""``build_sitemaps --divide``: pages with few entries become fewer, telling nothing."""

from __future__ import annotations

from itertools import chain

import pytest

from django_sitemaps_plus.models import Change, Page, PageFile
from tests.conftest import Register
from tests.support.helpers import later, run_command, told
from tests.support.in_between import failing_once, just_before
from tests.support.ledger_site import Site, path

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("ledger_tables"),
]

#: What is left on five pages of ten at most: nine fit one that is filled.
LEFT = [0, 10, 90, 100, 180, 190, 270, 280, 360]


@pytest.fixture
def site(register: Register) -> Site:
    """Five pages of two rows each, as a month of coming and going leaves them."""
    made = Site(register)
    made.insert(range(0, 450, 10))
    made.crawl()
    made.delete(set(range(0, 450, 10)) - {*LEFT})
    assert list(made.settle().values()) == [LEFT[at : at + 2] for at in range(0, 10, 2)]
    later(100, "changed_at")
    told()
    return made


def divide() -> str:
    out, err, code = run_command("build_sitemaps", "--divide", "site")
    assert (err, code) == ("", 0)
    return out


def test_neighbours_that_fit_a_page_are_joined_and_nothing_is_told(site: Site) -> None:
    assert "; 4 joined to others" in divide()
    assert site.crawl() == {1: LEFT}
    (page,) = site.pages()
    # Nine of ten: late rows do not split it at once.
    assert page.number == 1
    assert told() == []
    assert not PageFile.objects.exclude(page=page).exists()


def test_full_pages_stay_and_what_is_asked_again_is_joined_no_further(
    site: Site,
) -> None:
    site.insert(range(91, 98))
    run_command("build_sitemaps", "--reconcile", "--deep")
    assert len(site.settle()) == 5, "only --divide joins"
    told()
    divide()
    found = site.crawl()
    assert [len(rows) for rows in found.values()] == [2, 9, 5]
    assert "joined" not in divide()
    assert site.crawl() == found
    assert told() == []


def test_numbers_of_pages_that_ended_are_not_used_again(site: Site) -> None:
    numbers = {page.number for page in site.pages()}
    divide()
    site.insert(number for number in range(1, 60) if number % 10)
    site.settle()
    assert numbers & {page.number for page in site.pages()} == {1}
    assert {site.get(number).status_code for number in numbers - {1}} == {404}


def test_what_happened_is_told_and_what_moved_is_not(site: Site) -> None:
    site.rename(100, save=False)
    site.kind.all().filter(pk=270)._raw_delete("default")
    site.insert([5])
    divide()
    assert sorted(told()) == [
        *[("added", path(100, 1)), ("added", path(5))],
        *[("removed", path(100)), ("removed", path(270))],
    ]


@pytest.mark.parametrize("act", ["delete", "rename"])
@pytest.mark.costly
def test_what_happens_after_the_comparison_is_told_too(site: Site, act: str) -> None:
    def happen() -> None:
        row = site.kind.all().filter(pk=280)
        if act == "delete":
            row.delete()
        else:
            row.update(slug="r280-1")

    # Whoever joins asks for bounds first: before it reads the rows of all.
    with just_before('"position" BETWEEN', do=happen):
        divide()
    assert ("removed", path(280)) in told()
    assert set(chain.from_iterable(site.crawl().values())) | {280} == set(LEFT)


def test_a_change_that_waits_is_not_lost(site: Site) -> None:
    with just_before('"position" BETWEEN', do=lambda: site.rename(280)):
        divide()
    site.settle()
    assert not Change.objects.exists()
    assert site.crawl() == {1: LEFT}
    # An edit of a row without lastmod is told for its own sake, too.
    found = {*told()} - {("changed", path(280, 1))}
    assert found == {("added", path(280, 1)), ("removed", path(280))}


def test_pages_that_somebody_else_writes_stay(site: Site) -> None:
    # After the pages were read, before their rows are.
    with just_before('"position" BETWEEN', do=Page.objects.filter(number=3).mark):
        divide()
    assert len(site.pages()) == 5
    # The bytes of another are lost: nobody knows what it listed.
    PageFile.objects.filter(page__number=4).delete()
    divide()
    assert site.crawl() == {1: LEFT}
    (page,) = site.pages()
    assert page.unknown_at > 0, "the page that took over does not know it, either"
    assert told() == []


def test_it_is_rolled_back_whole_and_tried_again(site: Site) -> None:
    with failing_once('DELETE FROM "sitemaps_plus_page"'):
        divide()
    assert site.crawl() == {1: LEFT}
    assert told() == []


@pytest.mark.parametrize(
    "options",
    [[], ["site", "--reconcile"], ["site", "--ledger"], ["site", "--enqueue", "tasks"]],
)
@pytest.mark.costly
def test_it_needs_the_names_of_sections_and_goes_alone(
    site: Site, options: list[str]
) -> None:
    _, err, code = run_command("build_sitemaps", "--divide", *options)
    assert code == 2
    assert "--divide goes alone" in err
