"""System checks: what is wrong with settings and sitemaps, and what to type."""

from __future__ import annotations
