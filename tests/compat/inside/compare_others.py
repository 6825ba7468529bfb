"""Write as JSON which rows of packages are listed otherwise than by contrib."""

from __future__ import annotations

import json
import sys
from xml.etree import ElementTree

import django
from django.conf import settings

PACKAGES = (
    *("modeltranslation", "modeltrans", "parler", "reversion", "polymorphic"),
    *("treebeard", "mptt", "django_hosts", "safedelete", "import_export"),
)
settings.configure(
    SECRET_KEY="of a test",
    ALLOWED_HOSTS=["www.example.com"],
    INSTALLED_APPS=[
        *("django.contrib.contenttypes", "django.contrib.auth"),
        *("django.contrib.sitemaps", "django_sitemaps_plus", *PACKAGES, "others"),
    ],
    MIDDLEWARE=[
        "django_hosts.middleware.HostsRequestMiddleware",
        "django_hosts.middleware.HostsResponseMiddleware",
    ],
    ROOT_URLCONF="others.urls",
    ROOT_HOSTCONF="others.hosts",
    DEFAULT_HOST="www",
    LANGUAGE_CODE="en",
    # Contrib says the day there, and we the time in UTC.
    TIME_ZONE="UTC",
    LANGUAGES=[("en", "English"), ("de", "German")],
    PARLER_LANGUAGES={None: ({"code": "en"}, {"code": "de"})},
    TEMPLATES=[
        {"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}
    ],
    DATABASES={
        "default": {"ENGINE": "django.db.backends.sqlite3", "NAME": "db.sqlite3"}
    },
    MIGRATION_MODULES={"others": None},
    SITEMAPS_PLUS={
        "BASE_URL": "https://www.example.com",
        "SITEMAPS": "others.sitemaps.registered",
        "BACKGROUND": False,
    },
)
django.setup()

import reversion  # noqa: E402 (after the setup)
import tablib  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.test import Client  # noqa: E402
from import_export.resources import ModelResource  # noqa: E402
from others import models, sitemaps  # noqa: E402
from reversion.models import Version  # noqa: E402


def listed(address):
    """Return the entries of a sitemap, in order: URL, and the day of its lastmod."""
    response = Client(headers={"host": "www.example.com"}).get(address, secure=True)
    if response.status_code != 200:
        return [str(response.status_code)]
    root = ElementTree.fromstring(response.content)  # noqa: S314 (our own)
    return sorted(
        f"{entry.findtext('{*}loc')} {entry.findtext('{*}lastmod', '')[:10]}"
        for entry in root.findall("{*}url")
    )


def different():
    """Return what is listed otherwise than by contrib, by section."""
    found = {}
    for name in sitemaps.of_contrib:
        expected = listed(f"/contrib/sitemap-{name}.xml")
        assert len(expected) > 1, name
        ours = {name, f"{name}-row"} & set(sitemaps.registered)
        for address in [
            f"/import/sitemap-{name}",
            *(f"/sitemap-{one}" for one in ours),
        ]:
            if (shown := listed(f"{address}.xml")) != expected:
                found[address] = {"contrib": expected, "here": shown}
    return found


class ImportedResource(ModelResource):
    class Meta:
        model = models.Imported
        fields = import_id_fields = ("slug",)


def imports(*slugs):
    rows = tablib.Dataset(*[(slug,) for slug in slugs], headers=["slug"])
    ImportedResource().import_data(rows, raise_errors=True)


def first():
    """Save rows as each package does."""
    for slug in ("rain", "sun", "snow"):
        for model in (models.Translated, models.Json):
            model.objects.create(slug=slug, title=slug)
        models.Parler.objects.language("en").create(slug=slug)
        with reversion.create_revision():
            models.Versioned.objects.create(slug=slug)
        models.Category.objects.create(
            slug=slug, parent=models.Category.objects.first()
        )
        models.Film.objects.create(slug=slug)
        models.Node.objects.add_root({"slug": slug})
        models.Genre.objects.create(slug=slug, parent=models.Genre.objects.first())
        models.Document.objects.create(slug=slug)
    imports("rain", "sun")


def then():
    """Change some, also past ``save()``."""
    for model in (models.Translated, models.Json, models.Category, models.Film):
        item = model.objects.get(slug="sun")
        item.slug = "shine"
        item.save()
    item = models.Parler.objects.language("en").get(translations__slug="sun")
    item.slug = "shine"
    item.save()
    with reversion.create_revision():
        item = models.Versioned.objects.get(slug="sun")
        item.slug = "shine"
        item.save()
    for name in ("versioned", "versioned-row"):
        assert "shine" in str(listed(f"/sitemap-{name}.xml"))
    Version.objects.get_for_object(item).last().revision.revert()
    root = models.Node.objects.get(slug="rain")
    models.Node.objects.add_child(root, {"slug": "hail"})
    models.Genre.objects.get(slug="sun").move_to(None)
    models.Genre.objects.get(slug="snow").delete()
    models.Document.objects.get(slug="sun").delete()
    imports("hail")


call_command("migrate", run_syncdb=True, verbosity=0)
first()
call_command("check", databases=["default"])
call_command("build_sitemaps", verbosity=0)
found = {"built": different()}
then()
found["changed"] = different()
sys.stdout.write(f"\n{json.dumps(found)}")
