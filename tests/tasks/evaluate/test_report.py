import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from schemas.documents import PairedScore
from tasks.evaluate.compare import Comparison, compare
from tasks.evaluate.report import AnsweredPrompt, Background, headline, render, write_page

HOSTILE = (
    '</div></section><script>alert(1)</script><img src="https://example.org/x" onerror=alert(1)> {{ 7 * 7 }} \ud800'
)


def comparison(gain: float = 0.2) -> Comparison:
    def score(number: int, value: float) -> PairedScore:
        return PairedScore(prompt_id=f"p{number}", task="push", seed=0, sample=0, score=value)

    base = [score(number, 0.4) for number in range(12)]
    tuned = [score(number, 0.4 + gain * (0.5 + number / 12)) for number in range(12)]
    return compare(base, tuned, margin=0.05, resamples=1_000, seed=0)


def answers(text: str) -> list[AnsweredPrompt]:
    return [
        AnsweredPrompt("push", f"p{number}", f"pergunta {number}", text, f"melhor {number}") for number in range(12)
    ]


@pytest.fixture(scope="module")
def page() -> str:
    background = Background(
        answers=answers(HOSTILE),
        learning_curve=[(0, 0.4), (10, 0.5), (20, 0.45)],
        chosen_step=10,
        ground_truth={"push": {"constraint_rate": (0.25, 0.75)}},
        identities={"reward version": "ab" * 32},
    )
    return render(comparison(), background)


class Elements(HTMLParser):
    """Collects the names of the elements, and every attribute that could make a browser fetch or run something."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.names: set[str] = set()
        self.active: list[tuple[str, str | None]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        for name, value in attributes:
            inside = name == "xlink:href" and value is not None and value.startswith("#")
            if name.startswith("on") or (name in {"src", "href", "xlink:href"} and not inside):
                self.active.append((name, value))


def test_text_of_a_model_stays_text(page: str) -> None:
    elements = Elements(page)
    assert "script" not in elements.names
    assert "img" not in elements.names
    assert elements.active == []
    assert "&lt;script&gt;alert(1)" in page
    assert "{{ 7 * 7 }}" in page


def test_page_stands_alone(page: str) -> None:
    assert "link" not in Elements(page).names
    assert not re.search(r"@import|url\((?!#)", page)


def test_page_shows_everything_it_was_given(page: str) -> None:
    for text in ("constraint rate", "ab" * 32, "chosen: step 10", "pergunta 11", "melhor 0", "Promote"):
        assert text in page


def test_largest_gain_and_smallest_are_shown_and_no_other(page: str) -> None:
    assert {number for number in range(12) if f"pergunta {number}<" in page} == {0, 11}


def test_page_is_the_same_for_the_same_numbers(page: str) -> None:
    assert render(comparison(), Background()) == render(comparison(), Background())


def test_what_is_unknown_is_left_out() -> None:
    plain = render(comparison(), Background())
    for absent in ("Ground truth", "How it learned", "What exactly was compared", "Largest gain"):
        assert absent not in plain


def test_long_answers_are_cut_and_the_cut_is_said() -> None:
    long = render(comparison(), Background(answers=answers("a" * 5_000)))
    assert "a" * 1_201 not in long
    assert "and 3800 more characters" in long


def test_page_is_written_though_a_completion_cannot_be_encoded(tmp_path: Path) -> None:
    path = write_page(comparison(), Background(answers=answers(HOSTILE)), tmp_path / "report")
    assert "alert(1)" in path.read_text(encoding="utf-8")


def test_headline_follows_the_verdicts() -> None:
    promoted = comparison()
    assert "better than the base and may be promoted" in headline(promoted)
    held = replace(promoted, gate=replace(promoted.gate, verdict="hold"))
    assert "not ready for promotion" in headline(held)
    assert "worse" in headline(comparison(-0.2))
    assert "cannot be told" in headline(comparison(0))
    assert "cannot be told" in render(comparison(0), Background())


def test_one_prompt_makes_a_page() -> None:
    single = [PairedScore(prompt_id="p", task="push", seed=0, sample=0, score=0.5)]
    assert "unknown" in render(compare(single, single, margin=0.05, resamples=1_000, seed=0), Background())
