"""Report metrics that MLflow plots over runs, and shows beside a version."""

from collections.abc import Mapping
from typing import Any, Final

_FIGURES: Final = ("mean_base", "mean_tuned", "mean_difference", "ci_low", "ci_high", "p_signflip", "p_holm", "p_harm")


def metrics_of_report(report: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of a `report.json` by name, such as `overall.mean_difference` and `push.p_holm`.

    An interval unknown for lack of prompts is left out; so is the ground truth's difference,
    `ground_truth.mean_difference`, without ground truth. Another model's numbers are under its name, such as
    `against.large.mean_difference`, where it takes the place of the base, and so are a rung's, such as
    `over.base-guided.mean_difference`. Of each task the highest score of a baseline is `push.best_baseline`, and the
    variety of its answers `push.variety`. The shares of general instructions that were followed are
    `general.mean_base` and `general.mean_tuned`.
    """
    blocks = {"overall": report["overall"], **report["tasks"]}
    # A version promoted again by hand may have an older report without other models.
    blocks |= {f"against.{name}": other["overall"] for name, other in report.get("others", {}).items()}
    blocks |= {f"over.{name}": rung["overall"] for name, rung in report.get("ladder", {}).items()}
    metrics = {
        f"{scope}.{figure}": float(block[figure])
        for scope, block in blocks.items()
        for figure in _FIGURES
        if block[figure] is not None
    }
    for task, claim in report.get("claims", {}).items():
        scores = [each["scores"]["mean_base"] for each in claim["baselines"].values()]
        metrics |= {f"{task}.best_baseline": max(scores)} if scores else {}
        metrics |= {f"{task}.variety": claim["variety"]} if claim["variety"] is not None else {}
    if general := report.get("general"):
        metrics |= {f"general.{figure}": general["stats"][figure] for figure in ("mean_base", "mean_tuned")}
    truth = report["ground_truth"]
    if truth is not None:
        metrics["ground_truth.mean_difference"] = float(truth["overall"]["mean_difference"])
    return metrics


def compared_figures(report: Mapping[str, Any]) -> dict[str, float]:
    """Return the few numbers by which retrainings are compared, under the names of `metrics_of_report`.

    They are the overall scores, each task's gain and the ground truth's, and `promoted`: 1 where the gate says
    promote, and 0 where it holds.
    """
    names = ["overall.mean_base", "overall.mean_tuned", "overall.mean_difference", "ground_truth.mean_difference"]
    names += [f"{task}.mean_difference" for task in report["tasks"]]
    metrics = metrics_of_report(report)
    figures = {name: metrics[name] for name in names if name in metrics}
    return {**figures, "promoted": float(report["gate"]["verdict"] == "promote")}
