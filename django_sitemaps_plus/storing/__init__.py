"""Storing: a page's bytes as they lie in the database, and whether they are fresh."""
