"""
Rendering: rows or objects become entries.

The row path reads columns without model instances, the object path any Python
objects; both yield batches, whose text the serializer writes.
"""

from __future__ import annotations
