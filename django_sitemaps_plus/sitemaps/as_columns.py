"""
Methods that only return columns, read as columns.

``return obj.updated`` is ``F("updated")``, and ``reverse()`` of columns is a ``Route``.
A method is read as syntax and never executed, and only where its value is certain; any
other is called. Only syntax is remembered, because tests replace methods.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field
from functools import lru_cache
from inspect import getattr_static
from types import CodeType, FunctionType
from typing import Any

from django import urls
from django.core.exceptions import FieldDoesNotExist
from django.db.models import Count, DateField, ForeignKey, Manager, Max, Model, QuerySet
from django.db.models.expressions import F
from django.db.models.fields import related_descriptors as related
from django.db.models.query import ModelIterable
from django.db.models.query_utils import DeferredAttribute
from django.db.models.signals import post_init, pre_init
from django.db.models.sql import Query
from django.urls import reverse, reverse_lazy

from django_sitemaps_plus.exceptions import RouteError
from django_sitemaps_plus.protocol.extensions import MEDIA

from .attributes import alias, is_method, methods_of
from .classes import Sitemap, is_evaluated
from .media import is_expression
from .registry import AnySitemap
from .routes import Route
from .sections import object_path_reason

#: What gives an instance what its row has, as long as it is Django's.
_OF_MODELS = (
    *("__new__", "__init__", "__getattribute__", "__getattr__", "__setattr__"),
    *("from_db", "refresh_from_db", "pk"),
)
#: The same of a queryset, on both paths.
_OF_QUERYSETS = (
    *("__iter__", "__getitem__", "iterator", "_fetch_all", "_clone", "_chain"),
    *("annotate", "_annotate", "values_list", "_values"),
)
#: What a sitemap may not have of its own: it would not be called.
_OF_SITEMAPS = (
    *("prepare_items", "get_urls_for_item", "_get", "_location"),
    *("__getattribute__", "__getattr__"),
)
_OF_FIELDS = ("get_db_converters", "select_format", "get_col")
#: In what code differs that stands elsewhere in a file, or in another one.
_OF_PLACES = ("co_flags", "co_firstlineno", "co_linetable")
_REQUIRED = (related.ForwardManyToOneDescriptor, related.ForwardOneToOneDescriptor)
_PLAIN = (DeferredAttribute, related.ForeignKeyDeferredAttribute)
#: What methods may give beside columns, where that is not what a constant may be.
_CONSTANTS = {"location": (str, Route), "lastmod": (str, type(None))}
#: How deep methods may call each other.
_DEEP = 9


class NotColumns(Exception):
    """A method has to be called; the message says why."""


@dataclass(frozen=True)
class _Item:
    """An item, or the object to which its foreign keys lead."""

    model: type[Model]
    path: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Column:
    """A column of an item."""

    field: Any
    name: str


@dataclass
class _Frame:
    """A method that is being read, and what its names hold."""

    function: FunctionType
    names: dict[str, Any]

    def refused(self, node: ast.AST) -> NotColumns:
        """Return the error that names a word of the method, and where it stands."""
        code, text = self.function.__code__, ast.unparse(node).splitlines()[0]
        line = code.co_firstlineno + getattr(node, "lineno", 1) - 1
        place = f"{code.co_filename}:{line}"
        return NotColumns(f"{self.function.__qualname__}() has {text!r} ({place})")

    def is_global(self, name: str) -> bool:
        """Return whether the function finds a name outside of itself."""
        return name not in self.names and name not in self.function.__code__.co_varnames


@dataclass
class Methods:
    """The methods of a sitemap, read as expressions of ``rows``."""

    sitemap: AnySitemap
    rows: QuerySet[Any]
    routes: list[Route] = field(default_factory=list)
    #: The parameters of the route that are written with ``str()``.
    texts: list[Any] = field(default_factory=list)
    depth: int = 0

    def expression(self, name: str) -> Any:
        """Return the expression or constant that an attribute's method gives."""
        item = _Item(self.rows.model)
        value = self._call(type(self.sitemap), name, self.sitemap, item)
        if isinstance(value, _Column):
            if name == "lastmod" and not isinstance(value.field, DateField):
                raise NotColumns(f"lastmod() returns {value.name!r}, which is no date")
            return F(value.name)
        if type(value) not in _CONSTANTS.get(name, (str, int, float, type(None))):
            raise NotColumns(f"{name}() does not return a column")
        return value

    def _call(
        self, owner: type, name: str, *args: Any, is_property: bool = False
    ) -> Any:
        """Return what a method of a class gives, or a property."""
        function = found = getattr_static(owner, name, None)
        if is_property:
            function = getattr(found, "fget", None)
        if type(function) is not FunctionType:
            raise NotColumns(f"{owner.__name__}.{name} is not a plain method")
        code = function.__code__
        node = _syntax(code)
        if node is None:
            raise NotColumns(f"the source of {function.__qualname__}() is not at hand")
        frame = _Frame(function, dict(zip(code.co_varnames, args, strict=False)))
        decorators = [ast.unparse(one) for one in node.decorator_list]
        is_taken = code.co_argcount == len(args) and not code.co_kwonlyargcount
        variable = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS
        self.depth += 1
        if decorators != ["property"] * is_property or self.depth > _DEEP:
            raise frame.refused(node)
        if not is_taken or code.co_flags & variable or function.__closure__:
            raise frame.refused(node.args)
        for statement in node.body:
            match statement:
                case ast.Expr(ast.Constant(str())):
                    pass
                case ast.ImportFrom("django.urls", names, 0):
                    for one in names:
                        found = getattr(urls, one.name, None)
                        if found is not reverse and found is not reverse_lazy:
                            raise frame.refused(statement)
                        frame.names[one.asname or one.name] = found
                case ast.Assign([ast.Name(target)], value):
                    frame.names[target] = self._value(value, frame)
                case ast.Return(ast.expr() as value):
                    given = self._value(value, frame)
                    self.depth -= 1
                    return given
                case _:
                    raise frame.refused(statement)
        raise frame.refused(node)

    def _value(self, node: ast.expr, frame: _Frame) -> Any:
        """Return what a Python expression gives."""
        match node:
            case ast.Constant(value) if type(value) in (str, int, float, type(None)):
                return value
            case ast.Name(name) if name in frame.names:
                return frame.names[name]
            case ast.Name(name) if frame.is_global(name):
                found = frame.function.__globals__.get(name)
                if found is reverse or found is reverse_lazy:
                    return found
            case ast.Attribute(owner, name):
                item = self._value(owner, frame)
                if isinstance(item, _Item):
                    return self._attribute(item, name, node, frame)
            case ast.Call(ast.Attribute(owner, name), [], []):
                item = self._value(owner, frame)
                if isinstance(item, _Item):
                    self._check(item, name, node, frame)
                    return self._call(item.model, name, item)
            case ast.Call(
                function, [ast.Constant(str(name))], [ast.keyword() as given]
            ):
                reverses = self._value(function, frame)
                if reverses is reverse or reverses is reverse_lazy:
                    return self._route(name, given, frame)
        raise frame.refused(node)

    def _route(self, name: str, given: ast.keyword, frame: _Frame) -> Route:
        """Return the route of ``reverse(name, args=[…])``, or with ``kwargs``."""
        params: dict[Any, ast.expr] = {}
        match given:
            case ast.keyword("args", ast.List(values) | ast.Tuple(values)):
                params = dict(enumerate(values))
            case ast.keyword("kwargs", ast.Dict(keys, values)):
                for key, value in zip(keys, values, strict=True):
                    if not isinstance(key, ast.Constant) or type(key.value) is not str:
                        raise frame.refused(given)
                    params[key.value] = value
            case _:
                raise frame.refused(given)
        parts = {key: self._parameter(key, one, frame) for key, one in params.items()}
        route = Route(name, *parts.values()) if 0 in parts else Route(name, **parts)
        if route.is_literal:
            raise frame.refused(given)
        self.routes.append(route)
        return route

    def _parameter(self, key: Any, node: ast.expr, frame: _Frame) -> Any:
        """Return what a parameter of a route is given."""
        match node:
            case ast.Call(ast.Name("str"), [ast.Attribute() as column], []):
                is_ours = "str" in frame.function.__globals__
                if not is_ours and frame.is_global("str"):
                    self.texts.append(key)
                    node = column
        value = self._value(node, frame)
        if isinstance(value, _Column):
            return F(value.name)
        if type(value) not in (str, int) or key in self.texts:
            raise frame.refused(node)
        return value

    def _attribute(self, item: _Item, name: str, node: ast.expr, frame: _Frame) -> Any:
        """Return a column of an item, or the object of a required foreign key."""
        self._check(item, name, node, frame)
        if name == "pk":
            name = item.model._meta.pk.attname
        found = getattr_static(item.model, name, None)
        if type(found) is property:
            return self._call(item.model, name, item, is_property=True)
        path = (*item.path, name)
        columns = {one.attname: one for one in item.model._meta.concrete_fields}
        if type(found) in _PLAIN and name in columns and is_plain(columns[name]):
            return _Column(columns[name], "__".join(path))
        try:
            key = item.model._meta.get_field(name)
        except FieldDoesNotExist as error:
            raise frame.refused(node) from error
        rows: Any = self.rows
        # Of these the related object may be another than the one in the database.
        is_given = rows._prefetch_related_lookups or rows._known_related_objects
        if type(found) in _REQUIRED and _is_required(key) and not is_given:
            model: Any = key.related_model
            return _Item(model, path)
        raise frame.refused(node)

    def _check(self, item: _Item, name: str, node: ast.expr, frame: _Frame) -> None:
        """Refuse a model whose objects may have something else than their rows."""
        query = self.rows.query
        if "__".join((*item.path, name)) in {*query.annotations, *query.extra}:
            raise frame.refused(node)
        if what := _own(item.model, Model, _OF_MODELS):
            raise NotColumns(f"{item.model.__name__} has its own {what}")
        if pre_init.has_listeners(item.model) or post_init.has_listeners(item.model):
            raise NotColumns(f"{item.model.__name__} has receivers of its init signals")


def _own(given: object, base: type, names: Sequence[str]) -> str:
    """Return which attribute a class or an object does not have from ``base``."""
    for name in names:
        if getattr_static(given, name, None) is not getattr_static(base, name, None):
            return name
    return ""


def is_plain(column: Any) -> bool:
    """Return whether Django alone makes a column's value of what the driver gives."""
    return not hasattr(column, "from_db_value") and all(
        getattr(type(column), name).__module__.startswith("django.db.models.")
        for name in _OF_FIELDS
    )


def _is_required(key: Any) -> bool:
    """Return whether a field is a foreign key that always leads to an object."""
    is_key: bool = isinstance(key, ForeignKey)
    return (
        is_key
        and not key.null
        and key.db_constraint
        and not key.remote_field.parent_link
        and type(key.related_model._base_manager) is Manager
    )


@lru_cache(maxsize=1024)
def _syntax(code: CodeType) -> ast.FunctionDef | None:
    """Return the syntax of a function; None if its source is not what runs."""
    try:
        source = textwrap.dedent(inspect.getsource(code))
        (node,) = ast.parse(source).body
        compiled = compile(source, code.co_filename, "exec", dont_inherit=True)
    except (OSError, SyntaxError, TypeError, ValueError, IndexError):
        return None
    place: dict[str, Any] = {name: getattr(code, name) for name in _OF_PLACES}
    codes = [one for one in compiled.co_consts if isinstance(one, CodeType)]
    is_same = code in [one.replace(**place) for one in codes]
    return node if is_same and isinstance(node, ast.FunctionDef) else None


@dataclass(frozen=True)
class AsColumns:
    """A sitemap whose methods are read as columns; or why they are called."""

    sitemap: AnySitemap = None
    #: By attribute, the expression or constant in place of its method.
    expressions: dict[str, Any] = field(default_factory=dict)
    why: str = ""

    def __str__(self) -> str:
        """Say it in a sentence, for a command."""
        if self.why:
            return f"On the object path: {self.why}."
        read = [f"{name}() as {value!r}" for name, value in self.expressions.items()]
        if not read:
            return "On the row path: it declares no method."
        return f"Read as columns: {', '.join(read)}."


def as_columns(
    sitemap: AnySitemap,
    items: Callable[[], Any],
    compile_route: Callable[[Route], list[Any]],
) -> AsColumns:
    """
    Return how the methods of a sitemap are read.

    ``items`` is called only if there are methods. ``compile_route`` compiles a route in
    each context in which it is used. On the row path anyway, there are no expressions.
    """
    names = methods_of(sitemap)
    found: dict[str, Any] = {}
    if names:
        try:
            methods = Methods(sitemap, _rows(sitemap, names, items))
            found = {name: methods.expression(name) for name in names}
            _check_routes(methods, found.get("location"), compile_route)
        except (NotColumns, RouteError) as error:
            return AsColumns(why=str(error))
        sitemap = copy(sitemap)
        sitemap.__dict__.update(found)
    why = object_path_reason(sitemap)
    return AsColumns(why=why) if why else AsColumns(sitemap, found)


def _rows(
    sitemap: AnySitemap, names: list[str], items: Callable[[], Any]
) -> QuerySet[Any]:
    """Return the rows of a sitemap; raises ``NotColumns`` if objects are needed."""
    if not isinstance(sitemap, Sitemap):
        raise NotColumns(object_path_reason(sitemap))
    if not sitemap.read_columns:
        raise NotColumns("read_columns is False")
    if what := _own(sitemap, Sitemap, _OF_SITEMAPS):
        raise NotColumns(f"it overrides {what}()")
    for name in names:
        if name in MEDIA or name in vars(sitemap):
            raise NotColumns(f"{name}() is a method")
    rows = items()
    if not isinstance(rows, QuerySet) or is_evaluated(rows):
        raise NotColumns("items() does not return an unevaluated queryset")
    own: Any = rows
    if own._iterable_class is not ModelIterable or rows.query.combinator:
        raise NotColumns("items() does not return plain model instances")
    if type(rows.query) is not Query or _own(type(rows), QuerySet, _OF_QUERYSETS):
        raise NotColumns(f"{type(rows).__name__} reads rows in its own way")
    return rows


def _check_routes(
    methods: Methods, location: Any, compile_route: Callable[[Route], list[Any]]
) -> None:
    """Raise where ``reverse()`` may fail for another reason than a row's values."""
    if methods.routes != [location] * isinstance(location, Route):
        raise NotColumns("reverse() is called besides what is returned")
    for route in methods.routes:
        for compiled in compile_route(route):
            verbatim = dict(zip(route.expressions, compiled.verbatim, strict=True))
            if not all(verbatim[key] for key in methods.texts):
                raise NotColumns("the path converter does not get what str() returns")


def newest_in(sitemap: AnySitemap, items: Callable[[], Any]) -> tuple[Any, int] | None:
    """
    Return the newest lastmod of some items, and how many they are, by one query.

    None if lastmod is not a column, declared or read. Where it is read, an item without
    a date makes it unknown, as if its method was called.
    """
    lastmod = getattr(sitemap, "lastmod", None)
    is_declared = is_expression(lastmod)
    if is_declared:
        rows = items()
    elif is_method(lastmod):
        try:
            methods = Methods(sitemap, rows := _rows(sitemap, ["lastmod"], items))
            lastmod = methods.expression("lastmod")
        except NotColumns:
            return None
        if methods.routes or not isinstance(lastmod, F):
            return None
    else:
        return None
    found = rows.annotate(**{alias("lastmod"): lastmod}).aggregate(
        newest=Max(alias("lastmod")), dated=Count(alias("lastmod")), count=Count("*")
    )
    is_known = is_declared or found["dated"] == found["count"]
    return found["newest"] if is_known else None, found["count"]
