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
            inside = name in {"href", "xlink:href"} and value is not None and value.startswith("#")
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


def test_hostile_names_are_no_markup_and_answers_are_not_in_it(text: str) -> None:
    assert "melhor" not in text
    assert "pergunta" not in text
    assert HOSTILE not in text
    assert not re.search(r"(?<!\\)[<>`]", text.replace("\n> ", "\n"))
    assert "[d](" not in text
    assert not re.search("[\u202e\x1b\ud800]", text)
