"""Django's test runner, which also writes what became of each test."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

from django.test.runner import DiscoverRunner
from django.test.utils import iter_test_cases


class JsonRunner(DiscoverRunner):
    """Writes ``{test id: outcome}`` to the file that ``SUITE_REPORT`` names."""

    def run_suite(self, suite: Any, **kwargs: Any) -> Any:
        outcomes = {test.id(): "passed" for test in iter_test_cases(suite)}
        result = super().run_suite(suite, **kwargs)
        for test, text in [*result.failures, *result.errors]:
            # A part of a test, or the set-up of a class, has an id of its own.
            outcomes[getattr(test, "test_case", test).id()] = text
        for test, _ in result.skipped:
            outcomes[test.id()] = "skipped"
        Path(os.environ["SUITE_REPORT"]).write_text(json.dumps(outcomes))
        return result

    def suite_result(self, suite: Any, result: Any, **kwargs: Any) -> int:
        """Exit with 0: whoever reads the outcomes decides what they mean."""
        return 0
