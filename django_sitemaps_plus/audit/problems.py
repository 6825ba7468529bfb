"""What a build noted of rows that it left out, sorted into kinds of findings."""

from __future__ import annotations

import re
from typing import Final

from django_sitemaps_plus.rendering.columns import OMITTED

from . import kinds

#: How the messages of ``protocol`` begin or what they have, and the kind that it is.
_KINDS: Final = (
    (re.compile(r"lastmod .*in the future"), kinds.FUTURE),
    (re.compile(r"location .*not a URL of http", re.DOTALL), kinds.FOREIGN_HOST),
    (re.compile(r"location .*session id", re.DOTALL), kinds.SESSION),
    (re.compile(r"location .*the folder of the sitemap", re.DOTALL), kinds.OUTSIDE),
    (re.compile(r"location "), kinds.BAD_URL),
    (re.compile(r"(?:lastmod|date) "), kinds.BAD_LASTMOD),
)
#: What an entry has besides its own location and date.
_MEDIA = re.compile(r"(?:images|videos|news|alternates)\b")
_SCHEMES = re.compile(r"location '(https?)://([^/'?]+).*not a URL of (https?)://(.+)\Z")


def kind_of(reason: str) -> str:
    """Return the kind of finding that a row is which was left out for a reason."""
    is_listed = reason.startswith(OMITTED)
    reason = reason.removeprefix(OMITTED)
    if _MEDIA.match(reason):
        return kinds.TAG_LEFT_OUT if is_listed else kinds.LEFT_OUT
    schemes = _SCHEMES.search(reason)
    if schemes and schemes[1] != schemes[3] and schemes[2].lower() == schemes[4]:
        return kinds.FOREIGN_SCHEME
    for pattern, kind in _KINDS:
        if pattern.search(reason):
            return kind
    return kinds.TAG_LEFT_OUT if is_listed else kinds.LEFT_OUT
