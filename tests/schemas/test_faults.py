"""A fault is said without a word that a person may have written."""

import json

import pytest
from pydantic import ValidationError

from schemas.documents import Rollout
from schemas.faults import first_fault

GOOD = {"prompt_id": "1", "task": "extraction", "prompt": "p", "completion": "c"}


def fault(**changes: object) -> str:
    with pytest.raises(ValidationError) as caught:
        Rollout.model_validate_json(json.dumps({**GOOD, **changes}), strict=True)
    return first_fault(caught.value)


@pytest.mark.parametrize(
    "reference",
    [
        {"rating": "Maria Souza", "fields": None},
        {"rating": 1, "fields": {"Maria Souza maria@x.com 11 99999-0000": 1}},
        {"rating": 1, "fields": {"sentiment": "Maria Souza mora na Rua das Flores"}},
        {"rating": {"Maria": 1}, "fields": None},
    ],
)
def test_no_persons_word_is_repeated(reference: dict[str, object]) -> None:
    assert "maria" not in fault(reference=reference).lower()


@pytest.mark.parametrize("changes", [{"prompt": 52998224725}, {"task": "52998224725"}, {"prompt": 529982247.25}])
def test_no_number_that_may_be_a_persons_is_repeated(changes: dict[str, object]) -> None:
    assert "52998" not in fault(**changes)
