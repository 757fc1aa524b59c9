"""Every report in a real browser, at a desktop's and a telephone's width, in Portuguese, whose words are the longer."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Final

import pytest

from tasks.evaluate.report.figures import draw
from tasks.evaluate.report.page import render as render_evaluation
from tasks.lineage.graph.graph import Edge, Graph, Node
from tasks.lineage.graph.page import render as render_lineage
from tasks.lineage.graph.walk import Lineage
from tasks.report.language import spoken
from tests.browser import SIZES, Browser, View
from tests.tasks.audit.test_report import agreeing, audited
from tests.tasks.evaluate.small_comparison import background, claimed, laddered
from tests.tasks.monitor.test_stage import days_of, look

pytestmark = pytest.mark.integration

VERDICT: Final = "header > .badge"
OF_TASKS: Final = "tbody tr > :nth-child(2) > .badge, table.wide tr > :nth-child(2) > .badge"
FIGURE: Final = "main svg"
ASKED: Final = "article.subject h3"
PAGES: Final = ("evaluation", "ladder", "audit", "monitoring", "lineage")
Views = Mapping[tuple[str, int], View]


@pytest.fixture(scope="module")
def views(browser: Browser, tmp_path_factory: pytest.TempPathFactory) -> Views:
    folder = tmp_path_factory.mktemp("pages")
    with spoken("pt", reais_per_dollar=5.5):
        pages = {
            "evaluation": render_evaluation(claimed(), background(), draw(claimed(), background())),
            "ladder": render_evaluation(*laddered(), draw(*laddered())),
            "audit": audited([*agreeing("push"), *agreeing("churn", 24)]).page(),
            "monitoring": (look(folder, days_of(1)).folder / "report.html").read_text(encoding="utf-8"),
            "lineage": render_lineage(deep_lineage()),
        }
    for name, page in pages.items():
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    found = browser.look(folder, [f"{name}.html" for name in PAGES], (VERDICT, OF_TASKS, FIGURE, ASKED))
    return {(name.removesuffix(".html"), width): view for (name, width), view in found.items()}


def deep_lineage() -> Lineage:
    """Return a model at the end of a long chain, beside a crowd."""
    names = [f"evaluation {number:012}" for number in range(12)]
    crowd = {f"crowd {number}": Node(f"crowd {number}", "answers", f"answers {number}", {}) for number in range(30)}
    nodes = {name: Node(name, "evaluation", name, {"difference": "+0.1" * 30}) for name in names} | crowd
    edges = [Edge(one, other, "dataset") for one, other in pairwise(names)]
    edges += [Edge(names[3], name, "answers") for name in crowd]
    return Lineage("champion", "version", (names[-1],), Graph(nodes, tuple(edges)), {}, ())


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("page", PAGES)
def test_no_page_is_wider_than_its_window_and_no_figure_is_cut(views: Views, page: str, width: int) -> None:
    view = views[page, width]
    assert view.overflow == 0
    if page != "lineage":
        assert view.parts[FIGURE]
        assert [figure.text[:60] for figure in view.parts[FIGURE] if not figure.across] == []


@pytest.mark.parametrize("width", SIZES)
@pytest.mark.parametrize("page", [page for page in PAGES if page != "lineage"])
def test_the_verdict_is_seen_at_once_and_that_of_each_task_without_scrolling_sideways(
    views: Views, page: str, width: int
) -> None:
    parts = views[page, width].parts
    assert [badge.at_once for badge in parts[VERDICT]] == [True]
    assert parts[OF_TASKS]
    assert [badge.text for badge in parts[OF_TASKS] if not badge.across] == []


@pytest.mark.parametrize("width", SIZES)
def test_the_lineage_opens_at_what_was_asked_for(views: Views, width: int) -> None:
    (asked,) = views["lineage", width].parts[ASKED]
    assert asked.at_once
