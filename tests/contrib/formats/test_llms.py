"""llms.txt: a title, a summary, and links in Markdown."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.contrib.formats.llms import llms_txt

URL = "https://www.example.com/sitemap-a.xml"


def test_what_is_not_given_is_left_out() -> None:
    assert llms_txt("Example", "", []) == "# Example\n"
    text = f"# Example\n\n## Sitemaps\n\n- [Pages]({URL})\n"
    assert llms_txt("Example", "", [("Pages", URL, "")]) == text


@pytest.mark.parametrize(
    ("title", "written"),
    [("A\n# B", "A # B"), (" a\tb ", "a b"), ("[x](y)", r"\[x\](y)"), ("\\", r"\\")],
)
def test_no_text_can_leave_its_line_or_its_link(title: str, written: str) -> None:
    text = llms_txt("T", "", [(title, f"{URL}?(a)", "b\n- c")])
    assert text.endswith(f"- [{written}]({URL}?%28a%29): b - c\n")
    assert text.count("\n- ") == 1
