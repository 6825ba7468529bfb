"""What projects attach to saves: receivers, execute wrappers, triggers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, nullcontext, suppress
from typing import Any

from django.db import connection, transaction
from django.db.models.signals import (
    m2m_changed,
    post_delete,
    post_save,
    pre_delete,
    pre_save,
)
from django.test.utils import CaptureQueriesContext

from tests.support.alike import World
from tests.testapp.models import Article, Category, Note, Spot

from . import POSTGRESQL, SENDS_SEVERAL, SQLITE, receiving, run, situation
from .saving import changed
from .transactions import Stop


def work(world: World) -> None:
    """Do something of each kind in a transaction."""
    with transaction.atomic():
        article = changed()
        article.save()
        article.save(update_fields=["slug"])
        made = Article.objects.create(slug="made")
        Category.objects.get(pk=1).save()
        with transaction.atomic():
            made.delete()
            Note.objects.create(number=4)
            transaction.set_rollback(True)
        Spot.objects.get(pk=1).labels.set([3])
        Article.objects.get(pk=2).delete()
    world.state(article)


#: The articles that ``work`` writes.
WORKED = (1, 2, 101)


# Receivers


@situation(recorded=WORKED)
def receivers_of_theirs(world: World) -> None:
    def note(signal: Any, sender: Any, **values: Any) -> None:
        values.pop("instance", None)
        world.note(sender.__name__, sorted(values.items(), key=str))

    signals = [pre_save, post_save, pre_delete, post_delete]
    with ExitStack() as stack:
        for signal in signals:
            for model in (Article, Category, Note):
                stack.enter_context(receiving(signal, note, model))
        stack.enter_context(receiving(m2m_changed, note, Spot.labels.through))
        work(world)


@situation(inserts=(1, 3), recorded=[2, 3])
def receivers_that_raise(world: World) -> None:
    """In autocommit a row that is saved by then stays."""

    def stop(instance: Any, **kwargs: Any) -> None:
        if instance.pk != 2:
            raise Stop(type(instance).__name__)

    one, three, four = changed(1), changed(3), changed(4)
    for signal in (pre_save, post_save, pre_delete, post_delete):
        with receiving(signal, stop, Article):
            with transaction.atomic(), suppress(Stop), transaction.atomic():
                one.save()
                one.delete()
            is_saved = signal in (pre_save, post_save)
            world.tries(three.save if is_saved else four.delete)
    changed(2).save()


@situation(inserts=(4, 5), at_once=2, recorded=[1, 2])
def receivers_that_save(world: World) -> None:
    def follow(instance: Any, **kwargs: Any) -> None:
        if instance.pk == 1:
            changed(2, f"{instance.slug}-2").save()
            with transaction.atomic():
                Note.objects.update_or_create(pk=1, defaults={"number": 9})

    with receiving(post_save, follow, Article):
        with transaction.atomic():
            changed(1, "atomic").save()
        changed(1, "autocommit").save()


# Execute wrappers


@situation(inserts=3, recorded=[*WORKED, 3])
def a_wrapper_that_looks(world: World) -> None:
    def look(execute: Any, sql: Any, params: Any, many: Any, context: Any) -> Any:
        result = execute(sql, params, many, context)
        world.statement(sql, params, many, context["cursor"].rowcount)
        return result

    with connection.execute_wrapper(look):
        work(world)
        changed(3).save()
        Article.objects.get(pk=3).delete()
        world.note(len(connection.execute_wrappers))


@situation()
def a_wrapper_that_refuses_all_but_some(world: World) -> None:
    def refuse(execute: Any, sql: Any, params: Any, many: Any, context: Any) -> Any:
        if "testapp_" not in sql and "SAVEPOINT" not in sql:
            raise Stop(f"not allowed: {sql.split()[0]}")
        return execute(sql, params, many, context)

    article = changed()
    for block in (nullcontext(), transaction.atomic()):
        with block, connection.execute_wrapper(refuse):
            article.save()
            world.state(article)
            world.tries(lambda: run("SELECT 1"))


@situation(recorded=WORKED)
def a_wrapper_that_rewrites(world: World) -> None:
    """As sqlcommenter does, and those that send a query elsewhere."""

    def rewrite(execute: Any, sql: Any, params: Any, many: Any, context: Any) -> Any:
        return execute(f"{sql} /* user=1 */", params, many, context)

    with transaction.atomic(), connection.execute_wrapper(rewrite):
        work(world)


def _with_settings(execute: Any, sql: Any, params: Any, many: Any, context: Any) -> Any:
    """
    Set the session's variables in the same message, as django-pghistory does.

    psycopg then gives several results, of which the last one counts.
    """
    if sql.lower().startswith(("select", "set", "begin")):
        return execute(sql, params, many, context)
    before = "SELECT set_config('app.id', %s, true), set_config('app.user', %s, true); "
    given = ("8ae7", '{"user": 1}', *(params or ()))
    result = execute(before + sql, given, many, context)
    while result is not None and result.nextset():
        pass
    return result


@situation(on=SENDS_SEVERAL, inserts=2, recorded=[1, 2, 101])
def a_wrapper_that_sends_more(world: World) -> None:
    with connection.execute_wrapper(_with_settings):
        changed(2).save()
        with transaction.atomic():
            changed().save()
            Article.objects.create(slug="made").delete()
            world.note(run("SELECT current_setting('app.user')"))


@situation(recorded=WORKED)
def the_log_of_queries(world: World) -> None:
    """``connection.queries``, as toolbars and ``assertNumQueries`` read it."""
    with CaptureQueriesContext(connection) as captured:
        work(world)
    world.queries(
        {"sql": query["sql"]} for query in captured.captured_queries if query["sql"]
    )


# Triggers


AUDIT = "alike_audit"
_KINDS = ("INSERT", "UPDATE", "DELETE")
_POSTGRESQL = (
    f"CREATE TABLE {AUDIT} (id serial, kind text, level int, query text)",
    f"""
    CREATE FUNCTION {AUDIT}_note() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        INSERT INTO {AUDIT} (kind, level, query)
        VALUES (TG_OP || ' ' || TG_LEVEL, pg_trigger_depth(), current_query());
        RETURN NULL;
    END $$
    """,  # noqa: S608 (names of our own)
    f"""
    CREATE TRIGGER {AUDIT}_row AFTER INSERT OR UPDATE OR DELETE ON testapp_article
    FOR EACH ROW EXECUTE FUNCTION {AUDIT}_note()
    """,
    f"""
    CREATE TRIGGER {AUDIT}_all AFTER INSERT OR UPDATE OR DELETE ON testapp_article
    FOR EACH STATEMENT EXECUTE FUNCTION {AUDIT}_note()
    """,
)
_POSTGRESQL_DROP = (
    f"DROP TRIGGER IF EXISTS {AUDIT}_row ON testapp_article",
    f"DROP TRIGGER IF EXISTS {AUDIT}_all ON testapp_article",
    f"DROP FUNCTION IF EXISTS {AUDIT}_note",
    f"DROP TABLE IF EXISTS {AUDIT}",
)
_MYSQL = (
    f"CREATE TABLE {AUDIT} "
    "(id int AUTO_INCREMENT PRIMARY KEY, kind text, level int, query text)",
    *(
        f"""
        CREATE TRIGGER {AUDIT}_{kind} AFTER {kind} ON testapp_article FOR EACH ROW
        INSERT INTO {AUDIT} (kind, level, query)
        SELECT '{kind}', 1, info FROM information_schema.processlist
        WHERE id = CONNECTION_ID()
        """  # noqa: S608 (names of our own)
        for kind in _KINDS
    ),
)
_MYSQL_DROP = (
    *(f"DROP TRIGGER IF EXISTS {AUDIT}_{kind}" for kind in _KINDS),
    f"DROP TABLE IF EXISTS {AUDIT}",
)
_SQLITE = (
    f"CREATE TABLE {AUDIT} (id integer PRIMARY KEY, kind text, level int, query text)",
    *(
        f"""
        CREATE TRIGGER {AUDIT}_{kind} AFTER {kind} ON testapp_article FOR EACH ROW
        BEGIN
            INSERT INTO {AUDIT} (kind, level, query)
            SELECT '{kind}', changes(), group_concat(id || slug || title)
            FROM testapp_article;
        END
        """  # noqa: S608 (names of our own)
        for kind in _KINDS
    ),
    # So that changes() begins with 0, whatever was written before.
    f"DELETE FROM {AUDIT}",  # noqa: S608 (names of our own)
)
_SQLITE_DROP = _MYSQL_DROP


@contextmanager
def _audit() -> Iterator[None]:
    """Have the database note each statement that writes to articles."""
    create, drop = {
        "postgresql": (_POSTGRESQL, _POSTGRESQL_DROP),
        "mysql": (_MYSQL, _MYSQL_DROP),
        "sqlite": (_SQLITE, _SQLITE_DROP),
    }[connection.vendor]
    with _statements((*drop, *create), drop)():
        yield


def _audited(world: World) -> None:
    for row in run(f"SELECT kind, level, query FROM {AUDIT} ORDER BY id"):  # noqa: S608 (names of our own)
        world.note("audit", *row)


@situation(around=_audit, recorded=WORKED)
def an_audit_trigger(world: World) -> None:
    with transaction.atomic():
        work(world)
        _audited(world)


@situation(around=_audit, inserts=(2, 3), on=not SQLITE, recorded=[1, 3, 101])
def an_audit_trigger_in_autocommit(world: World) -> None:
    changed().save()
    Article.objects.create(slug="made")
    with transaction.atomic():
        Article.objects.get(pk=3).delete()
    _audited(world)


def _statements(create: Sequence[str], drop: Sequence[str]) -> Any:
    """Return what is set up by some statements, and taken away by others."""

    @contextmanager
    def around() -> Iterator[None]:
        for sql in create:
            run(sql)
        try:
            yield
        finally:
            for sql in drop:
                run(sql)

    return around


def _trigger(body: str) -> Any:
    function = (
        "CREATE FUNCTION alike_trigger() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN {body} END $$"
    )
    trigger = (
        "CREATE TRIGGER alike_trigger BEFORE UPDATE ON testapp_article "
        "FOR EACH ROW EXECUTE FUNCTION alike_trigger()"
    )
    return _statements([function, trigger], ["DROP FUNCTION alike_trigger CASCADE"])


def _saves(world: World) -> None:
    article = changed()
    world.tries(article.save)
    world.tries(transaction.atomic(changed(2, "2").save))
    world.tries(Article.objects.get(pk=3).delete)
    world.state(article)


#: The last one: PostgreSQL runs no statement with WITH on such a table.
for _name, _around, _inserts in (
    ("raises", _trigger("RAISE EXCEPTION 'no' USING ERRCODE = 'P0099';"), 1),
    ("skips_the_update", _trigger("RETURN NULL;"), 1),
    ("changes_the_row", _trigger("NEW.title = 'trigger'; RETURN NEW;"), 3),
    (
        "is_a_rule",
        _statements(
            ["CREATE RULE alike AS ON UPDATE TO testapp_article DO ALSO NOTIFY x"],
            ["DROP RULE alike ON testapp_article"],
        ),
        3,
    ),
):
    situation(
        on=POSTGRESQL, name=f"a_trigger_that_{_name}", around=_around, inserts=_inserts
    )(_saves)
