"""
A process that writes: what people, forms, imports and admins do, at random.

A row belongs to the writer whose number its key has in the end, or to all of them: what
is everybody's is changed under a lock only. So it is known in which order a row's
changes were committed. The journal says what is committed just before it is.
"""

from __future__ import annotations

import datetime as dt
import random
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.db import Error, connection, transaction
from django.db.models import F, QuerySet

from django_sitemaps_plus import touch
from django_sitemaps_plus.changes import hints
from tests.testapp.models import Article, Category, Label, Story, Tag

from .journal import Journal
from .truth import Row, RowKey

#: A key's remainder by this says whose row it is; no writer has the number 0.
OWNERS = 16
#: Keys of rows that come later, but at the right edge, are below this.
TOP = 65_536
#: More rows of its own a writer does not want.
MANY = 45
#: Rows are dated from here on, a second for each millisecond of the race.
FIRST = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)

#: What is done, and how often.
WEIGHTS = {
    "save": 20,
    "move": 10,
    "rotate": 11,
    "update": 12,
    "create": 10,
    "create_at_the_edge": 4,
    "import_many": 2,
    "delete": 6,
    "delete_many": 2,
    "cascade": 2,
    "publish": 8,
    "file": 4,
    "tag": 5,
    "rename": 8,
    "roll_back": 5,
    "roll_back_within": 5,
    "roll_back_by_hand": 5,
}
#: What is one statement, in autocommit where nobody is killed.
ALONE = ("save", "create", "delete", "tag", "rename")

Commit = Callable[[], Any]


class Undo(Exception):
    """Rolls a transaction back."""


class Nothing(Exception):
    """There is no row to do this to."""


class Operation:
    """What one transaction does to which rows."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.rows: dict[RowKey, Row | None] = {}
        #: Rows of which something is recorded, though it is rolled back.
        self.hints: list[RowKey] = []
        #: Slugs that its rows had before.
        self.had: set[str] = set()

    def note(self, *made: Any) -> None:
        """Note how objects will be."""
        self.rows.update((key_of(one), row_of(one)) for one in made)

    def slug(self) -> str:
        """Return a new slug."""
        return f"{self.name}-{len(self.rows)}"

    def free(self) -> list[str]:
        """Return the slugs that nobody has any more."""
        have = {row["slug"] for row in self.rows.values() if row and "slug" in row}
        return sorted(self.had - have)


class Writer:
    """One writer, in one of its lives."""

    def __init__(self, told: dict[str, Any]) -> None:
        self.number, self.life = told["number"], told["life"]
        self.name = f"w{self.number}x{self.life}"
        self.stop = Path(told["stop"])
        self.pause, self.started = told["pause"], told["started"]
        #: Whether each transaction leaves a mark, because who notes its end may die.
        self.marks = told["marks"]
        self.rng = random.Random()  # noqa: S311 (nothing secret)
        self.journal = Journal(Path(told["folder"]), f"writer-{self.name}")
        self.turn = 0
        #: Slugs that this writer took from a row, and that no row has.
        self.free: list[str] = []

    def run(self) -> None:
        """Write until the race is over."""
        if self.life > 1:
            self._come_after_the_dead()
        while not self.stop.exists():
            (what,) = self.rng.choices(list(WEIGHTS), weights=list(WEIGHTS.values()))
            self.one(what)
            time.sleep(self.rng.uniform(0, self.pause))
        # As the end of every process does.
        hints.write_late()
        self._note_end("")

    def one(self, what: str) -> None:
        """Do one operation, whatever becomes of it."""
        self.turn += 1
        operation = Operation(f"{self.name}-{self.turn}")
        do = partial(getattr(self, f"_{what}"), operation)
        try:
            if what in ALONE and not self.marks:
                self._commit(operation, what, do())
            else:
                with transaction.atomic():
                    (do() or (lambda: None))()
                    if self.marks:
                        Label.objects.create(name=operation.name)
                    self._commit(operation, what)
        except (Nothing, Undo):
            return
        except (Error, connection.Database.Error, ObjectDoesNotExist) as error:
            self.journal.write(op=operation.name, what=what, error=repr(error))
            connection.close()
            return
        self._note_end(operation.name)
        self.free += operation.free()

    def _commit(
        self, operation: Operation, what: str, commit: Commit | None = None
    ) -> None:
        """Write down what is now committed, just before it is."""
        self.journal.write(
            op=operation.name,
            what=what,
            at=time.time(),
            rows=list(operation.rows.items()),
            hints=operation.hints,
        )
        if commit is not None:
            commit()

    def _note_end(self, name: str) -> None:
        # On SQLite a lock may delay what is recorded until a next commit.
        late = bool(hints._late)
        self.journal.write(op=name, end=time.time(), late=late)

    def _come_after_the_dead(self) -> None:
        """Let be done what the database still does for this writer's former life."""
        time.sleep(0.5)
        try:
            with transaction.atomic():
                list(self._own().select_for_update())
        except (Error, connection.Database.Error):
            # One that was ended between a commit and autocommit is of no use any more.
            connection.close()

    # Rows

    def _own(self, model: type[Any] = Article) -> QuerySet[Any]:
        return of_owner(model._default_manager.all(), self.number)

    def _one(self, model: type[Any] = Article) -> Any:
        keys = list(self._own(model).values_list("pk", flat=True))
        if not keys:
            raise Nothing
        return model._default_manager.get(pk=self.rng.choice(sorted(keys)))

    def _locked(self, most: int, least: int = 1) -> list[Article]:
        """Lock some rows that are this writer's or everybody's, in their order."""
        rows = of_owner(Article.objects.all(), self.number, 0)
        keys = sorted(rows.values_list("pk", flat=True))
        chosen = self.rng.sample(keys, min(len(keys), self.rng.randint(least, most)))
        found = Article.objects.select_for_update().filter(pk__in=chosen)
        locked = list(found.order_by("pk"))
        if len(locked) < least:
            raise Nothing
        return locked

    def _free_keys(self, most: int = 1, least: int = 1) -> list[int]:
        """Return keys, one after the other, within the range of the first rows."""
        if self._own().count() > MANY:
            raise Nothing
        first = self.rng.randrange(TOP // OWNERS) * OWNERS + self.number
        count = self.rng.randint(least, most)
        keys = list(range(first, first + count * OWNERS, OWNERS))
        if Article.objects.filter(pk__in=keys).exists():
            raise Nothing
        return keys

    def _large_key(self) -> int:
        return self.rng.randrange(2**40) * OWNERS + self.number

    def _slug(self, operation: Operation) -> str:
        """Return a new slug, or one that another row had before."""
        if self.free and self.rng.random() < 0.3:
            return self.free.pop(self.rng.randrange(len(self.free)))
        return operation.slug()

    def _change(self, operation: Operation, article: Article, **values: Any) -> None:
        """Change an object, and note how it will be."""
        if article.slug:
            operation.had.add(article.slug)
        for name, value in values.items():
            setattr(article, name, value)
        passed = round((time.time() - self.started) * 1000)
        article.updated = FIRST + dt.timedelta(seconds=passed)
        operation.note(article)

    def _new(
        self, operation: Operation, pk: int, model: type[Any] = Article, **more: Any
    ) -> Any:
        made = model(pk=pk)
        self._change(operation, made, slug=self._slug(operation), **more)
        return made

    def _note_deleted(self, operation: Operation, articles: Iterable[Article]) -> None:
        for article in articles:
            operation.had.add(article.slug)
            operation.rows["article", article.pk] = None
            for tag in Tag.objects.filter(article_id=article.pk):
                operation.rows["tag", tag.pk] = None

    # Operations: saves

    def _save(self, operation: Operation) -> Commit:
        """Save an object: all of it, some fields, a child's, or over one's key."""
        how = self.rng.choice(["whole", "whole", "whole", "fields", "over", "child"])
        article = self._one(Story if how == "child" else Article)
        is_same = how == "whole" and self.rng.random() < 0.5
        slug = article.slug if is_same else self._slug(operation)
        if how == "over":
            # By somebody who never loaded it.
            operation.had.add(article.slug)
            article = Article(pk=article.pk)
        self._change(operation, article, slug=slug)
        fields = ["slug", "updated"] if how == "fields" else None
        return partial(article.save, update_fields=fields)

    def _move(self, operation: Operation) -> None:
        for article in self._locked(3):
            self._change(operation, article, slug=self._slug(operation))
            article.save()
        if self.rng.random() < 0.15:
            # Commit after others whose changes came later. SQLite has one writer: all
            # others wait for this one.
            time.sleep(0.05 if connection.vendor == "sqlite" else 0.4)

    def _rotate(self, operation: Operation) -> None:
        """Hand the slugs of some rows round."""
        articles = self._locked(self.rng.choice([2, 2, 4]), 2)
        slugs = [article.slug for article in articles]
        is_seen = self.rng.random() < 0.7
        for article, slug in zip(articles, [*slugs[1:], slugs[0]], strict=True):
            if is_seen:
                self._change(operation, article, slug=slug)
                article.save()
            else:
                self._unseen(operation, [article], slug=slug)

    def _unseen(
        self, operation: Operation, articles: Sequence[Article], **values: Any
    ) -> None:
        """Change rows behind the signals' back."""
        for article in articles:
            self._change(operation, article, **values)
            article.updated = articles[0].updated
        operation.note(*articles)
        found = Article.objects.filter(pk__in=[article.pk for article in articles])
        found.update(**values, updated=articles[0].updated)
        touch(found)

    def _update(self, operation: Operation) -> None:
        """Publish some rows or unpublish them, or move one."""
        if self.rng.random() < 0.5:
            live = self.rng.random() < 0.6
            self._unseen(operation, self._locked(5), live=live)
        else:
            self._unseen(operation, self._locked(1), slug=self._slug(operation))

    # Operations: rows come and go

    def _create(self, operation: Operation) -> Commit:
        (pk,) = self._free_keys()
        model = self.rng.choice([Article, Article, Article, Story])
        return self._new(operation, pk, model).save

    def _create_at_the_edge(self, operation: Operation) -> None:
        self._free_keys()
        last = Article.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        for turn in range(1, self.rng.randint(2, 4)):
            key = (last // OWNERS + turn) * OWNERS + self.number
            self._new(operation, key).save(force_insert=True)

    def _import_many(self, operation: Operation) -> None:
        """A category, its articles and their tags, behind the signals' back."""
        keys, category = self._free_keys(14, 3), self._new_category(operation)
        articles = [self._new(operation, pk, category=category) for pk in keys]
        tags = [self._new_tag(operation, article) for article in articles[::2]]
        Article.objects.bulk_create(articles)
        Tag.objects.bulk_create(tags)
        touch(Article.objects.filter(pk__in=[made.pk for made in articles]))
        touch(Tag.objects.filter(pk__in=[made.pk for made in tags]))

    def _delete(self, operation: Operation) -> Commit:
        article = self._one()
        self._note_deleted(operation, [article])
        return article.delete

    def _delete_many(self, operation: Operation) -> None:
        articles = self._locked(6)
        self._note_deleted(operation, articles)
        Article.objects.filter(pk__in=[found.pk for found in articles]).delete()

    def _cascade(self, operation: Operation) -> None:
        category = self._one(Category)
        self._note_deleted(operation, Article.objects.filter(category=category))
        operation.rows["category", category.pk] = None
        category.delete()

    def _publish(self, operation: Operation) -> None:
        article = self._one()
        self._change(operation, article, live=not article.live)
        article.save()

    # Operations: related rows

    def _new_category(self, operation: Operation) -> Category:
        made = Category.objects.create(pk=self._large_key(), slug=operation.slug())
        operation.note(made)
        return made

    def _new_tag(self, operation: Operation, article: Article) -> Tag:
        made = Tag(pk=self._large_key(), article=article, name=operation.slug())
        operation.note(made)
        return made

    def _file(self, operation: Operation) -> None:
        """Put an article into a category, another one or a new one."""
        article = self._one()
        if self._own(Category).exists() and self.rng.random() < 0.8:
            category = self._one(Category)
        else:
            category = self._new_category(operation)
        self._change(operation, article, category=category)
        article.save()

    def _tag(self, operation: Operation) -> Commit:
        tag = self._new_tag(operation, self._one())
        return partial(tag.save, force_insert=True)

    def _rename(self, operation: Operation) -> Commit:
        made = self._one(self.rng.choice([Category, Tag]))
        setattr(made, "name" if isinstance(made, Tag) else "slug", operation.slug())
        operation.note(made)
        return made.save

    # Operations: what never was

    def _disturb(self, operation: Operation, articles: Sequence[Article]) -> None:
        """Do things that will be rolled back."""
        for turn, article in enumerate(articles[:-1]):
            article.slug = f"never-{operation.name}-{turn}"
            article.save()
        (pk,) = self._free_keys()
        Article.objects.create(pk=pk, slug=f"never-{operation.name}")
        articles[-1].delete()

    def _roll_back(self, operation: Operation) -> None:
        self._disturb(operation, self._locked(4, 2))
        raise Undo

    def _roll_back_within(self, operation: Operation) -> None:
        first, *others = self._locked(5, 3)
        with suppress(Undo), transaction.atomic():
            self._disturb(operation, others)
            raise Undo
        self._change(operation, first, slug=self._slug(operation))
        first.save()

    def _roll_back_by_hand(self, operation: Operation) -> None:
        first, *others = self._locked(5, 3)
        tags = Tag.objects.filter(article__in=others).values_list("pk", flat=True)
        operation.hints += [("article", article.pk) for article in others]
        operation.hints += [("tag", pk) for pk in tags]
        savepoint = transaction.savepoint()
        self._disturb(operation, others)
        transaction.savepoint_rollback(savepoint)
        self._change(operation, first, slug=self._slug(operation))
        first.save()


def of_owner(rows: QuerySet[Any], *numbers: int) -> QuerySet[Any]:
    """Return the rows that belong to these writers."""
    return rows.annotate(owner=F("pk") % OWNERS).filter(owner__in=numbers)


def key_of(made: Any) -> RowKey:
    """Return what the journals call an object."""
    table = "article" if isinstance(made, Article) else made._meta.model_name
    return table, made.pk


def row_of(made: Any) -> Row:
    """Return what the journals say of an object."""
    if isinstance(made, Article):
        return {
            "slug": made.slug,
            "live": made.live,
            "category": made.category_id,
            "updated": made.updated and round(made.updated.timestamp()),
        }
    if isinstance(made, Tag):
        return {"name": made.name, "article": made.article_id}
    return {"name": made.slug}


def all_rows() -> dict[RowKey, Row]:
    """Return all rows as they are, as the journals say it."""
    models: list[type[Any]] = [Article, Tag, Category]
    found = [made for model in models for made in model._default_manager.all()]
    return {key_of(made): row_of(made) for made in found}


def write(told: dict[str, Any]) -> None:
    """Be a writer until the race is over."""
    Writer(told).run()
