"""Rewards of logged answers by the parts that all references know, and answers that are none."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from schemas.documents import Rollout
from schemas.store.files import read_store
from schemas.tables.rollout_tables import document_table, read_rollouts
from schemas.tasks import TASK_NAMES
from tasks.commerce.registry import score_rollout
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.monitor.scoring import (
    KEY,
    KnownParts,
    Rewards,
    baselines_of,
    is_answer,
    known_parts,
    score_piece,
    scored,
    with_parts,
    without_broken_queries,
)
from tests.cases import cases_of

CASES = cases_of(__file__)

AUDIT = Path(__file__).parents[3] / "data" / "audit"
STORE = AUDIT / "store"


@pytest.fixture(scope="module")
def answers() -> pl.DataFrame:
    return document_table(read_rollouts(AUDIT / "rollouts.jsonl"), Rollout)


def rewards(answers: pl.DataFrame, store: Path | None = STORE) -> Rewards:
    return Rewards("grounded", store, {task: parts.by_each for task, parts in known_parts(answers).items()})


def here(function: Any, things: Sequence[Any]) -> Any:
    return map(function, things)


def test_rewards_are_those_of_the_audit_and_training(answers: pl.DataFrame) -> None:
    found = scored(answers, rewards(answers), here)
    databases = Databases.from_store(read_store(STORE))
    for row in found.sample(60, seed=1).to_dicts():
        reference = json.loads(row["reference"])
        rollout = Rollout(**{**{name: row[name] for name in KEY}, "prompt_id": "p", "reference": reference})
        assert row["reward"] == score_rollout(rollout, databases).reward
    assert found["prompt_id"].to_list() == answers["prompt_id"].to_list()
    assert found["characters"].to_list() == [len(text) for text in answers["completion"]]


@pytest.mark.parametrize(("task", "completion", "valid"), CASES["the_form_is_right_or_wrong_or_none_is_asked_for"])
def test_the_form_is_right_or_wrong_or_none_is_asked_for(task: Any, completion: str, valid: bool | None) -> None:
    (with_none,) = score_piece("grounded", STORE, [(task, "?", completion, None)])
    assert with_none.valid is valid


def test_reference_queries_that_do_not_run_are_taken_out_and_counted() -> None:
    queries = ["SELECT 1 FROM nowhere", "SELECT COUNT(*) FROM orders", None, "SELECT 1 FROM nowhere"]
    references = [json.dumps({"sql": query}) for query in queries]
    table = pl.DataFrame({"task": ["sql_qa"] * 4 + ["push"], "reference": [*references, references[0]]})
    kept, broken = without_broken_queries(table, "grounded", STORE, here)
    assert kept["reference"].to_list() == [None, references[1], references[2], None, references[0]]
    assert broken == 2
    # v4.2 runs none, and without a store nothing runs.
    assert without_broken_queries(table, "v4.2", STORE, here)[1] == 0
    assert without_broken_queries(table, "grounded", None, here)[1] == 0


def test_answers_to_one_prompt_count_as_one() -> None:
    tested = pl.DataFrame({"task": ["push"] * 4, "prompt_id": ["a", "a", "a", "b"], "reward": [1.0, 1.0, 1.0, 0.5]})
    (push,) = baselines_of(tested).values()
    assert push.mean == 0.75
    assert (push.prompts, push.answers) == (2, 4)
    more = pl.concat([tested, tested])
    assert baselines_of(more)["push"].standard_error == push.standard_error


PROMPT = "Crie um push.\nProduto: vaso de cerâmica\nOferta: 20% de desconto\nPúblico: clientes novos"


@pytest.mark.parametrize("text", CASES["no_answer_is_found_in_three_languages_and_behind_what_nobody_sees"])
def test_no_answer_is_found_in_three_languages_and_behind_what_nobody_sees(text: str) -> None:
    assert not is_answer("push", PROMPT, text)


@pytest.mark.parametrize("text", CASES["words_of_shops_and_shoppers_are_an_answer"])
def test_words_of_shops_and_shoppers_are_an_answer(text: str) -> None:
    assert is_answer("push", PROMPT, text)
    assert is_answer("churn", "", json.dumps({"churn": True, "reasoning": text}))


def test_a_repeated_prompt_is_none_and_a_part_of_it_that_a_push_quotes_is_one() -> None:
    assert not is_answer("push", PROMPT, PROMPT)
    assert not is_answer("push", PROMPT, PROMPT.partition("\n")[2].upper())
    assert is_answer("push", PROMPT, "20% de desconto")


def test_a_hostile_text_raises_nothing() -> None:
    # The last character is 18 in its normal form.
    for text in ("{" * 50_000, '{"a": ' * 9_000, "não " * 50_000, "\u200b" * 90_000, "\ufdfa" * 90_000):
        for task in TASK_NAMES:
            is_answer(task, PROMPT, text)


def table(*rows: tuple[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "task": [task for task, _ in rows],
            "reference": pl.Series([reference and json.dumps(reference) for _, reference in rows], dtype=pl.String),
        }
    )


def test_a_part_is_known_by_each_reference_or_by_some() -> None:
    readings = [("sentiment", {"polarity": "positive", "score": score}) for score in (5, None)]
    assert known_parts(table(*readings, ("churn", {"churn": True}), ("churn", None))) == {
        "sentiment": KnownParts(frozenset({"polarity"}), frozenset({"polarity", "score"})),
        "churn": KnownParts(frozenset(), frozenset({"churn"})),
    }


def test_parts_that_not_all_know_are_removed_and_nothing_else() -> None:
    fields = {"sentiment": "positive", "delivery_issue": True}
    answers = table(
        ("extraction", {"rating": 5, "fields": fields, "note": {"rating": 1}}),
        ("extraction", {"rating": 5, "fields": {"sentiment": "positive"}}),
        ("sentiment", {"polarity": "positive", "score": 5}),
        ("push", None),
    ).with_row_index()
    cut = with_parts(answers, {"extraction": {"rating", "fields.sentiment"}, "sentiment": set()})
    assert cut["index"].equals(answers["index"])
    assert cut["reference"][1] == answers["reference"][1]
    assert json.loads(cut["reference"][0]) == {
        "rating": 5,
        "fields": {"sentiment": "positive", "delivery_issue": None},
        "note": {"rating": 1},
    }
    assert cut["reference"][2:].to_list() == [None, None]
