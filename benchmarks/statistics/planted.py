"""Planted models through the whole gate.

Each evaluation draws forty simulated prompts of each task, a base that knows some of the answers, and a tuned model:

- *constant*: the text that earns most on training prompts, for every prompt of a task.
- *nothing*: another draw of the base.
- *form*: what the base knows, in the right form: what guided decoding alone makes of it.
- *content*: nine of ten answers are the references', the others the base's.

Form and content are judged with `promote.over_rungs = require`, beside a rung that costs no more to serve: another draw
of what the base knows, in the right form.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from typing import Final, Literal, NamedTuple

from schemas.config.evaluate import EvaluateConfig
from schemas.documents import PairedScore, Rollout, ScoredRollout
from schemas.tables.prompts import PromptRow
from schemas.tasks import TASK_NAMES, TaskName
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import TASKS, score_rollout
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.evaluate.answers.baselines import baselines as choose_baselines
from tasks.evaluate.compare import Comparison, compare
from tasks.evaluate.decision import Evaluated, Evidence, claims_of
from tasks.evaluate.ground_truth import metrics_of, truth_of
from tasks.synthesize.simulated import as_prompt_row, simulate_store

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
MARGIN: Final = 0.10
"""The profile's."""

Planted = Literal["constant", "nothing", "form", "content"]


class Outcome(NamedTuple):
    """Result of one evaluation."""

    promoted: bool
    better: tuple[TaskName, ...]


class _Pools(NamedTuple):
    databases: Databases
    training: Sequence[PromptRow]
    prompts: Mapping[TaskName, Sequence[PromptRow]]


def evaluate(job: tuple[Planted, int]) -> Outcome:
    """Evaluate one planted model, drawn from a seed."""
    planted, seed = job
    pools, generator = _pools(), random.Random(f"{SEED}:{seed}")
    config = EvaluateConfig(margin=MARGIN, resamples=RESAMPLES)
    asked = [row for task in TASK_NAMES for row in generator.sample(pools.prompts[task], PROMPTS)]
    base = [row.answered(_base(row, pools, generator), sample=0) for row in asked]
    found = choose_baselines(pools.training, base, lambda rollout: _scored(rollout)[0].reward, seed)
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

    scores = {each.name: _evaluated(each.rollouts, seed).pairs for each in found}
    scores |= {"base": before.pairs, "tuned": tuned.pairs}
    baselines = {each.name: each.says for each in found}
    evidence = Evidence(claims_of(config, before, tuned), seed, baselines)
    if planted in ("form", "content"):
        guided = [row.answered(answers["form"](row), sample=0) for row in asked]
        scores["base-guided"] = _evaluated(guided, seed).pairs
        evidence = replace(evidence, rungs=["base-guided"], over_rungs="require")
    decided = evidence.decide(scores, config.margin, against).comparison
    better = tuple(task for task, block in decided.tasks.items() if block.verdict == "better")
    return Outcome(decided.gate.verdict == "promote", better)


@cache
def _pools() -> _Pools:
    store = simulate_store(ORDERS, random.Random(SEED))
    rows = {
        task: list(map(as_prompt_row, EXAMPLE_MAKERS[task](store, random.Random(SEED), POOL + TRAINING)))
        for task in TASK_NAMES
    }
    return _Pools(
        Databases.from_store(store),
        [row for of_task in rows.values() for row in of_task[:TRAINING]],
        {task: of_task[TRAINING:] for task, of_task in rows.items()},
    )


def _base(row: PromptRow, pools: _Pools, generator: random.Random) -> str:
    """Return what the base says: a nearly right answer, to this prompt or to another one."""
    return TASKS[row.task].faults(_right(_about(row, pools, generator)), generator)


def _about(row: PromptRow, pools: _Pools, generator: random.Random) -> PromptRow:
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
