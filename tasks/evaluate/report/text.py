"""Report as Markdown, for a model card and Prefect's page: numbers and verdict, without any model's text."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from schemas.config.evaluate import BASELINES
from schemas.tasks import TaskName
from tasks.evaluate.compare import Comparison
from tasks.evaluate.report.background import Background
from tasks.evaluate.report.gain import left_table, split_table
from tasks.evaluate.report.ladder import steps
from tasks.evaluate.report.markdown import bullets, escaped, table
from tasks.evaluate.report.sentences import (
    drawn_by_transformers,
    gain_note,
    headline,
    known_to_base,
    models_in,
    split_rule,
    warnings_of,
    when_margin_was_set,
    why_chosen,
)
from tasks.evaluate.report.shop_terms import shop_lines
from tasks.evaluate.stats.statistics import PairedStats
from tasks.report.number_format import decimal, interval, money, p_value, shortest, signed
from tasks.report.wording import worded

REPORT_TEXT: Final = "report.md"


def markdown(comparison: Comparison, background: Background) -> str:
    """Render the report as Markdown with tables; the same comparison and background give the same text."""
    promoted = comparison.gate.verdict == "promote"
    why = worded("Why the model may be promoted" if promoted else "Why the model is held")
    word = worded("The gate's word: {verdict}.", verdict=f"**{worded(comparison.gate.verdict)}**")
    parts = [
        f"# {worded('Evaluation')}",
        f"**{escaped(headline(comparison))}** {word}",
        _in_shop_terms(background),
        f"{why}:\n\n{bullets(comparison.gate.reasons)}",
        _of_looks(comparison, background),
        escaped(known_to_base(background.known_to_base)),
        f"## {worded('Base against tuned')}",
        worded(background.weights),
        *map(escaped, drawn_by_transformers(background)),
        _blocks(comparison.tasks, comparison.overall, "base", "tuned"),
        *_of_claims(comparison),
        *_of_ladder(comparison, background),
        *_of_gains(background),
        *_of_answers(background),
        *_of_seeds(comparison),
        *_of_ground_truth(comparison, background),
        *_of_general(background),
        *_of_others(background),
        *_of_identities(background.identities),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _in_shop_terms(background: Background) -> str:
    return bullets([f"{line.text}{f' ▼ {line.floor}' if line.floor else ''}" for line in shop_lines(background)])


def _of_looks(comparison: Comparison, background: Background) -> str:
    looks, margin = background.looks, comparison.margin
    if looks is None:
        return worded(
            "The margin is {margin}. How often this test split was looked at before is not known.",
            margin=shortest(margin),
        )
    warnings = [f"> **{worded('Warning.')}** {escaped(warning)}" for warning in warnings_of(looks, margin)]
    return "\n\n".join([when_margin_was_set(looks, margin), *warnings])


def _of_claims(comparison: Comparison) -> list[str]:
    if not comparison.claims:
        return []
    shown = [name for name in BASELINES if any(name in claim.baselines for claim in comparison.claims.values())]
    rows = []
    for task, block in comparison.tasks.items():
        claim = comparison.claims[task]
        scores = {name: decimal(found.scores.mean_base) for name, found in claim.baselines.items()}
        rows.append(
            [
                task,
                worded(block.verdict),
                decimal(block.mean_tuned),
                *(scores.get(name, "–") for name in shown),
                *("–" if share is None else decimal(share, 2) for share in (claim.base_variety, claim.variety)),
            ]
        )
    header = ["task", "verdict", "tuned", *shown, "variety, base", "variety, tuned"]
    what = "; ".join(f"{worded(name)}: {worded(kind)}" for name, kind in BASELINES.items() if name in shown)
    floors = [f"{task}: {claim.standing}" for task, claim in comparison.claims.items() if claim.standing]
    parts = [f"## {worded('Beside answers that take no model')}", f"{what}.", _table(header, rows, words=2)]
    return [*parts, *([f"{worded('floors')}:\n\n{bullets(floors)}"] if floors else [])]


def _of_ladder(comparison: Comparison, background: Background) -> list[str]:
    left_out = [
        escaped(f"{worded('Left out, since it failed:')} {name}: {why}.") for name, why in background.left_out.items()
    ]
    title = f"## {worded('What is to be had for less')}"
    if not background.ladder:
        return [title, *left_out] if left_out else []
    header = ["answers of", "a prompt", *comparison.tasks, "overall", "tuned − it", "95 % interval", "cost of 1,000"]
    rows = [
        [
            worded(step.name),
            str(step.draws),
            *(decimal(step.scores[task].mean) for task in comparison.tasks),
            decimal(step.overall),
            "–" if step.left is None else signed(step.left.mean_difference),
            "–" if step.left is None else interval(step.left.ci_low, step.left.ci_high),
            worded("unknown") if step.cost is None else money(1_000 * step.cost, 3),
        ]
        for step in steps(comparison, background)
    ]
    what = "; ".join(f"{rung.name}: {worded(rung.what)}" for rung in background.ladder)
    return [title, f"{escaped(what)}.", _table(header, rows), *left_out]


def _of_gains(background: Background) -> list[str]:
    if not background.gains:
        return []
    tables = [each for each in (left_table(background.gains), split_table(background.gains)) if each]
    sentences = [gain_note(background.gains), split_rule(background.gains)]
    return [
        f"## {worded('Shares of the gain')}",
        escaped(" ".join(each for each in sentences if each)),
        *(table(each.header, each.rows) for each in tables),
    ]


def _of_answers(background: Background) -> list[str]:
    if not background.answers:
        return []
    models = [answer.model for answer in background.answers[0].answers]
    rows = [
        [
            why_chosen(each),
            each.scores.task,
            each.scores.prompt_id[:12],
            *(decimal(answer.reward) for answer in each.answers),
            signed(each.scores.difference),
        ]
        for each in background.answers
    ]
    note = worded("The report's page shows the prompts and the answers.")
    found = _table(["why", "task", "prompt", *models, "difference"], rows, words=3)
    return [f"## {worded('Answers side by side')}", note, found]


def _of_seeds(comparison: Comparison) -> list[str]:
    if len(comparison.seed_differences) < 2:
        return []
    seeds = [
        f"{worded('seed {seed}', seed=seed)} {signed(difference)}"
        for seed, difference in comparison.seed_differences.items()
    ]
    return [worded("By training seed: {seeds}.", seeds=", ".join(seeds))]


def _of_ground_truth(comparison: Comparison, background: Background) -> list[str]:
    parts = []
    if comparison.ground_truth is not None:
        parts.append(_blocks(comparison.ground_truth.tasks, comparison.ground_truth.overall, "base", "tuned"))
    if background.ground_truth:
        metrics = [(task, *each) for task, by in background.ground_truth.items() for each in by.items()]
        models = models_in([list(values) for _, _, values in metrics])
        rows = [
            [
                task,
                worded(name.replace("_", " ")),
                *(decimal(values[model]) if model in values else "–" for model in models),
            ]
            for task, name, values in metrics
        ]
        parts.append(_table(["task", "metric", *models], rows, words=2))
    return [f"## {worded('Ground truth, apart from the rewards')}", *parts] if parts else []


def _of_general(background: Background) -> list[str]:
    if background.general is None:
        return []
    rows = [
        [worded(kind), str(found.prompts), str(found.base), str(found.tuned)]
        for kind, found in background.general.kinds.items()
    ]
    found = _table(["instructions that ask for", "prompts", "base follows", "tuned follows"], rows)
    return [f"## {worded('Did it forget Portuguese?')}", f"{escaped(background.general.finding)}.", found]


def _of_others(background: Background) -> list[str]:
    parts = []
    seed = background.chosen_seed
    challenger = "" if seed is None else worded("The challenger is the policy of training seed {seed} only.", seed=seed)
    if background.champion is not None:
        name = f", {escaped(background.champion_name)}" if background.champion_name else ""
        champion = background.champion
        parts += [
            f"## {worded('Against the champion')}{name}",
            challenger,
            _blocks(champion.tasks, champion.overall, "champion", "challenger"),
        ]
    for other in background.others:
        parts += [
            f"## {worded('Against {name} (decides nothing)', name=escaped(other.name))}",
            f"{escaped(other.name)}: {escaped(other.description)}. {challenger}".rstrip(),
            _blocks(other.comparison.tasks, other.comparison.overall, other.name, "challenger"),
        ]
    return parts


def _of_identities(identities: Mapping[str, str]) -> list[str]:
    if not identities:
        return []
    return [f"## {worded('What exactly was compared')}", _table(["what", "identity"], identities.items(), words=2)]


def _blocks(tasks: Mapping[TaskName, PairedStats], overall: PairedStats, first: str, second: str) -> str:
    header = ["task", "verdict", first, second, "gain", "95 % interval", "p gain (Holm)", "p harm", "n"]
    rows = [
        [
            name,
            worded(block.verdict),
            decimal(block.mean_base),
            decimal(block.mean_tuned),
            signed(block.mean_difference),
            interval(block.ci_low, block.ci_high),
            p_value(block.p_holm),
            p_value(block.p_harm),
            str(block.n_prompts),
        ]
        for name, block in [*tasks.items(), (worded("overall"), overall)]
    ]
    return _table(header, rows, words=2)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> str:
    return table([worded(name) for name in header], rows, words=words)
