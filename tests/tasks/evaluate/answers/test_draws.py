"""Rungs of several draws: what is chosen, what has a vote, and how the answers are numbered."""

import json
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.config.config import AUDIT_FOLDER
from schemas.config.evaluate import DRAWS
from schemas.documents import Rollout
from schemas.store.files import read_store
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.evaluate.answers.draws import choose, most_frequent, most_frequent_fields


@pytest.fixture(scope="module")
def databases() -> Databases:
    return Databases.from_store(read_store(AUDIT_FOLDER / "store"))


def draws(texts: Sequence[str], prompt_id: str = "a") -> list[Rollout]:
    return [
        Rollout.model_validate(
            {"prompt_id": prompt_id, "task": "push", "prompt": "?", "completion": text, "sample": sample}
            | {"reference": {"product": "tênis", "offer": "10% de desconto"}}
        )
        for sample, text in enumerate(texts)
    ]


def letters(completion: Rollout) -> float:
    return float(len(completion.completion))


def test_the_best_of_four_reads_the_first_four_of_every_eight(databases: Databases) -> None:
    texts = ["a", "aaa", "aa", "a", "aaaaaaaa", "a", "a", "a", "b", "bb", "b", "b", "b", "b", "b", "bbb"]
    of_four = choose("base-best-of-4", draws(texts), letters, databases)
    of_eight = choose("base-best-of-8", draws(texts), letters, databases)

    assert [each.completion for each in of_four] == ["aaa", "bb"]
    assert [each.completion for each in of_eight] == ["aaaaaaaa", "bbb"]
    assert [(each.model_extra or {})["sample"] for each in of_four] == [0, 1]


def test_each_prompt_chooses_among_its_own_draws(databases: Databases) -> None:
    both = draws(["a"] * DRAWS, prompt_id="a") + draws(["bbb"] * DRAWS, prompt_id="b")
    chosen = choose("base-best-of-8", both, letters, databases)
    assert {each.prompt_id: each.completion for each in chosen} == {"a": "a", "b": "bbb"}


def test_fields_are_voted_on_one_by_one_and_malformed_answers_have_no_vote(databases: Databases) -> None:
    answers = [
        '{"polarity": "positive", "score": 5}',
        '{"polarity": "negative", "score": 5}',
        '{"polarity": "positive", "score": 4}',
        "gostei",
        "gostei",
        "gostei",
        "gostei",
    ]
    found = most_frequent("sentiment", answers, databases)
    assert json.loads(found) == {"polarity": "positive", "score": 5}
    assert most_frequent("sentiment", ["gostei", "odiei"], databases) == "gostei"


def test_a_field_that_few_answers_have_is_left_out() -> None:
    assert most_frequent_fields([{"a": 1}, {"a": 1, "b": 2}, {"a": 2}]) == '{"a":1}'


def test_queries_vote_by_their_rows_and_one_that_does_not_run_has_none(databases: Databases) -> None:
    wrong = "SELECT COUNT(*) + 1 FROM orders"
    answers = [
        "SELEC",
        "SELEC",
        "SELEC",
        wrong,
        "SELECT COUNT(*) FROM orders",
        "```sql\nselect count(*) from orders\n```",
    ]
    assert most_frequent("sql_qa", answers, databases) == answers[4]
    assert most_frequent("sql_qa", ["SELEC", "SELECT"], databases) == "SELEC"


def test_prose_has_no_majority(databases: Databases) -> None:
    assert most_frequent("push", ["a", "b", "b"], databases) == "a"


@given(st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(0, 2) | st.none()), min_size=1))
def test_a_majority_of_equal_objects_is_that_object(objects: list[dict[str, Any]]) -> None:
    one = objects[0]
    assert json.loads(most_frequent_fields([*[one] * (len(objects) + 1), *objects])) == one
