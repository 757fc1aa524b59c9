"""Terminal output of a comparison, and of a plan for the next one."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from flows.runtime.console import print_table, show
from schemas.config.evaluate import BASELINES
from schemas.shown_text import as_shown
from tasks.evaluate.number_format import interval, p_value, signed
from tasks.evaluate.stats.sample_size import Need

HEADER: Final = ("", "n", "base", "tuned", "gain", "95 % interval", "p gain", "p harm", "verdict")


def print_report(report: Mapping[str, Any]) -> None:
    """Print the content of a `report.json`: scores, ground truth where known, and the gate's reasons."""
    _print_blocks("Scores of n test prompts, base against tuned; p gain is corrected for the number of tasks", report)
    if report.get("claims"):
        _print_claims(report)
    if report["ground_truth"]:
        _print_blocks("Ground truth of the same answers, which is no reward", report["ground_truth"])
    if report.get("general"):
        show(report["general"]["finding"])
    show(f"the gate says {report['gate']['verdict']}:")
    for reason in report["gate"]["reasons"]:
        show(f"- {reason}")


def _print_claims(report: Mapping[str, Any]) -> None:
    """Print what answers that take no model score, and how varied the answers are."""
    rows = []
    for task, claim in report["claims"].items():
        found = {name: f"{each['scores']['mean_base']:.3f}" for name, each in claim["baselines"].items()}
        varieties = ("" if claim[name] is None else f"{claim[name]:.2f}" for name in ("base_variety", "variety"))
        tuned = f"{report['tasks'][task]['mean_tuned']:.3f}"
        rows.append((task, tuned, *(found.get(name, "") for name in BASELINES), *varieties))
    header = ("", "tuned", *BASELINES, "variety, base", "variety, tuned")
    print_table("Scores of answers that take no model, and the answers' variety beside the references'", header, rows)


def _print_blocks(title: str, blocks: Mapping[str, Any]) -> None:
    rows = [
        (
            name,
            str(block["n_prompts"]),
            f"{block['mean_base']:.3f}",
            f"{block['mean_tuned']:.3f}",
            signed(block["mean_difference"]),
            interval(block["ci_low"], block["ci_high"]),
            p_value(block["p_holm"]),
            p_value(block["p_harm"]),
            block["verdict"],
        )
        for name, block in (*blocks["tasks"].items(), ("overall", blocks["overall"]))
    ]
    print_table(title, HEADER, rows, texts=("verdict",))


def print_plan(needs: Mapping[str, Sequence[Need]], effect: float, n_seeds: int) -> None:
    """Print how many prompts each scope needs, by training seeds and by samples.

    Args:
        needs: The needs of each scope, for the same numbers of seeds and samples.
        effect: The true difference to detect, in score.
        n_seeds: Training seeds of the comparison that the variance is from.
    """
    seeds = list(dict.fromkeys(need.seeds for of_scope in needs.values() for need in of_scope))
    rows = []
    for scope, of_scope in needs.items():
        for samples in dict.fromkeys(need.samples for need in of_scope):
            prompts = {need.seeds: need.prompts for need in of_scope if need.samples == samples}
            cells = ("never" if prompts[each] is None else f"{prompts[each]:,}" for each in seeds)
            rows.append((as_shown(scope)[:20], str(samples), *cells))
    header = ("", "samples", *(f"{each} seed{'s' if each > 1 else ''}" for each in seeds))
    print_table(f"Prompts that a true difference of {effect:g} needs", header, rows)
    show("so many find it with power .80, by a one-sided test at .05, if the variance is what the report found")
    if any(need.prompts is None for of_scope in needs.values() for need in of_scope):
        show("never: the training seeds differ so much that no number of prompts is enough; it takes more seeds")
    if n_seeds == 1:
        show("the report is of one training seed: how much trainings differ is not known, and is not in these numbers")
