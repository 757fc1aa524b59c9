"""Promotion gate on planted models: what is called better, and what is promoted.

Each evaluation draws forty simulated prompts of each task, a base that knows some of the answers, and a tuned model:

- *constant*: the text that earns most on training prompts, for every prompt of a task.
- *nothing*: another draw of the base.
- *form*: what the base knows, in the right form: what guided decoding alone makes of it.
- *content*: nine of ten answers are the references', the others the base's.

Form and content are judged with `promote.over_rungs = require`, beside a rung that costs no more to serve: another draw
of what the base knows, in the right form.

Limits: of the constants at most 5 % of evaluations call any task better, and none is promoted; of what learned nothing,
or form alone, at most 5 % are promoted; content is promoted in each.
"""

import random
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Final, Literal, NamedTuple

from benchmarks.harness import Report, map_in_processes, run_benchmark
from schemas.config.evaluate import EvaluateConfig
from schemas.documents import PairedScore, Rollout, ScoredRollout
from schemas.tables.prompts import PromptRow
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import TASKS, score_rollout
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.evaluate.answers.baselines import baselines
from tasks.evaluate.compare import Comparison, compare
from tasks.evaluate.decision import (
    Evaluated,
    GateConditions,
    RungStanding,
    ScoredBaseline,
    claims_of,
    matched,
)
from tasks.evaluate.ground_truth import metrics_of, truth_of
from tasks.synthesize.prompt_rows import as_prompt_row
from tasks.synthesize.simulated import simulate_store

SEED: Final = 20_261
ORDERS: Final = 4_000
PROMPTS: Final = 40
"""Test prompts of each task in an evaluation, as the profile `local` has."""
POOL: Final = 400
"""Prompts of each task from which they are drawn."""
TRAINING: Final = 150
RESAMPLES: Final = 1_000
KNOWN_BY_BASE: Final = 0.5
"""Share of the base's answers that are nearly right; the others are those to other prompts."""
KNOWN_BY_TUNED: Final = 0.9
PROCESSES: Final = 2
MAX_FALSE: Final = 0.05
MARGIN: Final = 0.10
"""The profile's."""

Planted = Literal["constant", "nothing", "form", "content"]


class Outcome(NamedTuple):
    """Result of one evaluation."""

    promoted: bool
    better: tuple[TaskName, ...]
    reasons: tuple[str, ...]


class Pools(NamedTuple):
    """Prompts, and the copies of the store that they are about."""

    databases: Databases
    training: Sequence[PromptRow]
    prompts: Mapping[TaskName, Sequence[PromptRow]]


def arguments(parser: ArgumentParser) -> None:
    """Add the options."""
    parser.add_argument("--evaluations", type=int, default=2_000, help="of constants and of form; a tenth of nothing")
    parser.add_argument("--processes", type=int, default=PROCESSES, help="at once")


def measure(report: Report, options: Namespace) -> None:
    """Evaluate each planted model many times."""
    counts: Mapping[Planted, int] = {
        "constant": options.evaluations,
        "nothing": max(20, options.evaluations // 10),
        "form": options.evaluations,
        "content": 20,
    }
    rows, example = [], ""
    for planted, count in counts.items():
        jobs = [(planted, SEED + number) for number in range(count)]
        outcomes = list(map_in_processes(evaluate, jobs, options.processes, f"evaluations: {planted}"))
        promoted = sum(outcome.promoted for outcome in outcomes) / count
        called = sum(bool(outcome.better) for outcome in outcomes) / count
        by_task = [sum(task in outcome.better for outcome in outcomes) / count for task in TASK_NAMES]
        rows.append((planted, count, promoted, called, *by_task))
        if planted == "constant":
            example = "\n".join(f"- {reason}" for reason in outcomes[0].reasons)
            report.limit(promoted == 0, f"{promoted:.1%} of constants are promoted, limit none")
            report.limit(called <= MAX_FALSE, f"{called:.1%} of constants are called better, limit {MAX_FALSE:.0%}")
        elif planted != "content":
            report.limit(
                promoted <= MAX_FALSE, f"{promoted:.1%} that learned {planted} are promoted, limit {MAX_FALSE:.0%}"
            )
        else:
            report.limit(promoted == 1, f"{promoted:.1%} that learned content are promoted, limit all")
    columns = {"tuned model": "", "evaluations": ",", "promoted": ".1%", "any better": ".1%"}
    report.table(
        f"What the gate says of planted models, {PROMPTS} prompts a task",
        {**columns, **dict.fromkeys(TASK_NAMES, ".0%")},
        rows,
    )
    report.line(f"The first constant's reasons:\n{example}")


def evaluate(job: tuple[Planted, int]) -> Outcome:
    """Evaluate one planted model."""
    planted, seed = job
    pools, generator = _pools(), random.Random(f"{SEED}:{seed}")
    config = EvaluateConfig(margin=MARGIN, resamples=RESAMPLES)
    asked = [row for task in TASK_NAMES for row in generator.sample(pools.prompts[task], PROMPTS)]
    base = [row.answered(_base(row, pools, generator), sample=0) for row in asked]
    found = baselines(pools.training, base, lambda rollout: _scored(rollout)[0].reward, seed)
    constants = next(each.says for each in found if each.name == "constant")
    answers: Mapping[Planted, Callable[[PromptRow], str]] = {
        "constant": lambda row: constants[row.task],
        "nothing": lambda row: _base(row, pools, generator),
        "form": lambda row: _right(_about(row, pools, generator)),
        "content": lambda row: _right(row) if generator.random() < KNOWN_BY_TUNED else _base(row, pools, generator),
    }
    tuned = _evaluated([row.answered(answers[planted](row), sample=0) for row in asked], seed)
    before = _evaluated(base, seed)

    def against(first: Sequence[PairedScore], second: Sequence[PairedScore]) -> Comparison:
        return compare(
            first, second, margin=config.margin, resamples=RESAMPLES, seed=seed, truth_loss=config.truth_loss
        )

    measured = [ScoredBaseline(each.name, each.says, _evaluated(each.rollouts, seed).pairs) for each in found]
    conditions = GateConditions(claims_of(config, before, tuned, tuned.pairs, measured, against), seed)
    if planted in ("form", "content"):
        mended = _evaluated([row.answered(answers["form"](row), sample=0) for row in asked], seed).pairs
        rung = RungStanding("base-guided", "", matched(mended, tuned.pairs, against))
        conditions = replace(conditions, ladder=[rung], over_rungs="require")
    decided = conditions.decide(matched(before.pairs, tuned.pairs, against), config.margin, against)
    better = tuple(task for task, block in decided.tasks.items() if block.verdict == "better")
    return Outcome(decided.gate.verdict == "promote", better, decided.gate.reasons)


@cache
def _pools() -> Pools:
    store = simulate_store(ORDERS, random.Random(SEED))
    rows = {
        task: list(map(as_prompt_row, EXAMPLE_MAKERS[task](store, random.Random(SEED), POOL + TRAINING)))
        for task in TASK_NAMES
    }
    return Pools(
        Databases.from_store(store),
        [row for of_task in rows.values() for row in of_task[:TRAINING]],
        {task: of_task[TRAINING:] for task, of_task in rows.items()},
    )


def _base(row: PromptRow, pools: Pools, generator: random.Random) -> str:
    """Return what the base says: a nearly right answer, to this prompt or to another one."""
    return TASKS[row.task].faults(_right(_about(row, pools, generator)), generator)


def _about(row: PromptRow, pools: Pools, generator: random.Random) -> PromptRow:
    """Return the prompt that the base answers: this one where it knows what to say."""
    return row if generator.random() < KNOWN_BY_BASE else generator.choice(pools.prompts[row.task])


def _right(row: PromptRow) -> str:
    return TASKS[row.task].answer(row.reference)


_KNOWN: dict[tuple[str, str], tuple[ScoredRollout, float | None]] = {}


def _scored(rollout: Rollout) -> tuple[ScoredRollout, float | None]:
    """Return an answer with its reward, and its ground truth; constants and echoes recur."""
    key = rollout.prompt_id, rollout.completion
    if key not in _KNOWN:
        databases = _pools().databases
        _KNOWN[key] = score_rollout(rollout, databases), truth_of(rollout, databases)
    return _KNOWN[key]


def _evaluated(rollouts: Sequence[Rollout], seed: int) -> Evaluated:
    known = [_scored(each) for each in rollouts]
    pairs = [
        PairedScore(prompt_id=each.prompt_id, task=each.task, seed=seed, sample=0, score=each.reward, truth=truth)
        for each, truth in known
    ]
    return Evaluated([each for each, _ in known], pairs, metrics_of(rollouts, _pools().databases))


if __name__ == "__main__":
    sys.exit(run_benchmark(__package__, __doc__, measure, arguments))
