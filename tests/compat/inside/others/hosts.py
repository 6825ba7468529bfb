from __future__ import annotations

from django_hosts import host, patterns

host_patterns = patterns("", host("www", "others.urls", name="www"))
