"""The admin of the sitemaps: lists, an overview, the story of a URL, readers."""
