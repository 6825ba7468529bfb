"""Projects with tenants: schemas of django-tenants, and databases."""
