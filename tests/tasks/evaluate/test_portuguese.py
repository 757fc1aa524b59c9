"""The evaluation's report in Portuguese: no English is left on the page, and numbers have a comma."""

import re
from html.parser import HTMLParser
from typing import Final

import pytest

from tasks.evaluate.report.figures import draw
from tasks.evaluate.report.page import markdown, render
from tasks.report.language import spoken
from tasks.report.number_format import decimal, interval, p_value, percent, signed
from tests.tasks.evaluate.small_comparison import background, claimed, comparison, laddered, undecided

ENGLISH: Final = frozenset(
    re.findall(
        r"\w+",
        """the of and is that with by which where not it its this these was were are from or than has had have but all
        each what how why to in on an be does did gain better worse task score seed answer answers margin interval""",
    )
)
"""Words that no sentence of the report does without for long, and that Portuguese does not have."""


class Words(HTMLParser):
    """Collects a page's words, labels included, outside what is not the report's own: answers, names and digests."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.words: list[str] = []
        self.foreign = 0
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        given = dict(attributes)
        if self.foreign or tag == "style" or {given.get("class")} & {"text", "identities", "label components"}:
            self.foreign += tag not in {"meta", "br", "path", "use"}
        self.handle_data(given.get("aria-label") or "")

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        """Ignore what holds no words."""

    def handle_endtag(self, tag: str) -> None:
        self.foreign -= self.foreign > 0

    def handle_data(self, text: str) -> None:
        if not self.foreign:
            self.words += re.findall(r"[^\W\d_]+", re.sub(r"`[^`]*`|base-[a-z-]+|\w+\.\w+", "", text).lower())


@pytest.fixture(scope="module")
def portuguese() -> tuple[str, str]:
    """Return every section of the page, and of the text, once or more."""
    pages, texts = [], []
    with spoken("pt"):
        for found, around in (
            (comparison(seeds=(7, 8), with_truth=True), background("Zebra")),
            (comparison(-0.2), background("Zebra")),
            (claimed(), background("Zebra")),
            (undecided(seeds=(1, 2)), background("Zebra")),
            laddered(),
        ):
            pages.append(render(found, around, draw(found, around)))
            texts.append(markdown(found, around))
    return "".join(pages), "".join(texts)


def test_no_english_is_left_on_the_portuguese_page(portuguese: tuple[str, str]) -> None:
    found = Words(portuguese[0])
    assert len(found.words) > 2_000
    assert sorted(ENGLISH & {*found.words}) == []
    assert {"treinado", "não", "recompensa", "forma", "conteúdo"} <= {*found.words}


def test_no_english_is_left_in_the_portuguese_text(portuguese: tuple[str, str]) -> None:
    own = re.sub(r"\|[^\n]*Zebra[^\n]*|`[^`]*`|base-[a-z-]+|\w+\.\w+", "", portuguese[1].replace("\\", "").lower())
    assert sorted(ENGLISH & {*re.findall(r"[^\W\d_]+", own)}) == []


def test_numbers_have_a_decimal_comma_in_portuguese_and_in_figures_too() -> None:
    assert (decimal(1234.5, 1), signed(-0.25), p_value(0.0001), percent(-0.31)) == (
        "1,234.5",
        "−0.250",
        "< 0.001",
        "−31 %",
    )
    with spoken("pt"):
        assert (decimal(1234.5, 1), signed(-0.25), p_value(0.0001), percent(-0.31)) == (
            "1.234,5",
            "−0,250",
            "< 0,001",
            "−31%",
        )
        assert interval(-0.1, 0.1) == "−0,100 a +0,100"
        figure = draw(comparison(), background())["forest"]
    ticks = re.findall(r">(−?\d[.,]\d+)<", figure)
    assert ticks and all("," in tick for tick in ticks)
