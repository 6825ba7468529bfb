"""Tenants at the address of another, as of a project that has them in subfolders."""

from __future__ import annotations

from django_sitemaps_plus.contrib.django_tenants import Schemas


class Elsewhere(Schemas):
    def base_url(self, key: str) -> str | None:
        return "https://t011.example.com"
