"""
For a project's own tests, with unittest and with pytest.

::

    from django_sitemaps_plus import testing

    testing.deliver()
    assert (f"https://www.example.com{url}", "added") in testing.sent()

The engines are those that the settings name, by their aliases. They are created
again whenever a test overrides ``SITEMAPS_PLUS``.
"""

from __future__ import annotations

from django_sitemaps_plus.delivery.dispatcher import DeliveryOptions

from .delivery.background import prepare, send_due
from .delivery.engines import engines
from .engines.memory import Memory
from .exceptions import ConfigurationError
from .hooks import Report
from .sitemaps.site import Site, address_advice

__all__ = ["deliver", "engines", "sent"]


def deliver() -> Report:
    """
    Do what the background does: rebuild pages whose rows changed, and notify engines.

    For the current site. DEBUG, a private address and a closed robots.txt do not keep
    it from that. Returns what each engine was sent. Raises ``ConfigurationError`` while
    the site's address is not known.
    """
    site = Site.current().address()
    if site is None:
        raise ConfigurationError(f"The site's address is not known. {address_advice()}")
    prepare(site)
    return send_due(DeliveryOptions(force=True))


def sent() -> list[tuple[str, str]]:
    """
    Return what the engines ``Memory`` were sent: each URL, and what happened to it.

    That is "added", "changed", "removed" or "requested", or "sitemap" for a sitemap.
    """
    memories = [one for one in engines().values() if isinstance(one, Memory)]
    batches = [batch for memory in memories for batch in memory.sent]
    return [pair for one in batches for pair in zip(one.urls, one.kinds, strict=True)]
