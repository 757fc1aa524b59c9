"""Wording: every message of the report in Portuguese too, with the same places, and no English left on the page."""

import ast
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from string import Formatter
from typing import Final, get_args

import pytest

from flows.stages.evaluate import AS_SERVED, BESIDE_NF4, OF_THE_PUBLISHED
from schemas.config.evaluate import BASELINES, FLOORS, RUNGS
from schemas.documents import RaterKind
from tasks.commerce.registry import TASKS
from tasks.evaluate.gain import CONTENT, PARTS
from tasks.evaluate.general.instructions import instructions
from tasks.evaluate.report.background import ROLLOUTS
from tasks.evaluate.report.figures import draw
from tasks.evaluate.report.page import render
from tasks.evaluate.report.text import markdown
from tasks.evaluate.stage import BASE, CHAMPION, PUBLISHED, TUNED, TUNED_NF4
from tasks.evaluate.stats.statistics import Verdict
from tasks.report.language import spoken
from tasks.report.number_format import decimal, interval, p_value, percent, signed
from tasks.report.wording import catalogue, counted, worded
from tests.tasks.evaluate.small_comparison import background, claimed, comparison, laddered, undecided

ROOM: Final = Path(__file__).resolve().parents[3] / "tasks/evaluate"
TEMPLATE: Final = (ROOM / "report/report.html.j2").read_text(encoding="utf-8")
BY_PLACE: Final = {"worded": slice(0, 1), "counted": slice(1, 3), "_table": slice(0, 1)}
"""Of each function that takes messages, which of its arguments they are."""
OTHER_METRICS: Final = ("balanced_accuracy", "reason_true", "stars", "auc", "macro_f1")
"""Metrics over many answers, which no list names."""
ENGLISH: Final = frozenset(
    re.findall(
        r"\w+",
        """the of and is that with by which where not it its this these was were are from or than has had have but all
        each what how why to in on an be does did gain better worse task score seed answer answers margin interval""",
    )
)
"""Words that no sentence of the report does without for long, and that Portuguese does not have."""


def data() -> set[str]:
    """Return the messages that are data, or names, where they are made."""
    metrics = {name for task in TASKS.values() for name in task.answer_metrics}
    metrics |= {name for floors in FLOORS.values() for name in floors} | {*OTHER_METRICS}
    return {
        *(name.replace("_", " ") for name in metrics),
        *(text for each in (BASELINES, RUNGS) for text in each.values()),
        *BASELINES,
        *get_args(Verdict),
        *("promote", "hold", "challenger", "by {lines}", CONTENT, ROLLOUTS, *PARTS),
        *(BASE, TUNED, CHAMPION, PUBLISHED, TUNED_NF4),
        *(AS_SERVED, BESIDE_NF4, OF_THE_PUBLISHED),
        *(each.kind for each in instructions()),
        *get_args(RaterKind),
    }


def of_the_code() -> Iterator[str]:
    for file in ROOM.rglob("*.py"):
        for function in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(function, ast.FunctionDef):
                continue
            named = {
                target.id: node.value
                for node in ast.walk(function)
                if isinstance(node, ast.Assign)
                for target in node.targets
                if isinstance(target, ast.Name) and isinstance(node.value, ast.Constant | ast.List | ast.IfExp)
            }
            for call in ast.walk(function):
                if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in BY_PLACE:
                    for argument in call.args[BY_PLACE[call.func.id]]:
                        yield from strings(argument)
                        names = [each.id for each in ast.walk(argument) if isinstance(each, ast.Name)]
                        yield from (text for name in names if name in named for text in strings(named[name]))


def strings(node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.IfExp):
        yield from strings(node.body)
        yield from strings(node.orelse)
    elif isinstance(node, ast.List):
        for each in node.elts:
            yield from strings(each)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value


def of_the_template() -> Iterator[str]:
    yield from (" ".join(text.split()) for text in re.findall(r'worded\("([^"]*)"', TEMPLATE))
    for one, many in re.findall(r'counted\([^,]+, "([^"]*)", "([^"]*)"', TEMPLATE):
        yield from (one, many)


def places(message: str) -> set[str]:
    return {name for _, name, _, _ in Formatter().parse(message) if name}


MESSAGES: Final = frozenset({*of_the_code(), *of_the_template(), *data()})


def test_every_message_is_translated_and_no_translation_is_left_over() -> None:
    assert len(MESSAGES) > 200
    assert sorted(MESSAGES - catalogue().keys()) == []
    assert sorted(catalogue().keys() - MESSAGES) == []


@pytest.mark.parametrize("message", sorted(MESSAGES))
def test_a_translation_has_the_messages_places(message: str) -> None:
    translated = catalogue()[message]
    assert places(translated) == places(message)
    assert translated.strip() == translated != ""
    assert translated.endswith(".") == message.endswith(".")


def test_the_template_has_no_words_of_its_own() -> None:
    body = TEMPLATE[TEMPLATE.index("{% block body %}") :]
    text = re.sub(r"\{\{.*?\}\}|\{%.*?%\}", "", body, flags=re.DOTALL)
    assert set(re.findall(r"[^\W\d_]{2,}", re.sub(r"<[^>]*>", "", text))) == set()


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


def test_the_page_states_its_language(portuguese: tuple[str, str]) -> None:
    assert '<html lang="pt-BR">' in portuguese[0]
    found = comparison()
    assert '<html lang="en">' in render(found, background(), draw(found, background()))


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


def test_a_language_ends_with_its_block_and_a_message_without_translation_stays_english() -> None:
    with spoken("pt"):
        assert worded("task") == "tarefa"
        assert counted(1, "with {n} seed", "with {n} seeds") == "com 1 semente"
        assert worded("no such message {n}", n=3) == "no such message 3"
        with spoken("en"):
            assert worded("task") == "task"
    assert worded("task") == "task"


def test_braces_of_data_stay_braces() -> None:
    assert worded('{"polarity":"positive"}') == '{"polarity":"positive"}'
    assert worded("the baseline `{name}`", name="{x}") == "the baseline `{x}`"
