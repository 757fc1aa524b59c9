"""A small training's log, and answers of two models, for the tests of the browser of completions."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import polars as pl

from schemas.documents import ScoredRollout
from schemas.tables.prompts import PromptRow
from tasks.evaluate.completions.rows import LoggedTraining, RaisedAlarm, ShownAnswers
from tests.tasks.curate.prompt_rows import prompt_row

PROMPTS: Final = tuple(prompt_row("push", f"Tênis {name} com 10% de desconto") for name in "abc")
TESTED: Final = tuple(prompt_row("sentiment", f"Avaliação {name}") for name in "ab")


def rollout(
    prompt: int, step: int, completion: str, reward: float, advantage: float | None = 0.5, **others: Any
) -> dict[str, Any]:
    row = PROMPTS[prompt]
    components = json.dumps({"product": reward, "style": reward / 2})
    known = {"seed": 7, "tokens": 5, "stop_reason": "end_of_turn", "corrected": False, "components": components}
    identity = {"prompt_id": row.prompt_id, "task": row.task, "step": step}
    return {**identity, **known, "completion": completion, "reward": reward, "advantage": advantage, **others}


def training(folder: Path, rollouts: Iterable[dict[str, Any]]) -> LoggedTraining:
    file = folder / "step-000001-000020.parquet"
    pl.DataFrame(list(rollouts), infer_schema_length=None).write_parquet(file)
    alarm = RaisedAlarm(2, "one_answer", "the answers of push were alike")
    return LoggedTraining(7, (file,), {0: {"push": 0.25}, 2: {"push": 0.5}}, (alarm,))


def steps() -> list[dict[str, Any]]:
    """Return three groups of two at each of two steps."""
    return [
        rollout(prompt, step, f"Passo {step}, prompt {prompt}, resposta {number}", 0.25 * number + 0.1 * prompt)
        for step in (1, 2)
        for prompt in range(3)
        for number in range(2)
    ]


def scored(row: PromptRow, text: str, reward: float) -> ScoredRollout:
    return ScoredRollout(
        **row.answered(text, sample=0, tokens=4, stop_reason="end_of_turn").model_dump(),
        reward=reward,
        components={"polarity": reward},
        parsed=None,
        spec="grounded",
        reward_version="v",
    )


def answers(*texts: str, reward: float = 0.5) -> ShownAnswers:
    return ShownAnswers([scored(row, text, reward) for row, text in zip(TESTED, texts, strict=True)], [1.0, None])
