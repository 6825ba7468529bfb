"""What the patterns of sitemaps are made of, for this app and others."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpResponseBase
from django.urls import URLPattern, path, register_converter
from django.urls.converters import StringConverter

from .exceptions import ConfigurationError
from .sitemaps.registry import registry

View = Callable[..., HttpResponseBase]


def register(name: str, regex: str, knows: Callable[[str], bool]) -> None:
    """
    Register a converter of what matches ``regex``, and is known.

    Anything else is tried with the next pattern, as ``ValueError`` says to Django.
    """

    def to_python(self: StringConverter, value: str) -> str:
        try:
            is_known = knows(value)
        except ConfigurationError:
            is_known = True  # the view says what is wrong
        if not is_known:
            raise ValueError(value)
        return value

    members = {"regex": regex, "to_python": to_python}
    converter = type(f"{name.capitalize()}Converter", (StringConverter,), members)
    register_converter(converter, f"sitemaps_plus_{name}")


def _is_page(name: str) -> bool:
    """Return whether a name is a section's, a hyphen and digits."""
    # "news-2" may be a section beside "news".
    return registry.has(name.rpartition("-")[0]) and not registry.has(name)


register("page", r"[\w-]+-[0-9]+", _is_page)
register("section", r"[\w-]+", registry.has)


def with_gz(route: str, view: View, name: str) -> list[URLPattern]:
    """Return the patterns of an address and of its gzipped twin."""
    return [
        path(route, view, name=name),
        path(f"{route}.gz", view, {"gz": True}, name=f"{name}-gz"),
    ]
