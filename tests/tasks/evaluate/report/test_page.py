import re
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tasks.evaluate.compare import Comparison
from tasks.evaluate.completions.page import PAGE_FILE
from tasks.evaluate.report.background import Background, Looks
from tasks.evaluate.report.page import draw, escaped, markdown, markdown_template, render
from tasks.evaluate.report.sentences import headline, warnings_of, when_margin_was_set
from tests.page_elements import PageElements
from tests.tasks.evaluate.small_comparison import HOSTILE, background, comparison


def page_of(compared: Comparison, around: Background) -> str:
    return render(compared, around, draw(compared))


@pytest.fixture(scope="module")
def page() -> str:
    return page_of(comparison(seeds=(7, 8), with_truth=True), background())


def test_text_of_a_model_stays_text(page: str) -> None:
    elements = PageElements(page)
    assert "script" not in elements.names
    assert "img" not in elements.names
    # Its own link, to the page beside it.
    assert elements.active == [("href", PAGE_FILE)]
    assert "&lt;script&gt;alert(1)" in page
    assert "{{ 7 * 7 }}" in page
    assert not re.search("[\u202e\x1b\ud800]", page)
    assert "␛[2J" in page and r"\u202e" in page
    assert "link" not in elements.names
    assert not re.search(r"@import|url\((?!#)", page)
    assert "default-src 'none'" in page


@pytest.fixture(scope="module")
def text() -> str:
    return markdown(comparison(seeds=(7, 8), with_truth=True), background())


def test_hostile_names_are_no_markup_and_answers_are_not_in_it(text: str) -> None:
    assert "melhor" not in text
    assert "pergunta" not in text
    assert HOSTILE not in text
    assert not re.search(r"(?<!\\)[<>`]", text.replace("\n> ", "\n"))
    assert "[d](" not in text
    assert not re.search("[\u202e\x1b\ud800]", text)


MARKS = st.text(st.sampled_from("aé1_*`[]()<>|~#&$\\! \n\u202e\x1b"), max_size=30)


def shown(markdown: str) -> str:
    """Return the text that a reader of Markdown shows; fails where it takes any of it for markup."""
    inline = MarkdownIt("commonmark").enable("strikethrough").parseInline(markdown)[0].children or []
    assert {token.type for token in inline} <= {"text", "text_special"}
    return "".join(token.content for token in inline)


@given(MARKS)
def test_a_template_shows_any_value_literally_but_those_marked_safe(text: str) -> None:
    plain = text.replace("\u202e", "\\u202e").replace("\x1b", "␛")
    assert shown(escaped(text)) == " ".join(plain.split())
    with TemporaryDirectory() as folder:
        file = Path(folder) / "some.md.j2"
        file.write_text("| {{ text }} | {{ worded(text) }} | {{ '**' | safe }} |", encoding="utf-8")
        found = markdown_template(file).render(text=text)
    assert found == f"| {escaped(text)} | {escaped(text)} | ** |"
    assert len(re.findall(r"(?<!\\)(?:\\\\)*\|", found)) == 4


def test_the_headline_follows_the_gate_and_its_scores_are_of_the_tasks_that_count() -> None:
    promoted = comparison()
    assert "may be promoted" in headline(promoted)
    assert "not ready for promotion" in headline(replace(promoted, gate=replace(promoted.gate, verdict="hold")))
    idle = replace(promoted.tasks["push"], verdict="not learned", mean_base=0.0, mean_tuned=1.0)
    both = headline(replace(promoted, tasks={**promoted.tasks, "churn": idle}))
    assert both.replace("on the tasks that count (push) ", "") == headline(promoted)


def test_a_margin_recorded_after_the_answers_is_reported_and_warned_of_in_any_time_zone() -> None:
    after = Looks(1, "2026-11-20T07:30:00-03:00", "2026-11-20T10:00:00+00:00", None)
    (warning,) = warnings_of(after, 0.05)
    assert "recorded after this challenger's answers" in warning
    assert "10:30:00 UTC, after its answers to this split were first drawn" in when_margin_was_set(after, 0.05)
