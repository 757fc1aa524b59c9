from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.documents import PairedScore
from schemas.errors import InputError
from schemas.tasks import TaskName
from tasks.evaluate.pairing import Answer, Pair, pair, read_scores


def score(
    prompt_id: str, value: float = 0.5, *, task: TaskName = "push", seed: int = 0, sample: int = 0
) -> PairedScore:
    return PairedScore(prompt_id=prompt_id, task=task, seed=seed, sample=sample, score=value)


def test_reads_a_file_and_names_the_line_that_is_no_score(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text(score("a").model_dump_json() + "\n", encoding="utf-8")
    assert read_scores(path) == (score("a"),)
    path.write_text('{"prompt_id":"b","task":"push","seed":0,"sample":0,"score":NaN}\n', encoding="utf-8")
    with pytest.raises(InputError, match="line 1: score"):
        read_scores(path)


def test_an_answer_that_is_twice_in_a_file_is_named_by_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    lines = [score("a"), score("b"), score("a", 0.7), score("a", sample=1), score("a", seed=1)]
    path.write_text("".join(line.model_dump_json() + "\n" for line in lines), encoding="utf-8")
    with pytest.raises(InputError, match=r"scores\.jsonl: rows 1, 3: task, prompt_id, seed, sample together"):
        read_scores(path)


def test_a_seed_that_no_table_holds_is_named(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text('{"prompt_id":"b","task":"push","seed":9223372036854775808,"sample":0,"score":1}\n')
    with pytest.raises(InputError, match="line 1: seed"):
        read_scores(path)


def test_pairs_by_identity_and_not_by_position() -> None:
    base = [score("a", 0.1), score("b", 0.2), score("b", 0.3, sample=1), score("a", 0.4, task="churn")]
    tuned = [score("b", 0.6, sample=1), score("a", 0.7, task="churn"), score("a", 0.8), score("b", 0.9)]
    assert pair(base, tuned) == {
        Answer("push", "a", 0, 0): Pair(0.1, 0.8),
        Answer("push", "b", 0, 0): Pair(0.2, 0.9),
        Answer("push", "b", 0, 1): Pair(0.3, 0.6),
        Answer("churn", "a", 0, 0): Pair(0.4, 0.7),
    }


@given(st.permutations([score(prompt, 0.1 * number) for number, prompt in enumerate("abcdef")]))
def test_order_of_the_rows_does_not_matter(rows: list[PairedScore]) -> None:
    ordered = sorted(rows, key=lambda row: row.prompt_id)
    assert list(pair(rows, ordered).items()) == list(pair(ordered, rows).items())


def test_base_scored_once_is_the_partner_of_every_seed() -> None:
    pairs = pair([score("a", 0.1)], [score("a", 0.5, seed=1), score("a", 0.7, seed=2)])
    assert pairs == {Answer("push", "a", 1, 0): Pair(0.1, 0.5), Answer("push", "a", 2, 0): Pair(0.1, 0.7)}


def test_names_unpaired_prompts() -> None:
    with pytest.raises(InputError, match="1 rows of base are not in tuned: push prompt b, seed 0, sample 0"):
        pair([score("a"), score("b")], [score("a")])
    with pytest.raises(InputError, match="1 rows of tuned are not in base: push prompt c"):
        pair([score("a")], [score("a"), score("c")])


def test_counts_the_unpaired_that_it_does_not_name() -> None:
    with pytest.raises(InputError, match=r"12 rows of base.*and 7 more"):
        pair([score(f"{number:02}") for number in range(13)], [score("00")])


def test_names_a_task_of_one_file_only() -> None:
    with pytest.raises(InputError, match="task churn is in tuned only"):
        pair([score("a")], [score("a"), score("a", task="churn")])


def test_names_duplicates_by_row() -> None:
    with pytest.raises(InputError, match=r"tuned.*push prompt a, seed 0, sample 0 in rows \[1, 3\]"):
        pair([score("a"), score("b")], [score("a"), score("b"), score("a")])


def test_refuses_different_seeds_and_samples() -> None:
    with pytest.raises(InputError, match=r"base has seeds \[1, 2\] and tuned \[1, 3\]"):
        pair([score("a", seed=1), score("a", seed=2)], [score("a", seed=1), score("a", seed=3)])
    with pytest.raises(InputError, match="sample 1"):
        pair([score("a")], [score("a"), score("a", sample=1)])


def test_refuses_a_seed_that_answered_only_some_prompts() -> None:
    half_done = [score("a", seed=1), score("a", seed=2), score("b", seed=1)]
    with pytest.raises(InputError, match=r"push prompt b lacks seeds \[2\]"):
        pair(half_done, half_done)


def test_refuses_nothing_to_compare() -> None:
    with pytest.raises(InputError, match="tuned has no scores"):
        pair([score("a")], [])
