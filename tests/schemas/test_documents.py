"""Lines of documents: a fault is named by its line, and no word that a person may have written is repeated."""

import json
import os
import tracemalloc
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from schemas import json_lines
from schemas.documents import PairedScore, Rollout
from schemas.errors import InputError
from schemas.faults import first_fault
from schemas.json_lines import read_json_lines, stream_json_lines
from schemas.tables.rollout_tables import read_rollouts
from schemas.tasks import TASK_NAMES, TaskName
from tests.cases import cases_of

CASES = cases_of(__file__)

SCORE = PairedScore(prompt_id="a\u2028b", task="push", seed=0, sample=0, score=0.5)
GOOD = {"prompt_id": "1", "task": "extraction", "prompt": "p", "completion": "c"}
SHAPES: dict[TaskName, dict[str, Any]] = {
    "extraction": {"rating": 2, "fields": {"sentiment": "negative", "churn_risk": 0.8, "delivery_issue": True}},
    "sql_qa": {"sql": "SELECT COUNT(*) FROM orders"},
    "insights": {"facts": ["SP: receita de R$ 10", 4, 4.5]},
    "push": {"product": "brinquedos", "offer": "frete grátis"},
    "sentiment": {"polarity": "neutral", "score": 3},
    "churn": {"churn": False},
}


def fault(**changes: object) -> str:
    with pytest.raises(ValidationError) as caught:
        Rollout.model_validate_json(json.dumps({**GOOD, **changes}), strict=True)
    return first_fault(caught.value)


@pytest.mark.parametrize("task", TASK_NAMES)
def test_a_reference_without_one_of_its_keys_is_refused(task: TaskName) -> None:
    for key in SHAPES[task]:
        reference = {name: value for name, value in SHAPES[task].items() if name != key}
        assert f"reference of {task}: {key} is missing" in fault(task=task, reference=reference)


@pytest.mark.parametrize("changes", CASES["no_word_and_no_number_of_a_person_is_repeated"])
def test_no_word_and_no_number_of_a_person_is_repeated(changes: dict[str, Any]) -> None:
    said = fault(**changes).lower()
    assert "maria" not in said
    assert "52998" not in said


@pytest.mark.parametrize(("line", "complaint"), CASES["names_the_line_that_is_no_such_document"])
def test_names_the_line_that_is_no_such_document(tmp_path: Path, line: str, complaint: str) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text(f"{SCORE.model_dump_json()}\n{line}\n{SCORE.model_dump_json()}\n", encoding="utf-8")
    with pytest.raises(InputError, match=rf"scores .*scores\.jsonl: line 2.*{complaint}"):
        read_json_lines(path, PairedScore, "scores")


@pytest.mark.parametrize("size", [None, 10**6])
def test_a_file_that_lacks_its_line_feeds_is_not_read_whole(
    tmp_path: Path, size: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, good = tmp_path / "scores.jsonl", f"{SCORE.model_dump_json()}\n"
    monkeypatch.setattr(json_lines, "_LONGEST", len(good.encode()))
    path.write_text(good * 2, encoding="utf-8")
    assert len(list(stream_json_lines(path, PairedScore, "scores", size))) == 2
    path.write_text(good + good.rstrip("\n") * 3, encoding="utf-8")
    with pytest.raises(InputError, match=r"scores\.jsonl: line 2 is longer than 0 MB; write one JSON object a line"):
        list(stream_json_lines(path, PairedScore, "scores", size))
    os.truncate(path, 10**8)
    tracemalloc.start()
    with pytest.raises(InputError, match="line 2 is longer"):
        list(stream_json_lines(path, PairedScore, "scores", size and 10**8))
    assert tracemalloc.get_traced_memory()[1] < 10**6
    tracemalloc.stop()


@pytest.mark.parametrize("changes", [{"prompt": "Outro"}, {"task": "insights"}])
def test_one_identity_of_two_prompts_is_named(tmp_path: Path, changes: dict[str, str]) -> None:
    push, path = {**GOOD, "task": "push"}, tmp_path / "rollouts.jsonl"
    lines = (push, {**push, "prompt_id": "2"}, {**push, **changes})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with pytest.raises(InputError, match=r"rollouts\.jsonl: row 3: not true: one prompt for each prompt id"):
        read_rollouts(path)
