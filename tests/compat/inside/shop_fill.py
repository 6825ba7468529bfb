"""Fill the shop's shelves."""

from __future__ import annotations

import django

django.setup()

from django.contrib.sites.models import Site  # noqa: E402 (after the setup)
from oscar.core.loading import get_model  # noqa: E402 (after the setup)

Category = get_model("catalogue", "Category")
Product = get_model("catalogue", "Product")
ProductClass = get_model("catalogue", "ProductClass")

Site.objects.update_or_create(pk=1, defaults={"domain": "www.example.com"})
books = ProductClass.objects.create(name="Book")
for number in range(40):
    Product.objects.create(
        title=f"Bücher & <more> {number}", product_class=books, upc=f"upc-{number}"
    )
hidden = Product.objects.create(title="Hidden", product_class=books, is_public=False)
for name in ("Fiction", "Größe"):
    Category.add_root(name=name).add_child(name=f"Below {name}")
