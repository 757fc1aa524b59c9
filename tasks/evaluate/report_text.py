"""The report as Markdown, for a model card and for Prefect's page: the numbers and the verdict, and no model's text."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from schemas.shown_text import as_shown
from schemas.tasks import TaskName
from tasks.evaluate.background import Background
from tasks.evaluate.compare import Comparison
from tasks.evaluate.report import headline
from tasks.evaluate.statistics import Block
from tasks.evaluate.wording import interval, models_in, p_value, signed, warnings_of, when_margin_was_set

_MARKUP: Final = re.compile(r"[\\`*\[\]<>|~#&$]")


def markdown(comparison: Comparison, background: Background) -> str:
    """Return the report as Markdown with tables; the same comparison and background give the same text."""
    verdict = "may be promoted" if comparison.gate.verdict == "promote" else "is held"
    parts = [
        "# Evaluation",
        f"**{_plain(headline(comparison))}** The gate's word: **{comparison.gate.verdict}**.",
        f"Why the model {verdict}:\n\n{_list(comparison.gate.reasons)}",
        _of_looks(comparison, background),
        "## Base against tuned",
        _blocks(comparison.tasks, comparison.overall, "base", "tuned"),
        *_of_seeds(comparison),
        *_of_ground_truth(comparison, background),
        *_of_others(background),
        *_of_identities(background.identities),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _of_looks(comparison: Comparison, background: Background) -> str:
    looks, margin = background.looks, comparison.margin
    if looks is None:
        return f"The margin is {margin:g}. How often this test split was looked at before is not known."
    warnings = [f"> **Warning.** {_plain(warning)}" for warning in warnings_of(looks, margin)]
    return "\n\n".join([when_margin_was_set(looks, margin), *warnings])


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
        parts.append(_table(["task", "metric", *models], rows, words=2))
    return ["## Ground truth, apart from the rewards", *parts] if parts else []


def _of_others(background: Background) -> list[str]:
    parts = []
    if background.champion is not None:
        name = f", {_plain(background.champion_name)}" if background.champion_name else ""
        champion = background.champion
        parts += [
            f"## Against the champion{name}",
            _blocks(champion.tasks, champion.overall, "champion", "challenger"),
        ]
    for rival, compared in background.rivals.items():
        parts += [
            f"## Against {_plain(rival)} (decides nothing)",
            _blocks(compared.tasks, compared.overall, "rival", "tuned"),
        ]
    return parts


def _of_identities(identities: Mapping[str, str]) -> list[str]:
    if not identities:
        return []
    return ["## What exactly was compared", _table(["what", "identity"], identities.items(), words=2)]


def _blocks(tasks: Mapping[TaskName, Block], overall: Block, first: str, second: str) -> str:
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
    return _table(header, rows)


def _table(header: Sequence[str], rows: Iterable[Sequence[str]], *, words: int = 1) -> str:
    """Return a table whose first columns hold words and stand on the left, and whose others hold numbers."""
    rule = ["---"] * words + ["---:"] * (len(header) - words)
    lines = [[_plain(cell) for cell in header], rule, *([_plain(cell) for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _list(sentences: Iterable[str]) -> str:
    return "\n".join(f"- {_plain(sentence)}" for sentence in sentences)


def _plain(text: str) -> str:
    """Return a text on one line that no reader of Markdown takes for markup."""
    return _MARKUP.sub(lambda found: f"\\{found[0]}", " ".join(as_shown(text).split()))
