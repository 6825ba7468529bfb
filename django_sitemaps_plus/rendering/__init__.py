"""
Rendering: rows or objects become entries.

The row path reads columns without model instances, the object path any Python
objects; both give batches, which the serializer writes as text.
"""

from __future__ import annotations
