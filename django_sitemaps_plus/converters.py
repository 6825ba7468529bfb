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


class PageConverter:
    """The name of a registered section, a hyphen and digits."""

    regex = r"[\w-]+-[0-9]+"

    def to_python(self, value: str) -> tuple[str, str]:
        """Return name and digits; ``ValueError`` lets the next pattern try."""
        name, _, number = value.rpartition("-")
        try:
            # "news-2" may be a section beside "news".
            is_page = registry.has(name) and not registry.has(value)
        except ConfigurationError:
            is_page = False  # the view of a section says what is wrong
        if not is_page:
            raise ValueError(value)
        return name, number

    def to_url(self, value: tuple[str, int] | str) -> str:
        """Return the part of the address that names a page."""
        return value if isinstance(value, str) else f"{value[0]}-{value[1]}"


register_converter(PageConverter, "sitemaps_plus_page")
register("section", r"[\w-]+", registry.has)


def with_gz(route: str, view: View, name: str) -> list[URLPattern]:
    """Return the patterns of an address and of its gzipped twin."""
    return [
        path(route, view, name=name),
        path(f"{route}.gz", view, {"gz": True}, name=f"{name}-gz"),
    ]
