"""
What needs attention: one state of health of the site, its sections and its engines.

The admin, ``ping_sitemaps`` and ``sitemap_report`` ask here, so that all say the same.
"""
