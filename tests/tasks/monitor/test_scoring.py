import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import polars as pl
import pytest

from schemas.documents import Rollout
from schemas.store.files import read_store
from schemas.tasks import SPEC_NAMES
from tasks.commerce.registry import score_rollout
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.monitor.known_parts import known_parts
from tasks.monitor.scoring import (
    KEY,
    PROMPT_IS_UNREAD,
    REFERENCE_IS_UNREAD,
    Rewards,
    baselines_of,
    champion_answers,
    kept_where,
    score_piece,
    scored,
    without_broken_queries,
)

AUDIT = Path(__file__).parents[3] / "data" / "audit"
STORE = AUDIT / "store"


@pytest.fixture(scope="module")
def answers() -> pl.DataFrame:
    return champion_answers(AUDIT / "rollouts.jsonl")


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


def test_a_task_is_scored_with_references_only_where_every_answer_has_one(answers: pl.DataFrame) -> None:
    first_push = answers.with_row_index().filter(pl.col("task") == "push")["index"][0]
    some = answers.with_columns(
        pl.when(pl.int_range(pl.len()) == first_push).then(None).otherwise(pl.col("reference")).alias("reference")
    )
    assert {task for task, parts in rewards(some).references.items() if not parts} == {"push"}
    without = answers.with_columns(pl.lit(None, pl.String).alias("reference"))
    mixed, never, always = (scored(each, rewards(each), here) for each in (some, without, answers))
    for found, like in (("push", never), ("churn", always)):
        assert mixed.filter(pl.col("task") == found)["reward"].equals(like.filter(pl.col("task") == found)["reward"])
    assert fmean(never["reward"]) != pytest.approx(fmean(always["reward"]))


def test_an_answer_that_is_there_often_is_scored_once(answers: pl.DataFrame) -> None:
    seen: list[tuple[str, ...]] = []

    def counting(function: Any, things: Sequence[Any]) -> Any:
        for thing in things:
            seen.extend(thing)
        return map(function, things)

    few = answers.head(5)
    many = pl.concat([few] * 20)
    found = scored(many, rewards(few), counting)
    assert len(seen) == len(set(seen)) <= few.select(KEY).n_unique()
    assert found["reward"].to_list() == scored(few, rewards(few), here)["reward"].to_list() * 20


@pytest.mark.parametrize("spec", SPEC_NAMES)
def test_a_task_whose_prompt_is_unread_is_worth_the_same_after_any_prompt(answers: pl.DataFrame, spec: Any) -> None:
    unread = answers.filter(pl.col("task").is_in(list(PROMPT_IS_UNREAD[spec])))
    for reference in (pl.col("reference"), pl.lit(None, pl.String)):
        rows = unread.with_columns(reference.alias("reference")).select(KEY)
        other = rows.with_columns(("Nota: 1\n" + pl.col("prompt").str.reverse()).alias("prompt"))
        assert score_piece(spec, STORE, rows.rows()) == score_piece(spec, STORE, other.rows())


def test_those_tasks_are_worth_the_same_without_a_reference_that_are_said_to_be(answers: pl.DataFrame) -> None:
    without = answers.with_columns(pl.lit(None, pl.String).alias("reference"))
    found = [score_piece("grounded", STORE, each.select(KEY).rows()) for each in (answers, without)]
    changed = {task for task, one, other in zip(answers["task"], *found, strict=True) if one.reward != other.reward}
    assert set(answers["task"]) - changed == REFERENCE_IS_UNREAD["grounded"]


@pytest.mark.parametrize(
    ("task", "completion", "valid"),
    [
        ("sentiment", '{"polarity": "positive", "score": 5}', True),
        ("sentiment", '```json\n{"polarity": "positive", "score": 5}\n```', False),
        ("sentiment", '{"polarity": "positive", "score": 5', False),
        ("sentiment", "Desculpe, não posso.", False),
        ("sql_qa", "SELECT COUNT(*) FROM orders", True),
        ("sql_qa", "SELECT COUNT(*) FROM pedidos", False),
        ("push", "Oferta!", None),
        ("insights", "Tudo bem.", False),
    ],
)
def test_the_form_is_right_or_wrong_or_none_is_asked_for(task: Any, completion: str, valid: bool | None) -> None:
    (with_none,) = score_piece("grounded", STORE, [(task, "?", completion, None)])
    assert with_none.valid is valid


def test_a_query_that_runs_is_valid_also_where_its_result_is_wrong() -> None:
    reference = json.dumps({"sql": "SELECT COUNT(*) FROM reviews WHERE review_score = 1"})
    (wrong,) = score_piece("grounded", STORE, [("sql_qa", "?", "SELECT COUNT(*) FROM orders", reference)])
    assert wrong.valid
    assert wrong.reward < 0.5


def test_reference_queries_that_do_not_run_are_taken_out_and_counted() -> None:
    queries = ["SELECT 1 FROM nowhere", "SELECT COUNT(*) FROM orders", None, "SELECT 1 FROM nowhere"]
    references = [json.dumps({"sql": query}) for query in queries]
    table = pl.DataFrame({"task": ["sql_qa"] * 4 + ["push"], "reference": [*references, references[0]]})
    kept, broken = without_broken_queries(table, "grounded", STORE, here)
    assert kept["reference"].to_list() == [None, references[1], references[2], None, references[0]]
    assert broken == 2
    # v4.2 runs none, and without a store nothing runs.
    assert (
        without_broken_queries(table, "v4.2", STORE, here)[1]
        == without_broken_queries(table, "grounded", None, here)[1]
        == 0
    )


def test_without_a_store_queries_are_left_out_and_counted(answers: pl.DataFrame) -> None:
    kept, lost = kept_where(answers, "grounded", None)
    (count,) = lost.values()
    assert kept.height + count == answers.height
    assert "sql_qa" not in set(kept["task"])
    assert scored(kept, rewards(answers, None), here)["reward"].null_count() == 0
    assert kept_where(answers, "grounded", STORE)[1] == {}
    # v4.2 runs nothing.
    assert kept_where(answers, "v4.2", None)[1] == {}


def test_answers_to_one_prompt_count_as_one() -> None:
    tested = pl.DataFrame({"task": ["push"] * 4, "prompt_id": ["a", "a", "a", "b"], "reward": [1.0, 1.0, 1.0, 0.5]})
    (push,) = baselines_of(tested).values()
    assert push.mean == 0.75
    assert (push.prompts, push.answers) == (2, 4)
    more = pl.concat([tested, tested])
    assert baselines_of(more)["push"].standard_error == push.standard_error
