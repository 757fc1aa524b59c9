from pathlib import Path
from typing import Any

import polars as pl
import pytest

from schemas.documents import PairedScore, Rollout
from schemas.errors import InputError
from schemas.tables.rollout_tables import PairedScores, TrainingRollouts, read_rollouts
from schemas.tables.table_check import as_table, validate_table


def rollout(**values: Any) -> Rollout:
    return Rollout(**{"prompt_id": "p1", "task": "push", "prompt": "Crie um push", "completion": "Oi", **values})


def write(path: Path, *documents: Any) -> Path:
    path.write_text("".join(document.model_dump_json() + "\n" for document in documents), encoding="utf-8")
    return path


@pytest.mark.parametrize("changes", [{"prompt": "Outro"}, {"task": "insights"}])
def test_one_identity_of_two_prompts_is_named(tmp_path: Path, changes: dict[str, str]) -> None:
    path = write(tmp_path / "rollouts.jsonl", rollout(), rollout(prompt_id="p2"), rollout(**changes))
    with pytest.raises(InputError, match=r"rollouts\.jsonl: row 3: not true: one prompt for each prompt id"):
        read_rollouts(path)


def test_scores_of_several_seeds_and_samples_are_one_table() -> None:
    scores = [
        PairedScore(prompt_id="p", task="push", seed=seed, sample=sample, score=1, truth=truth)
        for seed in (-1, 2)
        for sample, truth in enumerate((None, 0.5))
    ]
    assert validate_table(as_table(scores, PairedScores), PairedScores, "scores").height == 4
    with pytest.raises(InputError, match="rows 1, 5: task, prompt_id, seed, sample together are there more than once"):
        validate_table(as_table([*scores, scores[0]], PairedScores), PairedScores, "scores")


TRAINED: dict[str, Any] = {
    "prompt_id": "a" * 64,
    "task": "push",
    "step": 1,
    "seed": 0,
    "completion": "",
    "components": '{"short": 1.0}',
    "reward": 0.5,
    "advantage": -0.25,
    "tokens": 3,
    "stop_reason": "token_limit",
    "corrected": False,
}


def _check_trained(**changed: Any) -> None:
    table = pl.DataFrame([TRAINED, {**TRAINED, **changed}])
    validate_table(table, TrainingRollouts, "rollouts")


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"prompt_id": "push-1"}, "row 2: prompt_id fails"),
        ({"task": "sentiment"}, "row 2: not true: one task for each prompt id"),
        ({"step": 0}, "row 2: step fails"),
        ({"completion": None}, "row 2: completion is empty"),
        ({"components": "short"}, "row 2: components fails"),
        ({"reward": 1.5}, "row 2: reward fails"),
        ({"stop_reason": "tired"}, "row 2: stop_reason fails"),
    ],
)
def test_an_invalid_training_log_is_named_by_row_and_column(changed: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        _check_trained(**changed)
