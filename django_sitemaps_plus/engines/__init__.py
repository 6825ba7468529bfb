"""How to tell one search engine what changed. No Django, no models: see ``base``."""
