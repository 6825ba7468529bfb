"""Clients of search engines, without Django and without models. See ``base``."""
