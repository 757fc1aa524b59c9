import re
from html.parser import HTMLParser
from typing import Final

import pytest

from tasks.evaluate.compare import Comparison
from tasks.evaluate.completions.page import PAGE_FILE
from tasks.evaluate.report.background import Background
from tasks.evaluate.report.page import draw, markdown, render
from tests.tasks.evaluate.small_comparison import (
    HOSTILE,
    background,
    claimed,
    comparison,
    laddered,
)

CLOSED_BY_NOBODY: Final = {"meta", "br"}


def page_of(compared: Comparison, around: Background) -> str:
    return render(compared, around, draw(compared))


@pytest.fixture(scope="module")
def page() -> str:
    return page_of(comparison(seeds=(7, 8), with_truth=True), background())


class Elements(HTMLParser):
    """Collects the elements' names, unnamed pictures, and every attribute that could fetch or run something."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.active: list[tuple[str, str | None]] = []
        self.unnamed_pictures = 0
        self.open: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        if tag not in CLOSED_BY_NOBODY:
            self.open.append(tag)
        if tag == "svg" and not dict(attributes).get("aria-label"):
            self.unnamed_pictures += 1
        for name, value in attributes:
            inside = name == "xlink:href" and value is not None and value.startswith("#")
            if name.startswith("on") or (name in {"src", "href", "xlink:href"} and not inside):
                self.active.append((name, value))

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_text_of_a_model_stays_text(page: str) -> None:
    elements = Elements(page)
    assert "script" not in elements.names
    assert "img" not in elements.names
    # Its own link, to the page beside it.
    assert elements.active == [("href", PAGE_FILE)]
    assert "&lt;script&gt;alert(1)" in page
    assert "{{ 7 * 7 }}" in page
    assert not re.search("[\u202e\x1b\ud800]", page)
    assert "␛[2J" in page and r"\u202e" in page
    assert elements.open == []
    assert "link" not in elements.names
    assert not re.search(r"@import|url\((?!#)", page)
    assert "default-src 'none'" in page


def test_page_shows_everything_it_was_given(page: str) -> None:
    for text in (
        ">Promote</span>",
        "constraint rate",
        "ab" * 32,
        "pergunta 11",
        "melhor 0",
        "Against the champion",
        "this comparison decides nothing",
        "1,920",
        "0.00980",
        "3.1 %",
        "Each training seed by itself",
        "since the base was trained on the same words: 4 (push 3, churn 1).",
        "Ground truth of single answers",
        "between training seeds 0.007",
        "grounding 0.25",
    ):
        assert text in page


def test_ten_prompts_and_one_drawn_are_shown_with_the_answer_and_the_components_of_each_model(page: str) -> None:
    assert sum(f"pergunta {number}<" in page for number in range(12)) == 11
    assert page.count("right answer") == 11
    assert "produto 11" in page
    of_one = page[page.index("pergunta 11<") :].split("<h3>", maxsplit=1)[0]
    assert of_one.count("grounding 0.25") == 3
    assert of_one.index("base: 0.400") < of_one.index("base-guided: 0.400") < of_one.index("tuned: 0.400")
    assert 'class="answers three"' in page


def test_baselines_stand_beside_the_model_and_are_no_markup() -> None:
    found = claimed()
    page = render(found, Background(), draw(found))
    assert "Baselines, and what is of use" in page
    assert re.search(r'<td class="crowded">0\.700 ▲</td>', page)
    assert "names product" in page and "0.800, 0.60" in page
    assert 'class="badge no-better">no better<' in page
    assert "<script>alert" not in page
    assert "Baselines, and" not in render(comparison(), Background(), draw(comparison()))


@pytest.fixture(scope="module")
def text() -> str:
    return markdown(comparison(seeds=(7, 8), with_truth=True), background())


def test_every_table_has_as_many_cells_in_each_row(text: str) -> None:
    tables = [block.split("\n") for block in text.strip().split("\n\n") if block.startswith("| ")]
    assert len(tables) == 7
    for table in tables:
        cells = [len(re.findall(r"(?<!\\)\|", row)) for row in table]
        assert len(set(cells)) == 1


def test_hostile_names_are_no_markup_and_answers_are_not_in_it(text: str) -> None:
    assert "melhor" not in text
    assert "pergunta" not in text
    assert HOSTILE not in text
    assert not re.search(r"(?<!\\)[<>`]", text.replace("\n> ", "\n"))
    assert "[d](" not in text
    assert not re.search("[\u202e\x1b\ud800]", text)


def test_the_ladder_has_what_is_left_to_the_training(text: str) -> None:
    for shown in (page_of(*laddered()), markdown(*laddered())):
        assert "What is to be had for less" in shown
        assert "base-guided" in shown
    assert text.count("| push | p") == 11
