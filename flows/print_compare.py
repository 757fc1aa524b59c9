"""What a person sees of a comparison, and of a plan for the next one, in the terminal."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from flows.console import print_table, say
from schemas.shown_text import as_shown
from schemas.tasks import TaskName
from tasks.evaluate.report import headline

if TYPE_CHECKING:
    from tasks.evaluate.compare import Comparison
    from tasks.evaluate.planning import Need
    from tasks.evaluate.statistics import Block

HEADER = ("", "prompts", "base", "tuned", "gain", "95 % interval", "p gain", "p loss", "verdict")


def print_comparison(comparison: "Comparison") -> None:
    """Print the verdict in a sentence, the figures, and the gate's reasons."""
    say(f"{comparison.gate.verdict}: {headline(comparison)}")
    _print_blocks(
        "Scores, base against tuned; p gain is corrected for the number of tasks", comparison.overall, comparison.tasks
    )
    truth = comparison.ground_truth
    if truth:
        _print_blocks("Ground truth, which is no reward", truth.overall, truth.tasks)
    for reason in comparison.gate.reasons:
        say(f"- {reason}")


def _print_blocks(title: str, overall: "Block", tasks: Mapping[TaskName, "Block"]) -> None:
    rows = [
        (
            name,
            str(block.n_prompts),
            f"{block.mean_base:.3f}",
            f"{block.mean_tuned:.3f}",
            f"{block.mean_difference:+.3f}",
            "none" if block.ci_low is None else f"{block.ci_low:+.3f} {block.ci_high:+.3f}",
            f"{block.p_holm:.4f}",
            f"{block.p_harm:.4f}",
            block.verdict,
        )
        for name, block in (("overall", overall), *tasks.items())
    ]
    print_table(title, HEADER, rows, texts=("verdict",))


def print_plan(needs: Mapping[str, Sequence["Need"]], effect: float, n_seeds: int) -> None:
    """Print how many prompts each scope needs, by training seeds and by samples.

    Args:
        needs: What each scope needs, for the same numbers of seeds and samples.
        effect: The true difference that is to be found, in score.
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
    say("so many find it with power .80, by a one-sided test at .05, if the variance is what the report found")
    if any(need.prompts is None for of_scope in needs.values() for need in of_scope):
        say("never: the training seeds differ so much that no number of prompts is enough; it takes more seeds")
    if n_seeds == 1:
        say("the report is of one training seed: how much trainings differ is not known, and is not in these numbers")
