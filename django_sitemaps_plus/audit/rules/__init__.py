"""
Rules: what is wrong with documents, with their entries, and with the answers of URLs.

They look at what they are given, open nothing, and know nothing of sections.
"""

from __future__ import annotations
