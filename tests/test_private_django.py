"""
What the package uses of Django that its documentation does not promise.

Whoever ports to a new Django looks each of these up there, since it may have changed
without a release note, and then adds the version to ``LOOKED_UP_IN``.
"""

from __future__ import annotations

import ast
import inspect
import re
from collections import defaultdict
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import django
import pytest
from django.utils.module_loading import import_string

from tests.test_rooms import PACKAGE

#: The versions of Django that have each of these, and with which all tests run.
LOOKED_UP_IN = {(5, 2), (6, 0), (6, 1)}

#: Where each is in Django, its name, and the modules that use it. A name that others
#: have too follows the name of what it is an attribute of.
PRIVATE: dict[str, dict[str, str]] = {
    "django.contrib.admin.options": {
        "IncorrectLookupParameters": "contrib/insight/admin/base"
    },
    "django.contrib.admin.options.BaseModelAdmin": {
        "has_view_or_change_permission": "contrib/insight/admin/story"
    },
    "django.contrib.admin.options.ModelAdmin": {
        "changeform_view": "contrib/insight/admin/base",
        "get_changelist_instance": "contrib/insight/admin/base",
    },
    "django.contrib.admin.filters.SimpleListFilter": {
        "lookup_choices": "contrib/insight/admin/base"
    },
    "django.contrib.admin.sites.AdminSite": {
        "_registry": "contrib/insight/admin/story"
    },
    "django.apps.registry.Apps": {"apps_ready": "conf hooks"},
    "django.contrib.sitemaps.Sitemap": {
        "get_domain": "sitemaps/sections",
        "_urls": "checks/attributes checks/locations sitemaps/sections",
        "sitemap._get": "rendering/reader",
        "_languages": (
            "changes/dependencies checks/locations checks/sections "
            "rendering/related_rows sitemaps/attributes sitemaps/sections"
        ),
        "_location": (
            "checks/locations rendering/reader sitemaps/as_columns sitemaps/classes "
            "sitemaps/sections"
        ),
    },
    "django.core.checks.CheckMessage": {
        "is_silenced": "contrib/audit/management/commands/check_sitemaps"
    },
    "django.core.management.base.BaseCommand": {"run_from_argv": "management/utils"},
    "django.conf.urls.i18n": {"is_language_prefix_patterns_used": "sitemaps/site"},
    "django.core.handlers.base": {"BaseHandler": "contrib/audit/sides"},
    "django.core.handlers.base.BaseHandler": {
        "load_middleware": "contrib/audit/sides",
        "process_exception_by_middleware": "contrib/audit/sides",
        "resolve_request": "contrib/audit/sides",
    },
    "django.db.backends.base.base.BaseDatabaseWrapper": {
        "_prepare_cursor": "db",
        "atomic_blocks": "changes/recorder",
        "close_if_unusable_or_obsolete": "building/pages db",
        "ensure_connection": "db",
        "get_connection_params": "db",
        "in_atomic_block": (
            "building/page_build building/pages changes/hints changes/recorder db "
            "delivery/engines hooks"
        ),
        "is_usable": "building/pages changes/hints",
        "needs_rollback": "db",
        "run_on_commit": "changes/recorder",
        "savepoint_ids": "changes/recorder",
        "settings_dict": "db",
        "timezone_name": "rendering/row_path",
        "wrap_database_errors": "db",
    },
    "django.db.backends.base.features.BaseDatabaseFeatures": {
        "has_select_for_update": "pagination/models",
        "has_select_for_update_skip_locked": "pagination/models",
    },
    "django.db.backends.base.introspection.BaseDatabaseIntrospection": {
        "table_names": "checks/database db"
    },
    "django.db.backends.base.operations.BaseDatabaseOperations": {
        "quote_name": "contrib/wagtail pagination/places"
    },
    "django.db.backends.sqlite3.base.DatabaseWrapper": {
        "is_in_memory_db": "delivery/engines"
    },
    "django.db.migrations.executor": {"MigrationExecutor": "checks/database"},
    "django.db.migrations.executor.MigrationExecutor": {
        "migration_plan": "checks/database"
    },
    "django.db.migrations.graph.MigrationGraph": {"leaf_nodes": "checks/database"},
    "django.db.models.expressions": {
        "Col": "changes/dependencies checks/sections sitemaps/attributes",
        "Combinable": "changes/schedule",
        "CombinedExpression": "changes/schedule",
    },
    "django.db.models.expressions.BaseExpression": {
        "get_db_converters": "rendering/row_path sitemaps/attributes"
    },
    "django.db.models.fields.related_descriptors": {
        "ForeignKeyDeferredAttribute": "sitemaps/as_columns",
        "ForwardManyToOneDescriptor": "sitemaps/as_columns",
        "ForwardOneToOneDescriptor": "sitemaps/as_columns",
    },
    "django.db.models.lookups": {"IsNull": "checks/sections"},
    "django.db.models.options.Options": {
        "concrete_model": "changes/dependencies changes/receivers",
        "get_parent_list": "changes/dependencies",
        "local_concrete_fields": "changes/dependencies checks/recording",
        "total_unique_constraints": "contrib/insight/lookup",
    },
    "django.db.models.query": {"ModelIterable": "sitemaps/as_columns"},
    "django.db.models.query.QuerySet": {
        "_annotate": "sitemaps/as_columns",
        "_chain": "sitemaps/as_columns",
        "_clone": "sitemaps/as_columns",
        "_db": "checks/recording sitemaps/keys sitemaps/sections sitemaps/site_rows",
        "_fetch_all": "sitemaps/as_columns",
        "items._fields": "checks/locations sitemaps/classes sitemaps/sections",
        "_hints": "sitemaps/keys",
        "_iterable_class": "sitemaps/as_columns",
        "_known_related_objects": "sitemaps/as_columns",
        "_prefetch_related_lookups": "sitemaps/as_columns",
        "_result_cache": "sitemaps/classes",
        "_values": (
            "building/new_pages building/page_build contrib/audit/comparison "
            "sitemaps/as_columns sitemaps/compiled_routes"
        ),
    },
    "django.db.models.query_utils": {"DeferredAttribute": "sitemaps/as_columns"},
    "django.db.models.sql": {
        "DeleteQuery": "prepared",
        "InsertQuery": "prepared",
        "UpdateQuery": "prepared",
    },
    "django.db.models.sql.compiler.SQLCompiler": {
        "get_converters": "prepared rendering/statements"
    },
    "django.db.models.sql.constants": {"LOUTER": "checks/sections"},
    "django.db.models.sql.datastructures": {"Join": "checks/sections"},
    "django.db.models.sql.datastructures.Join": {
        "filtered_relation": "changes/dependencies",
        "join_cols": "changes/dependencies",
        "join_field": "changes/dependencies checks/sections",
        "join_type": "checks/sections",
        "parent_alias": "changes/dependencies checks/sections",
    },
    "django.db.models.sql.query.Query": {
        "alias_map": "changes/dependencies checks/sections",
        "query.annotations": (
            "changes/dependencies checks/sections prepared rendering/related_rows "
            "rendering/row_path sitemaps/as_columns sitemaps/attributes "
            "sitemaps/news sitemaps/sections"
        ),
        "annotation_select": (
            "checks/sections rendering/related_rows rendering/row_path"
        ),
        "chain": "prepared sitemaps/keys",
        "combinator": (
            "changes/touch checks/sections sitemaps/as_columns sitemaps/classes "
            "sitemaps/sections"
        ),
        "default_ordering": "checks/sections",
        "distinct_fields": "changes/touch sitemaps/classes sitemaps/sections",
        "query.extra": "sitemaps/as_columns",
        "get_compiler": "prepared rendering/statements sitemaps/attributes",
        "group_by": "checks/sections sitemaps/classes",
        "is_sliced": "changes/touch sitemaps/classes sitemaps/sections",
        "query.order_by": "checks/sections",
        "standard_ordering": "sitemaps/keys",
        "query.where": "changes/dependencies checks/sections sitemaps/sections",
    },
    "django.db.models.sql.subqueries.InsertQuery": {"insert_values": "prepared"},
    "django.db.models.sql.subqueries.UpdateQuery": {"add_update_values": "prepared"},
    "django.db.models.sql.where": {
        "AND": "checks/sections",
        "OR": "checks/sections",
        "WhereNode": "checks/sections",
    },
    "django.db.transaction.Atomic": {"_from_testcase": "changes/recorder"},
    "django.db.utils.ConnectionHandler": {
        "close_all": "delivery/engines delivery/thread"
    },
    "django.db.utils.ConnectionRouter": {"allow_migrate_model": "db"},
    "django.dispatch.Signal": {
        "has_listeners": (
            "contrib/edge/documents delivery/announcing delivery/gate "
            "management/commands/ping_sitemaps sitemaps/as_columns"
        )
    },
    "django.http.request": {
        "split_domain_port": "contrib/audit/management/fetching",
        "validate_host": "contrib/audit/management/fetching",
    },
    "django.http.response": {"ResponseHeaders": "serving/responses"},
    "django.http.response.ResponseHeaders": {"headers.__class__": "serving/responses"},
    "django.urls": {
        "URLPattern": "contrib/formats/hooks contrib/formats/urls converters hooks",
        "URLResolver": (
            "contrib/audit/sides contrib/formats/hooks contrib/formats/urls hooks "
            "sitemaps/routes sitemaps/site sitemaps/url_patterns"
        ),
        "get_ns_resolver": "sitemaps/url_patterns",
        "get_resolver": (
            "checks/registration contrib/audit/sides sitemaps/routes sitemaps/site"
        ),
        "get_urlconf": "sitemaps/routes sitemaps/site",
        "set_script_prefix": "sitemaps/site",
        "set_urlconf": "sitemaps/site",
    },
    "django.urls.converters": {
        "DEFAULT_CONVERTERS": "sitemaps/url_patterns",
        "StringConverter": "converters",
    },
    "django.urls.resolvers.ResolverMatch": {"_func_path": "health/answering"},
    "django.urls.resolvers.URLPattern": {
        "default_args": "checks/registration contrib/audit/sides"
    },
    "django.urls.resolvers.URLResolver": {
        "app_dict": "sitemaps/url_patterns",
        "default_kwargs": "checks/registration",
        "namespace_dict": "sitemaps/site sitemaps/url_patterns",
        "reverse_dict": "sitemaps/site sitemaps/url_patterns",
        "url_patterns": "checks/registration contrib/audit/sides",
        "urlconf_module": "checks/registration",
    },
    "django.utils.asyncio": {"async_unsafe": "changes/touch"},
    "django.utils.cache": {"get_conditional_response": "serving/responses views"},
    "django.utils.formats": {"number_format": "health/words"},
    "django.utils.http": {
        "RFC3986_SUBDELIMS": "sitemaps/url_patterns",
        "escape_leading_slashes": "sitemaps/compiled_routes sitemaps/url_patterns",
    },
    "django.utils.module_loading": {"module_has_submodule": "apps checks/__init__"},
    "django.utils.translation": {
        "get_language_from_path": "contrib/audit/sides sitemaps/site"
    },
    "django.utils.translation.trans_real": {"language_code_re": "checks/locations"},
}
LISTED = {name for names in PRIVATE.values() for name in names}

#: Documented in spite of their names; or Python's, of named tuples.
PUBLIC = {"_meta", "_base_manager", "_default_manager", "_asdict", "_fields", "_make"}


def _uses(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield names that may be Django's, attributes also with what they are read of."""
    for node in nodes:
        match node:
            case ast.Attribute(attr="__class__", ctx=ast.Load()):
                pass
            case ast.Attribute(value=value, attr=name):
                yield name
                yield f"{getattr(value, 'attr', getattr(value, 'id', ''))}.{name}"
            case ast.ImportFrom(module=str(module)) if module.startswith("django."):
                yield from (one.name for one in node.names)
            case ast.Call(
                func=ast.Name(id="getattr" | "hasattr"),
                args=[_, ast.Constant(value=str(name)), *_],
            ):
                yield name
            case ast.Constant(value=str(name)) if name[:1] == "_" and name in LISTED:
                yield name


def _own(nodes: list[ast.AST]) -> Iterator[str]:
    """Yield the names that a module gives to something."""
    for node in nodes:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.Name(id=name, ctx=ast.Store()):
                yield name
            case ast.Attribute(attr=name, ctx=ast.Store()):
                yield name


def _is_private(name: str) -> bool:
    return name.endswith(".__class__") or bool(re.fullmatch("_[^_.][^.]*", name))


def test_what_is_used_is_listed_and_what_is_listed_is_used() -> None:
    used, own = defaultdict[str, set[str]](set), set(PUBLIC)
    for path in PACKAGE.rglob("*.py"):
        nodes = list(ast.walk(ast.parse(path.read_text())))
        own.update(_own(nodes))
        for name in _uses(nodes):
            used[name].add(path.relative_to(PACKAGE).with_suffix("").as_posix())
    listed = {
        name: set(modules.split())
        for names in PRIVATE.values()
        for name, modules in names.items()
    }
    private = LISTED | {name for name in used if _is_private(name) and name not in own}
    assert {name: used[name] for name in private} == listed


def _found(where: str) -> Any:
    """Return a module of Django, or a class of one."""
    try:
        return import_module(where)
    except ModuleNotFoundError:
        return import_string(where)


@pytest.mark.parametrize("where", PRIVATE)
def test_django_has_what_is_listed(where: str) -> None:
    found = _found(where)
    source = inspect.getsource(found)
    for listed in PRIVATE[where]:
        name = listed.rpartition(".")[2]
        # Not on the class, where each object is given its own.
        assert hasattr(found, name) or f"self.{name} = " in source, name


def test_each_was_looked_up_in_the_installed_version() -> None:
    assert django.VERSION[:2] in LOOKED_UP_IN
