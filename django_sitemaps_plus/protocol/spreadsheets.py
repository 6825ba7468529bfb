"""What a cell of a CSV file may have: spreadsheets take some texts for formulas."""

from __future__ import annotations

import re

#: Where a spreadsheet may take what follows for a formula: a cell begins there, or one
#: would if the semicolon separated cells, as it does where a comma is in numbers.
#: Full-width signs count as others in East Asian versions.
_FORMULA = re.compile(r'(^|[;\t\r\n]"*)(?=[=+\-@\uff1d\uff0b\uff0d\uff20\t\r])')


def cell(value: object) -> str:
    """Return a text that no spreadsheet takes for a formula; empty for None."""
    return "" if value is None else _FORMULA.sub(r"\1'", str(value))
