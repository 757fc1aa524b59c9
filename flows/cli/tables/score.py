"""Table of `tucano score`: rewards by task."""

from collections.abc import Mapping
from typing import Any

from flows.runtime.console import print_table


def print_scores(result: Mapping[str, Any]) -> None:
    """Print what the rollouts of each task came to, and the ground truth where it was measured."""
    components = {task: _figures(scores["components"]) for task, scores in result["tasks"].items()}
    print_table(
        f"{result['rollouts']} rollouts, spec {result['spec']}, reward version {result['reward_version'][:12]}",
        ("task", "rollouts", "reward", "components"),
        [(task, str(s["n"]), f"{s['reward']:.3f}", components[task]) for task, s in result["tasks"].items()],
        texts=("components",),
    )
    measured = {task: scores["metrics"] for task, scores in result["tasks"].items() if scores.get("metrics")}
    if measured:
        rows = [(task, _figures(metrics)) for task, metrics in measured.items()]
        print_table("Ground truth (no reward)", ("task", "metrics"), rows, texts=("metrics",))


def _figures(values: Mapping[str, float]) -> str:
    return "  ".join(f"{name} {value:.3f}" for name, value in values.items())
