"""MLflow gets the same numbers of an evaluation and of a version, and none that is not known."""

import pytest

from tasks.evaluate.compare import compared_figures, metrics_of_report
from tests.tasks.evaluate.small_comparison import comparison

FIGURES = {"mean_base", "mean_tuned", "mean_difference", "ci_low", "ci_high", "p_signflip", "p_holm", "p_harm"}


def test_each_scope_has_its_numbers_and_the_ground_truth_its_difference() -> None:
    compared = comparison(with_truth=True)
    metrics = metrics_of_report({**compared.report(), "others": {"large": comparison(0.1).report()}})
    others = {name.removeprefix("against.large.") for name in metrics if name.startswith("against.")}
    assert others == FIGURES
    metrics = {name: value for name, value in metrics.items() if not name.startswith("against.")}
    assert compared.ground_truth is not None
    assert metrics.pop("ground_truth.mean_difference") == compared.ground_truth.overall.mean_difference
    assert metrics["overall.ci_low"] == compared.overall.ci_low
    assert set(metrics) == {f"{scope}.{figure}" for scope in ("overall", *compared.tasks) for figure in FIGURES}


@pytest.mark.parametrize(("verdict", "promoted"), [("promote", 1.0), ("hold", 0.0)])
def test_retrainings_are_compared_by_few_figures_of_the_same_names(verdict: str, promoted: float) -> None:
    compared = comparison(with_truth=True)
    report = compared.report()
    report["gate"] = {**report["gate"], "verdict": verdict}
    figures = compared_figures(report)
    assert figures.pop("promoted") == promoted
    assert figures.items() <= metrics_of_report(report).items()
    assert set(figures) == {
        *(f"overall.{name}" for name in ("mean_base", "mean_tuned", "mean_difference")),
        *(f"{scope}.mean_difference" for scope in ("ground_truth", *compared.tasks)),
    }
