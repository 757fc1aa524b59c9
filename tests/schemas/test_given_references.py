"""References that people gave: what a line may hold, and the sentence where it holds anything else."""

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import InputError
from schemas.given_references import ASKED_FIELDS, read_given, values_of, with_values

LINE = {"prompt_id": "a" * 64, "task": "sentiment", "reference": {"polarity": "positive"}, "rater": "ana-1"}


def written(folder: Path, *lines: dict[str, Any]) -> Path:
    path = folder / "references.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"task": "push", "reference": {"product": "mala"}}, "task: Input should be 'extraction' or 'sentiment'"),
        ({"reference": {"polarity": "boa"}}, "polarity: Input should be 'positive', 'neutral' or 'negative'"),
        ({"reference": {"polaridade": "positive"}}, "of sentiment it has polarity, score"),
        ({"rater": "Ana Maria"}, "rater: String should match pattern"),
    ],
)
def test_another_line_is_refused_by_its_number_and_fault(tmp_path: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=r"references .*: line 2: ") as refused:
        read_given(written(tmp_path, LINE, {**LINE, **change}))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert "Maria" not in str(refused.value)


def test_values_go_into_a_reference_and_come_out_again() -> None:
    assert with_values("extraction", {"rating": 2, "fields": None}, {"churn_risk": 0.5}) == {
        "rating": 2,
        "fields": {"churn_risk": 0.5},
    }
    for task, fields in ASKED_FIELDS.items():
        values = dict.fromkeys(fields)
        assert values_of(task, with_values(task, {}, values)) == values
    assert values_of("push", {"product": "mala", "score": 5}) == {}
