"""Any text is shown as it is, and commands neither Markdown nor a terminal."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tasks.evaluate.report.page import escaped, markdown_template

MARKS = st.text(st.sampled_from("aé1_*`[]()<>|~#&$\\! \n\u202e\x1b"), max_size=30)


def shown(markdown: str) -> str:
    """Return the text that a reader of Markdown shows; fails where it takes any of it for markup."""
    inline = MarkdownIt("commonmark").enable("strikethrough").parseInline(markdown)[0].children or []
    assert {token.type for token in inline} <= {"text", "text_special"}
    return "".join(token.content for token in inline)


@given(MARKS)
def test_a_hostile_text_is_shown_and_is_no_markup(text: str) -> None:
    assert "\n" not in escaped(text)
    assert not re.search("[\u202e\x1b]", escaped(text))
    plain = text.replace("\u202e", "\\u202e").replace("\x1b", "␛")
    assert shown(escaped(text)) == " ".join(plain.split())


@given(MARKS)
def test_a_template_shows_any_value_literally_but_those_marked_safe(text: str) -> None:
    with TemporaryDirectory() as folder:
        file = Path(folder) / "some.md.j2"
        file.write_text("| {{ text }} | {{ worded(text) }} | {{ '**' | safe }} |", encoding="utf-8")
        found = markdown_template(file).render(text=text)
    assert found == f"| {escaped(text)} | {escaped(text)} | ** |"
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", found)) == 4
