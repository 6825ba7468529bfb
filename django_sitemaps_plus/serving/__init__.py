"""Serving: the documents at the addresses, the index and robots.txt."""
