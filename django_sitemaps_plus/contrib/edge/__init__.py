"""Where others answer: files in a storage, and caches that are purged."""
