"""
Other packages' content: ready sitemap classes.

A module for each package, which imports that package. Nothing here is imported unless
the project does it.
"""
