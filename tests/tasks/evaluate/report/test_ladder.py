"""Figure of the ladder: every step can be told from the others, and the legend names all of them."""

from typing import TYPE_CHECKING

import pytest

from schemas.config.evaluate import RUNGS
from tasks.evaluate.report import ladder
from tasks.evaluate.report.ladder import COLOURS, MARKS, MeanScore, Step, draw_ladder
from tests.tasks.evaluate.small_comparison import comparison

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def test_base_and_all_rungs_are_told_apart_by_colour_and_mark() -> None:
    assert len({*COLOURS}) == len({*MARKS}) == 1 + len(RUNGS)


def test_the_legend_of_all_rungs_stands_in_the_figure(monkeypatch: pytest.MonkeyPatch) -> None:
    ends: list[float] = []

    def svg(figure: "Figure", label: str) -> str:
        figure.draw_without_rendering()
        legend = figure.legends[0].get_window_extent()
        ends.extend((0, legend.x0, legend.x1, figure.bbox.x1))
        return label

    monkeypatch.setattr(ladder, "svg", svg)
    left = comparison().overall
    draw_ladder(
        [
            Step(name, 1, {"push": MeanScore(0.5, 0.4, 0.6)}, 0.5, None if name == "tuned" else left, 0.001)
            for name in ("base", *RUNGS, "tuned")
        ]
    )
    assert ends
    assert ends == sorted(ends)
