"""A trace's page shows a text as it is, whatever Markdown it contains."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tasks.lineage.mlflow.traces import CUT_OFF, EMPTY, PREVIEW_CHARACTERS, as_preview

HOSTILE = [
    '{"a": 1.0, "a": 2}',
    "```sql\nSELECT 1;\n```",
    "<img src=x onerror=alert(1)> ![x](http://example.com/x.png)",
    "1. um\n\n\n   - dois *três* _quatro_ | a | b |\n|---|---|\n# fim",
    "  ` `` ``` ",
    "\\",
    "",
]


def as_page_shows(markdown: str) -> str:
    """Return the text that a reader of rendered Markdown sees; only code and line breaks are let through."""
    tokens = MarkdownIt("gfm-like", {"linkify": False}).parse(markdown)
    assert [token.type for token in tokens] == ["paragraph_open", "inline", "paragraph_close"]
    parts = tokens[1].children or []
    assert {part.type for part in parts} <= {"code_inline", "hardbreak"}
    return "".join("\n" if part.type == "hardbreak" else part.content for part in parts)


MARKS = "ab `\\\n*_#>|-<[]()!&1.~\t{}"
TEXTS = st.text(MARKS, max_size=80) | st.text(max_size=80) | st.sampled_from(HOSTILE)


@settings(deadline=None, max_examples=300)
@given(TEXTS)
def test_the_page_shows_every_text_as_it_is(text: str) -> None:
    kept = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    if not kept.strip("\n"):
        assert as_preview(kept) == EMPTY
    else:
        assert as_page_shows(as_preview(kept)) == kept.rstrip("\n")


@pytest.mark.parametrize("text", ["x" * 5000, "`" * 1500, "linha\n" * 900, "` x `` " * 300])
def test_a_text_that_a_preview_cannot_hold_is_cut_off_and_says_so(text: str) -> None:
    preview = as_preview(text)
    assert len(preview) <= PREVIEW_CHARACTERS
    assert preview.endswith(CUT_OFF)
    shown = as_page_shows(preview.removesuffix(CUT_OFF))
    assert len(shown) > 400
    assert text.startswith(shown)
