"""Of an audit sheet come the pairs that people scored differently, and who those people are."""

from collections import Counter
from pathlib import Path

import pytest

from schemas.documents import Rollout
from schemas.errors import InputError
from schemas.tables.delimited import Dialect
from tasks.audit.sheet import as_row, read_rows, write_rows
from tasks.evaluate.judge.agreement import SHEET_FILE, read_scored_pairs

SHIPPED = Path("data/audit")

Score = tuple[str, str, int, str]
"""Prompt, completion, score and kind of rater."""


def write_sheet(folder: Path, scores: list[Score], task: str = "insights") -> Path:
    rows = []
    for prompt_id, completion, score, kind in scores:
        rollout = Rollout.model_validate(
            {"prompt_id": prompt_id, "task": task, "prompt": f"Analise {prompt_id}", "completion": completion}
        )
        rows.append(as_row(rollout, "all") | {"human_score": str(score), "rater": f"{kind}-1", "rater_kind": kind})
    write_rows(folder / SHEET_FILE, rows)
    return folder


def test_the_shipped_sheet_gives_pairs_and_says_that_no_person_scored_it() -> None:
    found = read_scored_pairs(SHIPPED, 1_000, seed=0)
    assert len(found.pairs) == 72
    assert found.raters == "model"


def test_the_answer_that_was_scored_lower_comes_first_and_equal_means_make_no_pair(tmp_path: Path) -> None:
    scores: list[Score] = [("p", "boa", 5, "human"), ("p", "má", 1, "human"), ("p", "igual", 1, "human")]
    found = read_scored_pairs(write_sheet(tmp_path, scores), 10, seed=0)
    assert {(pair.first, pair.second) for pair in found.pairs} == {("má", "boa"), ("igual", "boa")}


def test_scores_of_one_answer_are_averaged(tmp_path: Path) -> None:
    scores: list[Score] = [("p", "x", 5, "rubric"), ("p", "x", 1, "model"), ("p", "y", 3, "rubric")]
    assert read_scored_pairs(write_sheet(tmp_path, scores), 10, seed=0).pairs == ()


def test_where_people_scored_only_their_scores_count(tmp_path: Path) -> None:
    scores: list[Score] = [
        ("p", "x", 1, "human"), ("p", "y", 2, "human"), ("p", "x", 5, "model"), ("p", "z", 5, "model"),
    ]  # fmt: skip
    found = read_scored_pairs(write_sheet(tmp_path, scores), 10, seed=0)
    assert [(pair.first, pair.second) for pair in found.pairs] == [("x", "y")]
    assert found.raters == "human"


def test_answers_to_different_prompts_and_other_tasks_make_no_pair(tmp_path: Path) -> None:
    scores: list[Score] = [("p", "x", 1, "human"), ("q", "y", 5, "human")]
    assert read_scored_pairs(write_sheet(tmp_path, scores), 10, seed=0).pairs == ()
    pushes: list[Score] = [("p", "x", 1, "human"), ("p", "y", 5, "human")]
    found = read_scored_pairs(write_sheet(tmp_path, pushes, task="push"), 10, seed=0)
    assert (found.pairs, found.raters) == ((), "")


def test_an_answer_that_begins_like_a_formula_is_read_without_the_apostrophe_of_the_sheet(tmp_path: Path) -> None:
    scores: list[Score] = [("p", "- SP lidera", 2, "human"), ("p", "'citado' e bom", 4, "human")]
    [pair] = read_scored_pairs(write_sheet(tmp_path, scores), 10, seed=0).pairs
    assert (pair.first, pair.second) == ("- SP lidera", "'citado' e bom")


def test_a_sheet_that_excel_in_brazil_saved_gives_the_same_pairs(tmp_path: Path) -> None:
    scores: list[Score] = [("p", "nãoé; boa", 2, "human"), ("p", "- ótima", 4, "human")]
    expected = read_scored_pairs(write_sheet(tmp_path, scores), 10, seed=0)
    rows = read_rows(tmp_path / SHEET_FILE)
    write_rows(tmp_path / SHEET_FILE, rows, Dialect(";", "cp1252", "\r\n"))
    assert read_scored_pairs(tmp_path, 10, seed=0) == expected


def test_every_prompt_gives_a_pair_before_any_gives_a_second(tmp_path: Path) -> None:
    few = read_scored_pairs(SHIPPED, 11, seed=3).pairs
    assert set(Counter(pair.prompt_id for pair in few).values()) == {1}
    assert max(Counter(pair.prompt_id for pair in read_scored_pairs(SHIPPED, 22, seed=3).pairs).values()) == 2


def test_the_seed_decides_the_draw() -> None:
    assert read_scored_pairs(SHIPPED, 11, seed=1) == read_scored_pairs(SHIPPED, 11, seed=1)
    assert read_scored_pairs(SHIPPED, 11, seed=1) != read_scored_pairs(SHIPPED, 11, seed=2)


@pytest.mark.parametrize(
    "content",
    [b"\xff\xfe", b'audit_id,task\n"torn', b"audit_id,task\na,push\n", b"audit_id,task\na,push,b,c\n"],
)
def test_a_sheet_that_cannot_be_read_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    (tmp_path / SHEET_FILE).write_bytes(content)
    with pytest.raises(InputError, match=r"sheet\.csv"):
        read_scored_pairs(tmp_path, 10, seed=0)


def test_a_sheet_that_is_not_there_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_scored_pairs(tmp_path, 10, seed=0)
