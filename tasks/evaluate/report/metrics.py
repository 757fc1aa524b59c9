"""The numbers of a report that MLflow draws from run to run, and shows beside a version."""

from collections.abc import Mapping
from typing import Any, Final

_FIGURES: Final = ("mean_base", "mean_tuned", "mean_difference", "ci_low", "ci_high", "p_signflip", "p_holm", "p_harm")


def metrics_of_report(report: Mapping[str, Any]) -> dict[str, float]:
    """Return the numbers of a `report.json` by their names, such as `overall.mean_difference` and `push.p_holm`.

    An interval that is not known, for there is one prompt, is left out; so is the ground truth's difference,
    `ground_truth.mean_difference`, where there is no ground truth.
    """
    blocks = {"overall": report["overall"], **report["tasks"]}
    metrics = {
        f"{scope}.{figure}": float(block[figure])
        for scope, block in blocks.items()
        for figure in _FIGURES
        if block[figure] is not None
    }
    truth = report["ground_truth"]
    if truth is not None:
        metrics["ground_truth.mean_difference"] = float(truth["overall"]["mean_difference"])
    return metrics
