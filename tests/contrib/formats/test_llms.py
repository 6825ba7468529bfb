"""llms.txt: a title, a summary, and links in Markdown."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.contrib.formats.llms import llms_txt

URL = "https://www.example.com/sitemap-a.xml"


def test_sections_are_links_with_their_descriptions() -> None:
    links = [("Articles", URL, "All of them."), ("Pages", URL, "")]
    assert llms_txt("Example", "News.", links) == (
        "# Example\n\n> News.\n\n## Sitemaps\n\n"
        f"- [Articles]({URL}): All of them.\n- [Pages]({URL})\n"
    )


def test_only_the_title_is_needed() -> None:
    assert llms_txt("Example", "", []) == "# Example\n"


@pytest.mark.parametrize(
    ("title", "written"),
    [("A\n# B", "A # B"), (" a\tb ", "a b"), ("[x](y)", r"\[x\](y)"), ("\\", r"\\")],
)
def test_no_text_can_leave_its_line_or_its_link(title: str, written: str) -> None:
    text = llms_txt("T", "", [(title, f"{URL}?(a)", "b\n- c")])
    assert text.endswith(f"- [{written}]({URL}?%28a%29): b - c\n")
    assert text.count("\n- ") == 1
