"""
Serve the example site on a free port of the loopback interface.

Prints the site's address when it can be asked, and ends when its input does. The
server is the one that ``manage.py runserver`` runs.
"""

from __future__ import annotations

import os
import sys
import threading

from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application
from own_address import NAME

server = ThreadedWSGIServer(("127.0.0.1", 0), WSGIRequestHandler)
address = f"http://{NAME}:{server.server_port}"
os.environ["EXAMPLE_BASE_URL"] = address
os.environ["DJANGO_SETTINGS_MODULE"] = "encyclopedia_site.settings"
server.set_app(get_wsgi_application())
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdout.write(f"{address}\n")
sys.stdout.flush()
sys.stdin.read()
