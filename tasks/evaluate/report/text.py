"""Report as Markdown, for a model card and Prefect's page: numbers and verdict, without any model's text."""

from collections.abc import Mapping
from typing import Final

from schemas.config.evaluate import BASELINES
from schemas.tasks import TaskName
from tasks.evaluate.compare import Comparison
from tasks.evaluate.number_format import interval, p_value, signed
from tasks.evaluate.report.background import Background
from tasks.evaluate.report.ladder import steps
from tasks.evaluate.report.markdown import bullets, escaped, table
from tasks.evaluate.report.sentences import headline, models_in, warnings_of, when_margin_was_set
from tasks.evaluate.stats.statistics import PairedStats

REPORT_TEXT: Final = "report.md"


def markdown(comparison: Comparison, background: Background) -> str:
    """Render the report as Markdown with tables; the same comparison and background give the same text."""
    verdict = "may be promoted" if comparison.gate.verdict == "promote" else "is held"
    parts = [
        "# Evaluation",
        f"**{escaped(headline(comparison))}** The gate's word: **{comparison.gate.verdict}**.",
        f"Why the model {verdict}:\n\n{bullets(comparison.gate.reasons)}",
        _of_looks(comparison, background),
        "## Base against tuned",
        background.weights,
        _blocks(comparison.tasks, comparison.overall, "base", "tuned"),
        *_of_claims(comparison),
        *_of_ladder(comparison, background),
        *_of_seeds(comparison),
        *_of_ground_truth(comparison, background),
        *_of_general(background),
        *_of_others(background),
        *_of_identities(background.identities),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _of_looks(comparison: Comparison, background: Background) -> str:
    looks, margin = background.looks, comparison.margin
    if looks is None:
        return f"The margin is {margin:g}. How often this test split was looked at before is not known."
    warnings = [f"> **Warning.** {escaped(warning)}" for warning in warnings_of(looks, margin)]
    return "\n\n".join([when_margin_was_set(looks, margin), *warnings])


def _of_claims(comparison: Comparison) -> list[str]:
    if not comparison.claims:
        return []
    rows = []
    for task, block in comparison.tasks.items():
        claim = comparison.claims[task]
        scores = {name: f"{found.scores.mean_base:.3f}" for name, found in claim.baselines.items()}
        rows.append(
            [
                task,
                f"{block.mean_base:.3f}",
                f"{block.mean_tuned:.3f}",
                *(scores.get(name, "–") for name in BASELINES),
                claim.standing or "–",
                *("–" if share is None else f"{share:.2f}" for share in (claim.base_variety, claim.variety)),
                block.verdict,
            ]
        )
    header = ["task", "base", "tuned", *BASELINES, "floors", "variety, base", "variety, tuned", "verdict"]
    what = "; ".join(f"{name}: {kind}" for name, kind in BASELINES.items())
    return ["## Beside answers that take no model", f"{what}.", table(header, rows)]


def _of_ladder(comparison: Comparison, background: Background) -> list[str]:
    left_out = [escaped(f"Left out, since it failed: {name}: {why}.") for name, why in background.left_out.items()]
    if not background.ladder:
        return left_out
    header = ["answers of", "a prompt", *comparison.tasks, "overall", "tuned − it", "95 % interval", "US$ for 1,000"]
    rows = [
        [
            step.name,
            str(step.draws),
            *(f"{step.scores[task].mean:.3f}" for task in comparison.tasks),
            f"{step.overall:.3f}",
            "–" if step.left is None else signed(step.left.mean_difference),
            "–" if step.left is None else interval(step.left.ci_low, step.left.ci_high),
            "unknown" if step.cost is None else f"{1_000 * step.cost:.3f}",
        ]
        for step in steps(comparison, background)
    ]
    what = "; ".join(f"{rung.name}: {rung.what}" for rung in background.ladder)
    return ["## What is to be had for less", f"{escaped(what)}.", table(header, rows), *left_out]


def _of_seeds(comparison: Comparison) -> list[str]:
    if len(comparison.seed_differences) < 2:
        return []
    seeds = [f"seed {seed} {signed(difference)}" for seed, difference in comparison.seed_differences.items()]
    return [f"By training seed: {', '.join(seeds)}."]


def _of_ground_truth(comparison: Comparison, background: Background) -> list[str]:
    parts = []
    if comparison.ground_truth is not None:
        parts.append(_blocks(comparison.ground_truth.tasks, comparison.ground_truth.overall, "base", "tuned"))
    if background.ground_truth:
        metrics = [(task, *each) for task, by in background.ground_truth.items() for each in by.items()]
        models = models_in([list(values) for _, _, values in metrics])
        rows = [
            [task, name.replace("_", " "), *(f"{values[model]:.3f}" if model in values else "–" for model in models)]
            for task, name, values in metrics
        ]
        parts.append(table(["task", "metric", *models], rows, words=2))
    return ["## Ground truth, apart from the rewards", *parts] if parts else []


def _of_general(background: Background) -> list[str]:
    if background.general is None:
        return []
    rows = [
        [kind, str(found.prompts), str(found.base), str(found.tuned)]
        for kind, found in background.general.kinds.items()
    ]
    found = table(["instructions that ask for", "prompts", "base follows", "tuned follows"], rows)
    return ["## Did it forget Portuguese?", f"{escaped(background.general.finding)}.", found]


def _of_others(background: Background) -> list[str]:
    parts = []
    seed = background.chosen_seed
    challenger = "" if seed is None else f"The challenger is the policy of training seed {seed} only."
    if background.champion is not None:
        name = f", {escaped(background.champion_name)}" if background.champion_name else ""
        champion = background.champion
        parts += [
            f"## Against the champion{name}",
            challenger,
            _blocks(champion.tasks, champion.overall, "champion", "challenger"),
        ]
    for other in background.others:
        parts += [
            f"## Against {escaped(other.name)} (decides nothing)",
            f"{escaped(other.name)} is {escaped(other.description)}. {challenger}".rstrip(),
            _blocks(other.comparison.tasks, other.comparison.overall, other.name, "challenger"),
        ]
    return parts


def _of_identities(identities: Mapping[str, str]) -> list[str]:
    if not identities:
        return []
    return ["## What exactly was compared", table(["what", "identity"], identities.items(), words=2)]


def _blocks(tasks: Mapping[TaskName, PairedStats], overall: PairedStats, first: str, second: str) -> str:
    header = ["task", "prompts", first, second, "difference", "95 % interval", "p gain (Holm)", "p harm", "verdict"]
    rows = [
        [
            name,
            str(block.n_prompts),
            f"{block.mean_base:.3f}",
            f"{block.mean_tuned:.3f}",
            signed(block.mean_difference),
            interval(block.ci_low, block.ci_high),
            p_value(block.p_holm),
            p_value(block.p_harm),
            block.verdict,
        ]
        for name, block in [*tasks.items(), ("overall", overall)]
    ]
    return table(header, rows)
