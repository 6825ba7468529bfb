"""Serving: the documents at the addresses, the index, and where a URL is listed."""
