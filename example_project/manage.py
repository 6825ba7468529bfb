#!/usr/bin/env python
"""Run Django's commands on the example site."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run the command named on the command line."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "encyclopedia_site.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError:
        # The one mistake everybody makes once, so it gets a sentence of its own.
        sys.exit(
            "Django is not installed for this Python. In the repository's root type:\n"
            f"  {sys.executable} -m pip install ."
        )
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
