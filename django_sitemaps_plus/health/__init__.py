"""
What needs attention: one state of health of the site, its sections and its engines.

The admin, ``ping_sitemaps`` and what monitors the site ask here, so
that all say the same.
"""
