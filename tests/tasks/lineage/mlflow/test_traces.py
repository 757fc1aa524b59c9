"""A trace's page shows a text as it is, whatever Markdown it contains."""

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tasks.lineage.mlflow.traces import as_code

HOSTILE = [
    "```sql\nSELECT 1;\n```",
    "<img src=x onerror=alert(1)> ![x](http://example.com/x.png)",
    "1. um\n\n\n   - dois *três* _quatro_ | a | b |\n|---|---|\n# fim",
    "  ` `` ``` \n````\n~~~",
    "",
]
TEXTS = st.text("ab `\\\n*_#>|-<[]()!&1.~\t{}", max_size=80) | st.text(max_size=80)


@settings(deadline=None, max_examples=300)
@given(TEXTS | st.sampled_from(HOSTILE))
def test_the_page_shows_every_text_as_it_is(text: str) -> None:
    kept = text.replace("\r\n", "\n").replace("\r", "\n").replace("\x00", "")
    (token,) = MarkdownIt("gfm-like", {"linkify": False}).parse(as_code(kept))
    assert token.type == "fence"
    assert token.content.removesuffix("\n").rstrip("\n") == kept.rstrip("\n")
