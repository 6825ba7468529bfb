"""
The audit: what is wrong in sections, and on the pages that they list.

What is wrong with what they list, with its rows and with what its URLs answer.
Which expression or ``Route`` could stand for a method, proved on every row, so
that a section reaches the row path. What a former sitemap listed, and ours does not.
How the sitemaps arrive at a crawler.
"""
