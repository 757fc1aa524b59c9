"""Scores of a stand-in by task, on prompts of a simulated store that it was not trained on, for its card.

It answers as it would be served, under the grammars of all tasks but SQL.
"""

import random
from itertools import islice
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from schemas.tasks import TaskName
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import SERVED, grammar_of, score_rollout
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.curate.known_prompts import are_known
from tasks.curate.words import Hashes
from tasks.evaluate.ground_truth import metrics_of
from tasks.policy.generate import as_messages, generate
from tasks.synthesize.prompt_rows import as_prompt_row
from tasks.synthesize.simulated import simulate_store

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

STORE: Final = "stand-in-scores"
"""Seed of the store, which no profile can name and no training read."""
ORDERS: Final = 1500
TEMPERATURE: Final = 0.1
MAX_TOKENS: Final = 256
BATCH: Final = 48
MADE_FOR_ONE: Final = 4
"""Prompts that are made for each one asked: a third of the questions on sales are known by their words."""


def scores_by_task(
    model: "PreTrainedModel", tokenizer: "PreTrainedTokenizerBase", prompts: int, known: Hashes
) -> dict[TaskName, dict[str, Any]]:
    """Return each task's mean reward, distinct answers and ground truth on so many prompts, none of them known."""
    store = simulate_store(ORDERS, random.Random(f"{STORE}:store"))
    databases = Databases.from_store(store)
    found: dict[TaskName, dict[str, Any]] = {}
    for task, examples in EXAMPLE_MAKERS.items():
        made = list(examples(store, random.Random(f"{STORE}:{task}"), MADE_FOR_ONE * prompts))
        asked = (each.prompt for each in made)
        unknown = (each for each, told in zip(made, are_known(asked, known), strict=True) if not told)
        rows = [as_prompt_row(each) for each in islice(unknown, prompts)]
        answers = generate(
            model,
            tokenizer,
            [as_messages(row.system, row.prompt) for row in rows],
            temperature=TEMPERATURE,
            max_tokens=MAX_TOKENS,
            batch_size=BATCH,
            seed=0,
            grammars=[grammar_of(row.task, row.prompt, SERVED) for row in rows],
        )
        scored = [score_rollout(answer.as_rollout(row), databases) for row, answer in zip(rows, answers, strict=True)]
        found[task] = {
            "prompts": len(scored),
            "reward": round(fmean(each.reward for each in scored), 3),
            "distinct": len({each.completion for each in scored}),
            **{name: round(value, 3) for name, value in metrics_of(scored, databases)[task].items()},
        }
    return found
