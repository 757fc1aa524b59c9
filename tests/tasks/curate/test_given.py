"""People's references in a dataset: what is unknown is completed, what is known is never overwritten."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import InputError
from schemas.tables.prompts import SPLITS, PromptRow, read_prompts
from tasks.curate.files import split_file
from tasks.curate.given import complete_splits, read_references
from tests.prompt_tables import write_prompts
from tests.tasks.curate.prompt_rows import prompt_row

UNTOLD = prompt_row("sentiment", "Veio quebrado", {"polarity": None, "score": None})
PARTLY = prompt_row("extraction", "Atrasou", {"rating": 2, "fields": {"sentiment": "negative"}})
OF_TRAIN = prompt_row("sentiment", "Chegou bem", {"polarity": None, "score": None})


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    rows = {"train": [OF_TRAIN], "validation": [PARTLY], "test": [prompt_row("push", "mala"), UNTOLD]}
    for split in SPLITS:
        write_prompts(rows[split], split_file(tmp_path, split))
    return tmp_path


def given(folder: Path, *lines: tuple[PromptRow, str, dict[str, Any]]) -> Path:
    path = folder / "references.jsonl"
    documents = (
        {"prompt_id": row.prompt_id, "task": task, "reference": reference, "rater": "ana"}
        for row, task, reference in lines
    )
    path.write_text("".join(json.dumps(document) + "\n" for document in documents), encoding="utf-8")
    return path


def test_unknown_values_are_completed_in_validation_and_test_alone(dataset: Path) -> None:
    before = split_file(dataset, "train").read_bytes()
    file = given(
        dataset,
        (UNTOLD, "sentiment", {"polarity": "negative", "score": None}),
        (PARTLY, "extraction", {"fields": {"delivery_issue": True, "main_complaint": "ligue 529.982.247-25"}}),
        (OF_TRAIN, "sentiment", {"polarity": "positive"}),
        (prompt_row("sentiment", "?"), "sentiment", {"polarity": "positive"}),
    )
    references = read_references(file)
    completed = complete_splits(dataset, references)
    validation, test = (read_prompts(split_file(dataset, split)) for split in ("validation", "test"))
    assert [row.reference for row in test] == [
        prompt_row("push", "mala").reference,
        {"polarity": "negative", "score": None},
    ]
    assert validation[0].reference == {
        "rating": 2,
        "fields": {"sentiment": "negative", "delivery_issue": True, "main_complaint": "ligue [CPF]"},
    }
    assert [row.prompt_id for row in test][1] == UNTOLD.prompt_id
    assert split_file(dataset, "train").read_bytes() == before
    assert completed.by_people == {("validation", "extraction"): 1, ("test", "sentiment"): 1}
    assert +completed.now_known == Counter({("test", "sentiment"): 1})
    assert completed.left_out == 2
    assert references.scrubbed == {"CPF": 1}


def test_a_contradiction_to_what_is_known_is_a_sentence_with_the_prompt(dataset: Path) -> None:
    file = given(dataset, (PARTLY, "extraction", {"fields": {"sentiment": "positive", "churn_risk": 0.1}}))
    with pytest.raises(InputError, match=f"{PARTLY.prompt_id} another sentiment is known than a person gave"):
        complete_splits(dataset, read_references(file))
    with pytest.raises(InputError, match=f"{PARTLY.prompt_id} is of extraction, and not of sentiment"):
        complete_splits(dataset, read_references(given(dataset, (PARTLY, "sentiment", {"score": 1}))))


def test_two_people_complete_each_other_and_may_not_contradict(dataset: Path) -> None:
    one, other = (UNTOLD, "sentiment", {"polarity": "negative"}), (UNTOLD, "sentiment", {"score": 1})
    (both,) = read_references(given(dataset, one, other)).by_prompt.values()
    assert both.values == {"polarity": "negative", "score": 1}
    with pytest.raises(InputError, match=f"two lines of prompt {UNTOLD.prompt_id} differ in polarity; correct"):
        read_references(given(dataset, one, (UNTOLD, "sentiment", {"polarity": "neutral"})))
