import json
from pathlib import Path
from typing import Any

import pytest

from schemas.config.config import AUDIT_FOLDER
from schemas.documents import ScoredRollout
from schemas.errors import InputError
from schemas.json_lines import read_json_lines
from schemas.progress import silent
from tasks.commerce.registry import reward_version
from tasks.commerce.score_file import score_file
from tests.tasks.commerce.scoring import score

STORE = AUDIT_FOLDER / "store"
SENTIMENT = {
    "prompt_id": "a",
    "task": "sentiment",
    "prompt": "Avaliação: gostei",
    "completion": '{"polarity":"positive","score":5}',
    "reference": {"polarity": "positive", "score": 5},
    "run": "kept",
}
SQL = {
    "prompt_id": "b",
    "task": "sql_qa",
    "prompt": "Quantos pedidos há?",
    "completion": "SELECT COUNT(*) FROM orders",
    "reference": {"sql": "SELECT COUNT(order_id) FROM orders"},
}


def write(folder: Path, *rollouts: Any) -> Path:
    path = folder / "rollouts.jsonl"
    path.write_text("".join(json.dumps(rollout) + "\n" for rollout in rollouts), encoding="utf-8")
    return path


def test_each_rollout_is_written_with_its_score_and_all_that_it_had(tmp_path: Path) -> None:
    wrong = SENTIMENT | {"prompt_id": "c", "completion": "gostou"}
    path, output = write(tmp_path, SENTIMENT, wrong), tmp_path / "deep" / "scored.jsonl"
    summary = score_file(path, "grounded", None, output, silent, metrics=True)
    scored = read_json_lines(output, ScoredRollout, "scored rollouts")
    for rollout, found in zip((SENTIMENT, wrong), scored, strict=True):
        expected = score("sentiment", rollout["completion"], SENTIMENT["reference"], SENTIMENT["prompt"])  # type: ignore[arg-type]
        assert found.model_dump() == expected.model_dump() | rollout
        assert (found.spec, found.reward_version) == ("grounded", reward_version(found.task))
    assert [file.name for file in output.parent.iterdir()] == ["scored.jsonl"]
    figures = summary["tasks"]["sentiment"]
    assert summary["rollouts"] == figures["n"] == 2
    assert figures["reward"] == pytest.approx((scored[0].reward + scored[1].reward) / 2)
    assert figures["components"]["polarity"] == 0.5
    assert figures["metrics"]["accuracy"] == 0.5


def test_sql_is_executed_on_the_store(tmp_path: Path) -> None:
    summary = score_file(write(tmp_path, SQL), "grounded", STORE, None, silent, metrics=True)
    assert summary["tasks"]["sql_qa"]["metrics"] == {"execution_accuracy": 1.0}
    assert summary["tasks"]["sql_qa"]["reward"] == 1.0


def test_a_reference_query_that_does_not_run_is_named_by_its_line(tmp_path: Path) -> None:
    path = write(tmp_path, SENTIMENT, SQL | {"reference": {"sql": "SELECT nothing FROM nowhere"}})
    output = tmp_path / "scored.jsonl"
    output.write_text("what was there", encoding="utf-8")
    with pytest.raises(InputError, match=r"line 2: the reference query"):
        score_file(path, "grounded", STORE, output, silent, metrics=False)
    assert output.read_text(encoding="utf-8") == "what was there"
    assert not list(tmp_path.glob(".*"))


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        (b'{"prompt_id": "a", "task"', "line 2: Invalid JSON"),
        (
            json.dumps(SENTIMENT | {"reference": {"polarity": "positive"}}).encode(),
            "line 2: reference of sentiment: score is missing",
        ),
    ],
)
def test_a_bad_line_is_named_and_nothing_is_written(tmp_path: Path, line: bytes, sentence: str) -> None:
    path, output = tmp_path / "rollouts.jsonl", tmp_path / "scored.jsonl"
    path.write_bytes(json.dumps(SENTIMENT).encode() + b"\n" + line + b"\n")
    with pytest.raises(InputError) as refused:
        score_file(path, "grounded", None, output, silent, metrics=False)
    assert sentence in str(refused.value)
    assert [file.name for file in tmp_path.iterdir()] == ["rollouts.jsonl"]


def test_sql_without_a_store_and_an_output_that_cannot_be_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"1 of them are of sql_qa.*--store"):
        score_file(write(tmp_path, SENTIMENT, SQL), "grounded", None, None, silent, metrics=False)
    for output in (tmp_path, tmp_path / "rollouts.jsonl" / "x"):
        with pytest.raises(InputError, match="cannot be written"):
            score_file(write(tmp_path, SENTIMENT), "grounded", None, output, silent, metrics=False)
    assert [file.name for file in tmp_path.iterdir()] == ["rollouts.jsonl"]
