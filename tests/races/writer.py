"""
A process that writes: what people, forms, imports and admins do, at random.

A row belongs to the writer whose number its key has in the end, or to all of them: what
is everybody's is changed under a lock only. So it is known in which order a row's
changes were committed. An operation leaves its name in every row that it writes.
"""

from __future__ import annotations

import datetime as dt
import random
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from django.core.exceptions import ObjectDoesNotExist
from django.db import Error, connection, transaction
from django.db.models import F, QuerySet

from django_sitemaps_plus import touch
from tests.testapp.models import Article, Category, Story, Tag

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

WEIGHTS = {
    "save": 10,
    "save_some_fields": 5,
    "save_over": 2,
    "save_the_childs": 3,
    "move": 8,
    "swap": 8,
    "rotate": 3,
    "create": 8,
    "create_a_child": 2,
    "create_at_the_edge": 4,
    "import_many": 2,
    "delete": 6,
    "delete_many": 2,
    "cascade": 2,
    "publish": 8,
    "publish_by_hand": 4,
    "update_one": 8,
    "file": 4,
    "rename_a_category": 4,
    "tag": 5,
    "rename_a_tag": 4,
    "roll_back": 5,
    "roll_back_within": 5,
    "roll_back_by_hand": 5,
    "take_long": 2,
}


class Undo(Exception):
    """Rolls a transaction back."""


class Nothing(Exception):
    """There is no row to do this to."""


class Operation:
    """What one transaction does to which rows; it is in the journal before its end."""

    def __init__(self, name: str, what: str, journal: Journal) -> None:
        self.name = name
        self.what = what
        self.journal = journal
        self.rows: dict[RowKey, tuple[Row | None, Row | None]] = {}
        self.hints: list[RowKey] = []
        self.is_announced = False

    def note(self, key: RowKey, former: Row | None, row: Row | None) -> None:
        """Note that a row is written: how it was, and how it is."""
        first = self.rows[key][0] if key in self.rows else former
        self.rows[key] = first, row

    def announce(self) -> None:
        """Write down what is now committed, just before it is."""
        rows = [(key, former, row) for key, (former, row) in self.rows.items()]
        self.is_announced = True
        self.journal.write(
            op=self.name, what=self.what, at=time.time(), rows=rows, hints=self.hints
        )

    def slugs(self) -> set[str]:
        """Return the slugs that nobody has any more."""
        had = {former["slug"] for former, _ in self.rows.values() if _has_slug(former)}
        have = {row["slug"] for _, row in self.rows.values() if _has_slug(row)}
        return had - have


def _has_slug(row: Row | None) -> bool:
    return row is not None and "slug" in row


class Writer:
    """One writer, in one of its lives."""

    def __init__(self, command: dict[str, Any]) -> None:
        self.number = command["number"]
        self.life = command["life"]
        self.name = f"w{self.number}x{self.life}"
        self.stop = Path(command["stop"])
        self.pause = command["pause"]
        self.started = command["started"]
        seed = f"{command['seed']}-{self.name}"
        self.rng = random.Random(seed)  # noqa: S311 (nothing secret)
        self.journal = Journal(Path(command["folder"]), f"writer-{self.name}")
        self.turn = 0
        #: Slugs that this writer took from a row, and that no row has.
        self.free: list[str] = []
        names, weights = zip(*WEIGHTS.items(), strict=True)
        self.names: Sequence[str] = names
        self.weights: Sequence[int] = weights

    def run(self) -> int:
        """Write until the race is over."""
        if self.life > 1:
            self._come_after_the_dead()
        while not self.stop.exists():
            (what,) = self.rng.choices(self.names, weights=self.weights)
            self.one(what)
            time.sleep(self.rng.uniform(0, self.pause))
        return self.turn

    def one(self, what: str) -> None:
        """Do one operation, whatever becomes of it."""
        self.turn += 1
        operation = Operation(f"{self.name}-{self.turn}", what, self.journal)
        errors = (Error, connection.Database.Error, ObjectDoesNotExist)
        try:
            getattr(self, f"_{what}")(operation)
        except Nothing:
            return
        except errors as error:
            self.journal.write(op=operation.name, what=what, error=repr(error))
            connection.close()
            return
        if operation.is_announced:
            self.journal.write(op=operation.name, end=time.time())
            self.free += sorted(operation.slugs())

    def _come_after_the_dead(self) -> None:
        """Let be done what the database still does for this writer's former life."""
        time.sleep(0.5)
        with suppress(Error, connection.Database.Error), transaction.atomic():
            list(self._own().select_for_update())

    # Rows

    def _own(self) -> QuerySet[Article]:
        return of_owner(Article.objects.all(), self.number)

    def _one(self, rows: QuerySet[Any]) -> Any:
        keys = list(rows.values_list("pk", flat=True))
        if not keys:
            raise Nothing
        return rows.get(pk=self.rng.choice(sorted(keys)))

    def _locked(self, most: int, least: int = 1) -> list[Article]:
        """Lock some rows that are this writer's or everybody's, in their order."""
        rows = of_owner(Article.objects.all(), self.number, 0)
        keys = sorted(rows.values_list("pk", flat=True))
        count = min(len(keys), self.rng.randint(least, most))
        chosen = self.rng.sample(keys, count)
        found = Article.objects.select_for_update().filter(pk__in=chosen)
        locked = list(found.order_by("pk"))
        if len(locked) < least:
            raise Nothing
        return locked

    def _key(self) -> int:
        """Return a new key within the range of the first rows."""
        while True:
            key = self.rng.randrange(TOP // OWNERS) * OWNERS + self.number
            if not Article.objects.filter(pk=key).exists():
                return key

    def _large_key(self) -> int:
        return self.rng.randrange(2**40) * OWNERS + self.number

    def _slug(self, operation: Operation) -> str:
        """Return a new slug, or one that another row had before."""
        if self.free and self.rng.random() < 0.3:
            return self.free.pop(self.rng.randrange(len(self.free)))
        return f"{operation.name}-{len(operation.rows)}"

    def _now(self) -> dt.datetime:
        passed = round((time.time() - self.started) * 1000)
        return FIRST + dt.timedelta(seconds=passed)

    def _change(self, operation: Operation, article: Article, **values: Any) -> None:
        """Change an object, and note how it was and how it will be."""
        former = None if article._state.adding else row_of(article)
        for name, value in values.items():
            setattr(article, name, value)
        article.title = operation.name
        article.updated = self._now()
        operation.note(("article", article.pk), former, row_of(article))

    def _new(
        self, operation: Operation, model: type[Any] = Article, **values: Any
    ) -> Any:
        """Return a new object, noted."""
        if "pk" not in values:
            values["pk"] = self._key()
        if "slug" not in values:
            values["slug"] = self._slug(operation)
        made = model(**values)
        self._change(operation, made)
        return made

    def _note_deleted(self, operation: Operation, articles: Iterable[Article]) -> None:
        for article in articles:
            operation.note(("article", article.pk), row_of(article), None)
            for tag in Tag.objects.filter(article_id=article.pk):
                operation.note(("tag", tag.pk), row_of_tag(tag), None)

    # Operations: saves

    def _save(self, operation: Operation) -> None:
        article = self._one(self._own())
        if self.rng.random() < 0.5:
            self._change(operation, article, slug=self._slug(operation))
        else:
            self._change(operation, article)
        operation.announce()
        article.save()

    def _save_some_fields(self, operation: Operation) -> None:
        article = self._one(self._own())
        self._change(operation, article, slug=self._slug(operation))
        operation.announce()
        article.save(update_fields=["slug", "title", "updated"])

    def _save_over(self, operation: Operation) -> None:
        """Save an object that was never loaded, by the key of one that is there."""
        former = self._one(self._own())
        article = Article(pk=former.pk, slug=self._slug(operation))
        article.title, article.updated = operation.name, self._now()
        key = ("article", former.pk)
        operation.note(key, row_of(former), row_of(article))
        operation.announce()
        article.save()

    def _save_the_childs(self, operation: Operation) -> None:
        story = self._one(of_owner(Story.objects.all(), self.number))
        self._change(operation, story, slug=self._slug(operation))
        operation.announce()
        story.save()

    def _move(self, operation: Operation) -> None:
        with transaction.atomic():
            for article in self._locked(2):
                self._change(operation, article, slug=self._slug(operation))
                article.save()
            operation.announce()

    def _swap(self, operation: Operation) -> None:
        with transaction.atomic():
            first, second = self._locked(2, 2)
            slugs = second.slug, first.slug
            for article, slug in zip((first, second), slugs, strict=True):
                self._change(operation, article, slug=slug)
                article.save()
            operation.announce()

    def _rotate(self, operation: Operation) -> None:
        """Hand the slugs of some rows round, by one UPDATE each."""
        with transaction.atomic():
            articles = self._locked(4, 3)
            slugs = [article.slug for article in articles]
            for article, slug in zip(articles, [*slugs[1:], slugs[0]], strict=True):
                self._update(operation, [article], slug=slug)
            touch(Article.objects.filter(pk__in=[article.pk for article in articles]))
            operation.announce()

    def _take_long(self, operation: Operation) -> None:
        """Commit after others whose changes came later."""
        with transaction.atomic():
            for article in self._locked(3):
                self._change(operation, article, slug=self._slug(operation))
                article.save()
            # SQLite has one writer: all others wait for this one.
            time.sleep(0.05 if connection.vendor == "sqlite" else 0.4)
            operation.announce()

    # Operations: rows come and go

    def _create(self, operation: Operation) -> None:
        if self._own().count() > MANY:
            raise Nothing
        article = self._new(operation)
        operation.announce()
        article.save(force_insert=True)

    def _create_a_child(self, operation: Operation) -> None:
        if self._own().count() > MANY:
            raise Nothing
        story = self._new(operation, Story)
        operation.announce()
        story.save()

    def _create_at_the_edge(self, operation: Operation) -> None:
        if self._own().count() > MANY:
            raise Nothing
        last = Article.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
        with transaction.atomic():
            for turn in range(self.rng.randint(1, 3)):
                key = (last // OWNERS + 1 + turn) * OWNERS + self.number
                self._new(operation, pk=key).save(force_insert=True)
            operation.announce()

    def _import_many(self, operation: Operation) -> None:
        """A category, its articles and their tags, behind the signals' back."""
        if self._own().count() > MANY:
            raise Nothing
        start, count = self._key(), self.rng.randint(3, 14)
        keys = range(start, start + count * OWNERS, OWNERS)
        if Article.objects.filter(pk__in=keys).exists():
            raise Nothing
        with transaction.atomic():
            category = self._new_category(operation)
            articles = [self._new(operation, pk=pk, category=category) for pk in keys]
            tags = [self._new_tag(operation, article) for article in articles[::2]]
            Article.objects.bulk_create(articles)
            Tag.objects.bulk_create(tags)
            touch(Article.objects.filter(pk__in=[made.pk for made in articles]))
            touch(Tag.objects.filter(pk__in=[made.pk for made in tags]))
            operation.announce()

    def _delete(self, operation: Operation) -> None:
        article = self._one(self._own())
        self._note_deleted(operation, [article])
        operation.announce()
        article.delete()

    def _delete_many(self, operation: Operation) -> None:
        with transaction.atomic():
            articles = self._locked(6)
            self._note_deleted(operation, articles)
            Article.objects.filter(pk__in=[found.pk for found in articles]).delete()
            operation.announce()

    def _cascade(self, operation: Operation) -> None:
        category = self._one(self._categories())
        with transaction.atomic():
            self._note_deleted(operation, Article.objects.filter(category=category))
            operation.note(("category", category.pk), row_of_category(category), None)
            category.delete()
            operation.announce()

    # Operations: published or not

    def _publish(self, operation: Operation) -> None:
        """Publish some rows or unpublish them, behind the signals' back."""
        with transaction.atomic():
            articles = self._locked(5)
            self._update(operation, articles, live=self.rng.random() < 0.6)
            touch(Article.objects.filter(pk__in=[found.pk for found in articles]))
            operation.announce()

    def _publish_by_hand(self, operation: Operation) -> None:
        article = self._one(self._own())
        self._change(operation, article, live=not article.live)
        operation.announce()
        article.save()

    def _update(
        self, operation: Operation, articles: Sequence[Article], **values: Any
    ) -> None:
        for article in articles:
            self._change(operation, article, **values)
        found = Article.objects.filter(pk__in=[article.pk for article in articles])
        found.update(**values, title=operation.name, updated=articles[0].updated)
        for article in articles:
            article.updated = articles[0].updated
            key = ("article", article.pk)
            operation.note(key, None, row_of(article))

    def _update_one(self, operation: Operation) -> None:
        with transaction.atomic():
            articles = self._locked(1)
            self._update(operation, articles, slug=self._slug(operation))
            touch(Article.objects.filter(pk=articles[0].pk))
            operation.announce()

    # Operations: related rows

    def _categories(self) -> QuerySet[Category]:
        return of_owner(Category.objects.all(), self.number)

    def _new_category(self, operation: Operation) -> Category:
        name = f"{operation.name}-c"
        made = Category.objects.create(pk=self._large_key(), slug=name)
        operation.note(("category", made.pk), None, row_of_category(made))
        return made

    def _new_tag(self, operation: Operation, article: Article) -> Tag:
        name = f"{operation.name}-{len(operation.rows)}"
        made = Tag(pk=self._large_key(), article=article, name=name)
        operation.note(("tag", made.pk), None, row_of_tag(made))
        return made

    def _file(self, operation: Operation) -> None:
        """Put an article into a category, another one or a new one."""
        article = self._one(self._own())
        with transaction.atomic():
            if self._categories().exists() and self.rng.random() < 0.8:
                category = self._one(self._categories())
            else:
                category = self._new_category(operation)
            self._change(operation, article, category=category)
            article.save()
            operation.announce()

    def _rename_a_category(self, operation: Operation) -> None:
        category = self._one(self._categories())
        former = row_of_category(category)
        category.slug = f"{operation.name}-c"
        operation.note(("category", category.pk), former, row_of_category(category))
        operation.announce()
        category.save()

    def _tag(self, operation: Operation) -> None:
        tag = self._new_tag(operation, self._one(self._own()))
        operation.announce()
        tag.save(force_insert=True)

    def _rename_a_tag(self, operation: Operation) -> None:
        tag = self._one(of_owner(Tag.objects.all(), self.number))
        former = row_of_tag(tag)
        tag.name = f"{operation.name}-0"
        operation.note(("tag", tag.pk), former, row_of_tag(tag))
        operation.announce()
        tag.save()

    # Operations: what never was

    def _disturb(self, operation: Operation, articles: Sequence[Article]) -> None:
        """Do things that will be rolled back."""
        never = Operation(f"never-{operation.name}", "undone", self.journal)
        for article in articles[:-1]:
            operation.hints.append(("article", article.pk))
            self._change(never, article, slug=self._slug_of_none(never))
            article.save()
        self._new(never, slug=self._slug_of_none(never)).save(force_insert=True)
        operation.hints.append(("article", articles[-1].pk))
        articles[-1].delete()

    def _slug_of_none(self, never: Operation) -> str:
        return f"{never.name}-{len(never.rows)}"

    def _roll_back(self, operation: Operation) -> None:
        with suppress(Undo), transaction.atomic():
            self._disturb(operation, self._locked(4, 2))
            raise Undo
        self.journal.write(op=operation.name, undone=operation.hints)

    def _roll_back_within(self, operation: Operation) -> None:
        with transaction.atomic():
            first, *others = self._locked(5, 3)
            with suppress(Undo), transaction.atomic():
                self._disturb(operation, others)
                raise Undo
            self._change(operation, first, slug=self._slug(operation))
            first.save()
            operation.announce()

    def _roll_back_by_hand(self, operation: Operation) -> None:
        with transaction.atomic():
            first, *others = self._locked(5, 3)
            savepoint = transaction.savepoint()
            self._disturb(operation, others)
            transaction.savepoint_rollback(savepoint)
            self._change(operation, first, slug=self._slug(operation))
            first.save()
            operation.announce()


def of_owner(rows: QuerySet[Any], *numbers: int) -> QuerySet[Any]:
    """Return the rows that belong to these writers."""
    return rows.annotate(owner=F("pk") % OWNERS).filter(owner__in=numbers)


def row_of(article: Article) -> Row:
    """Return what the journals say of an article."""
    return {
        "v": article.title,
        "slug": article.slug,
        "live": article.live,
        "category": article.category_id,
        "updated": article.updated and round(article.updated.timestamp()),
    }


def row_of_tag(tag: Tag) -> Row:
    """Return what the journals say of a tag."""
    return {"v": tag.name, "article": tag.article_id}


def row_of_category(category: Category) -> Row:
    """Return what the journals say of a category."""
    return {"v": category.slug}


def all_rows() -> dict[RowKey, Row]:
    """Return all rows as they are, as the journals say it."""
    makers: list[tuple[str, type[Any], Callable[[Any], Row]]] = [
        ("article", Article, row_of),
        ("tag", Tag, row_of_tag),
        ("category", Category, row_of_category),
    ]
    return {
        (table, found.pk): make(found)
        for table, model, make in makers
        for found in model._default_manager.all()
    }


def write(command: dict[str, Any]) -> int:
    """Be a writer until the race is over."""
    return Writer(command).run()
