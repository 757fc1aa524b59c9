"""Any text is shown as it is, and commands neither Markdown nor a terminal."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tasks.evaluate.report.markdown import bullets, escaped, table

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


@pytest.mark.parametrize("name", ["sql_qa", "p gain (Holm)", "+0.125 to +0.188", "3" * 64])
def test_a_plain_name_stays_as_it_is(name: str) -> None:
    assert escaped(name) == name


@given(st.lists(st.tuples(MARKS, MARKS), max_size=3))
def test_a_table_has_the_cells_that_it_was_given(rows: list[tuple[str, str]]) -> None:
    lines = table(("what", "number"), rows).split("\n")
    assert lines[:2] == ["| what | number |", "| --- | ---: |"]
    assert len(lines) == 2 + len(rows)
    assert all(len(re.findall(r"(?<!\\)(?:\\\\)*\|", line)) == 3 for line in lines)


def test_columns_of_words_stand_on_the_left() -> None:
    assert table(("a", "b", "c"), [], words=2).split("\n")[1] == "| --- | --- | ---: |"


def test_a_sentence_is_one_bullet() -> None:
    assert bullets(["um *dois*", "três\nquatro"]) == "- um \\*dois\\*\n- três quatro"
