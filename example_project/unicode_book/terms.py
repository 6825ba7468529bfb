"""
Unicode's abbreviations in words.

https://www.unicode.org/reports/tr44/#Property_Value_Tables (categories, bidirectional
classes) and https://www.unicode.org/reports/tr11/ (East Asian widths).
"""

from __future__ import annotations

CATEGORIES = {
    "Lu": "letter, uppercase",
    "Ll": "letter, lowercase",
    "Lt": "letter, titlecase",
    "Lm": "letter, modifier",
    "Lo": "letter, other",
    "Mn": "mark, non-spacing",
    "Mc": "mark, spacing combining",
    "Me": "mark, enclosing",
    "Nd": "number, decimal digit",
    "Nl": "number, letter",
    "No": "number, other",
    "Pc": "punctuation, connector",
    "Pd": "punctuation, dash",
    "Ps": "punctuation, open",
    "Pe": "punctuation, close",
    "Pi": "punctuation, initial quote",
    "Pf": "punctuation, final quote",
    "Po": "punctuation, other",
    "Sm": "symbol, mathematics",
    "Sc": "symbol, currency",
    "Sk": "symbol, modifier",
    "So": "symbol, other",
    "Zs": "separator, space",
    "Zl": "separator, line",
    "Zp": "separator, paragraph",
    "Cf": "other, format",
}

BIDIRECTIONAL = {
    "L": "left to right",
    "R": "right to left",
    "AL": "right to left, Arabic letter",
    "EN": "European number",
    "ES": "European number separator",
    "ET": "European number terminator",
    "AN": "Arabic number",
    "CS": "common number separator",
    "NSM": "non-spacing mark",
    "BN": "boundary neutral",
    "B": "paragraph separator",
    "S": "segment separator",
    "WS": "white space",
    "ON": "other neutral",
    "LRE": "left-to-right embedding",
    "LRO": "left-to-right override",
    "RLE": "right-to-left embedding",
    "RLO": "right-to-left override",
    "PDF": "pop directional format",
    "LRI": "left-to-right isolate",
    "RLI": "right-to-left isolate",
    "FSI": "first strong isolate",
    "PDI": "pop directional isolate",
}

EAST_ASIAN_WIDTHS = {
    "F": "fullwidth",
    "H": "halfwidth",
    "W": "wide",
    "Na": "narrow",
    "A": "ambiguous",
    "N": "neutral",
}
