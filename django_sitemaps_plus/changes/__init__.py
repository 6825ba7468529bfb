"""
Changes: what was saved or deleted, and what that means for URLs.

Receivers note it, each change is assigned to its page, and what happened to URLs
(added, changed, removed) is written down for the engines.
"""
