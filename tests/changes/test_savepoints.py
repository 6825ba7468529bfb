"""What nested savepoints changed, and rolled back: never more bags than are open."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import Any

import pytest
from django.db import connection, transaction
from hypothesis import given, settings
from hypothesis import strategies as st

from django_sitemaps_plus.changes import recorder
from django_sitemaps_plus.models import Change
from tests.conftest import COSTLY, Register
from tests.support.recorded import Articles, changes
from tests.testapp.models import Article

pytestmark = pytest.mark.django_db(transaction=True)

#: The most steps.
STEPS = 60


class UndoError(Exception):
    """What a block raises that is to be rolled back."""


#: What is done one after the other; "save" takes an article that was not saved yet.
steps_to_run = st.lists(
    st.sampled_from(
        [*("save", "open", "close") * 2, "again", "create", "callback", "join", "undo"]
    ),
    min_size=STEPS // 2,
    max_size=STEPS,
)


class Importer:
    """Does what steps say, and remembers nothing: the table knows what stayed."""

    def __init__(self) -> None:
        Article.objects.bulk_create(Article(slug="a") for _ in range(STEPS))
        self.articles = list(Article.objects.order_by("pk"))
        self.known = {article.pk for article in self.articles}
        #: How many of them were saved.
        self.saved = 0
        #: Open blocks, and whether they have a savepoint.
        self.blocks: list[tuple[transaction.Atomic, bool]] = []
        self.deepest = 0

    def run(self, steps: list[str]) -> None:
        """Run steps, in blocks that all are closed in the end."""
        for step in steps:
            if step in ("open", "join"):
                self._open(has_savepoint=step == "open")
            elif step == "close" and self.blocks:
                self.blocks.pop()[0].__exit__(None, None, None)
            elif step == "undo" and any(saved for _, saved in self.blocks):
                self._undo()
            elif step == "callback":
                transaction.on_commit(str)
            elif step == "create":
                Article.objects.create(slug="new")
            elif step in ("save", "again"):
                self._save(self.saved if step == "save" else self.saved - 1)
            # Never more of ours than savepoints were open at a time.
            assert len(ours()) <= self.deepest + 1
        while self.blocks:
            self.blocks.pop()[0].__exit__(None, None, None)

    def _open(self, *, has_savepoint: bool) -> None:
        block = transaction.atomic(savepoint=has_savepoint)
        block.__enter__()
        self.blocks.append((block, has_savepoint))
        self.deepest = max(self.deepest, len(self.blocks))

    def _save(self, number: int) -> None:
        article = self.articles[max(0, number)]
        article.title = "saved"
        article.save()
        self.saved = max(self.saved, number + 1)

    def _undo(self) -> None:
        """Roll back to the latest savepoint."""
        has_savepoint = False
        while not has_savepoint:
            block, has_savepoint = self.blocks.pop()
            block.__exit__(UndoError, UndoError(), None)

    def changed(self) -> list[tuple[int, bool]]:
        """Return the keys that differ from before, and whether they are new."""
        rows = Article.objects.values_list("pk", "title").order_by("pk")
        is_new = {pk: pk not in self.known for pk, _ in rows}
        return [(pk, is_new[pk]) for pk, title in rows if title or is_new[pk]]


def ours() -> list[Any]:
    """Return the callbacks that are not the project's own."""
    return [one for _, one, _ in connection.run_on_commit if one is not str]


@settings(max_examples=80 if COSTLY else 20)
@given(steps=steps_to_run)
def test_exactly_what_stays_in_the_table_is_recorded(
    register: Register, steps: list[str]
) -> None:
    register("news", Articles)
    Article.objects.all().delete()
    Change.objects.all().delete()
    importer = Importer()
    with transaction.atomic():
        importer.run(steps)
    recorded = Change.objects.values_list("key", "created")
    found = [(int(key.strip('["]')), created) for key, created in recorded]
    assert sorted(found) == importer.changed()


@pytest.mark.parametrize("sizes", [(2, 2), (1, 2, 5), (5, 1, 1)])
def test_the_keys_of_several_savepoints_become_one_range(
    register: Register, monkeypatch: pytest.MonkeyPatch, sizes: tuple[int, ...]
) -> None:
    monkeypatch.setattr(recorder, "MOST_KEYS", 3)
    register("news", Articles)
    made = []
    with transaction.atomic():
        for size in sizes:
            with transaction.atomic():
                made += [Article.objects.create(slug="a") for _ in range(size)]
    found = Change.objects.get()
    assert (found.key, found.upto) == (f'["{made[0].pk}"]', f'["{made[-1].pk}"]')


def test_an_error_that_somebody_keeps_costs_no_later_change(register: Register) -> None:
    """Its traceback holds what the transaction remembered that was rolled back."""
    kept: list[Exception] = []

    class Moody(Articles):
        def records(self, instance: Any, **kwargs: Any) -> bool:
            if instance.title == "raise":
                raise ValueError
            return True

    class Keeping(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            kept.append(record.exc_info[1])

    register("news", Moody)
    logger, handler = logging.getLogger("django_sitemaps_plus"), Keeping()
    logger.addHandler(handler)
    try:
        with suppress(UndoError), transaction.atomic():
            Article.objects.create(slug="a", title="raise")
            raise UndoError
    finally:
        logger.removeHandler(handler)
    assert len(kept) == 1
    with transaction.atomic():
        article = Article.objects.create(slug="b")
    assert changes() == [("news", str(article.pk))]
