"""Pages as a whole, and rows that their builds left out."""

from __future__ import annotations

import re
from typing import Final

from django_sitemaps_plus.contrib.audit.kinds import _, error, warning
from django_sitemaps_plus.rendering.reader import Reader

from . import urls
from .lastmods import BAD_LASTMOD, FUTURE

NOT_BUILT = error(
    "A001",
    _("pages that were not built or are damaged, and so not checked"),
    _("run manage.py build_sitemaps"),
)
NOT_A_SITEMAP = error(
    "A002",
    _("invalid sitemaps"),
    _("correct the view or the template that writes them"),
)
TOO_LARGE = error(
    "A003",
    _("pages above the limits of 50,000 URLs, 1,000 news and 50 MB"),
    _("set a lower 'limit' on the sitemap class"),
)
LEFT_OUT = warning(
    "A004",
    _("rows that are left out"),
    _(
        "correct the rows or exclude them in items(), then run manage.py "
        "build_sitemaps --reconcile"
    ),
)
TAG_LEFT_OUT = warning(
    "A005",
    _("rows that are listed without a tag, because its value is illegal"),
    _("correct the values; each finding says what is wrong"),
)

#: How the messages of ``protocol`` begin, and the kind that it is. Those of what else
#: an entry has, such as images, begin with the name of that.
_KINDS: Final = (
    (re.compile(r"lastmod .*in the future"), FUTURE),
    (re.compile(r"(?:lastmod|date) "), BAD_LASTMOD),
)


def kind_of_row(reason: str) -> str:
    """Return the kind of finding that a row is which was left out for a reason."""
    other = TAG_LEFT_OUT if reason.startswith(Reader.OMITTED) else LEFT_OUT
    reason = reason.removeprefix(Reader.OMITTED)
    if reason.startswith("location "):
        return urls.kind_of_location(reason)
    return next((one for pattern, one in _KINDS if pattern.match(reason)), other)
