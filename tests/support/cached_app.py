"""
The site of ``server_app`` behind a cache, in several languages.

The receiver is that of docs/edge.md, and ``VARNISH`` in the environment the address
of the cache.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any
from wsgiref.simple_server import make_server

from tests.support import server_app  # first: it changes the settings

# isort: split
from django.conf import settings
from django.core.wsgi import get_wsgi_application

DOCS = Path(__file__).parent.parent.parent / "docs" / "edge.md"

settings.MIDDLEWARE = ["django.middleware.locale.LocaleMiddleware"]
settings.VARNISH = [os.environ["VARNISH"]]
application = get_wsgi_application()

[_block] = re.findall(
    r"^```python\n((?:(?!^```).)*def purge_varnish\(.*?)^```$",
    DOCS.read_text(),
    re.MULTILINE | re.DOTALL,
)
#: What the code of the documentation defines: the receiver is connected weakly.
known: dict[str, Any] = {"server_app": server_app}
exec(_block, known)  # noqa: S102 (our own)


def serve(port: int) -> None:
    """Serve the site by one process with one thread for requests."""
    make_server("127.0.0.1", port, application).serve_forever()
