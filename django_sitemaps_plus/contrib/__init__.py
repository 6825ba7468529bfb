"""
What stands beside the core: apps, and ready sitemap classes of other packages.

An app is a folder that a project lists in ``INSTALLED_APPS``, and that nothing else
needs. A module is for another package, which it imports; the project imports it.
"""
