from pathlib import Path
from typing import Any

import pytest

from schemas.documents import PairedScore
from schemas.errors import InputError
from schemas.tasks import TaskName
from tasks.evaluate.stats.pairing import AnswerKey, ScorePair, pair, read_scores
from tests.cases import cases_of

CASES = cases_of(__file__)


def score(
    prompt_id: str, value: float = 0.5, *, task: TaskName = "push", seed: int = 0, sample: int = 0, **known: Any
) -> PairedScore:
    return PairedScore(prompt_id=prompt_id, task=task, seed=seed, sample=sample, score=value, **known)


def refusal(base: list[PairedScore], tuned: list[PairedScore]) -> str:
    with pytest.raises(InputError) as caught:
        pair(base, tuned)
    return str(caught.value)


def test_reads_a_file_and_names_the_line_that_is_no_score(tmp_path: Path) -> None:
    path = tmp_path / "scores.jsonl"
    path.write_text(score("a").model_dump_json() + "\n", encoding="utf-8")
    assert read_scores(path) == (score("a"),)
    path.write_text('{"prompt_id":"b","task":"push","seed":0,"sample":0,"score":NaN}\n', encoding="utf-8")
    with pytest.raises(InputError, match="line 1: score"):
        read_scores(path)


def test_pairs_by_identity_and_not_by_position() -> None:
    base = [score("a", 0.1), score("b", 0.2), score("b", 0.3, sample=1), score("a", 0.4, task="churn")]
    tuned = [score("b", 0.6, sample=1), score("a", 0.7, task="churn"), score("a", 0.8), score("b", 0.9)]
    assert pair(base, tuned) == {
        AnswerKey("push", "a", 0, 0): ScorePair(0.1, 0.8),
        AnswerKey("push", "b", 0, 0): ScorePair(0.2, 0.9),
        AnswerKey("push", "b", 0, 1): ScorePair(0.3, 0.6),
        AnswerKey("churn", "a", 0, 0): ScorePair(0.4, 0.7),
    }


def test_ground_truth_of_some_rows_of_a_prompt_is_refused_and_the_rows_named() -> None:
    known, some = [score("a", truth=1), score("b", truth=0)], [score("a", truth=1), score("b")]
    assert len(pair(some, some)) == 2
    assert refusal(known, some).startswith("truth is missing in row 2 of tuned; give it in all rows")
    unknown = [score("a"), score("b")]
    assert "missing in rows 1, 2 of base; give" in refusal(unknown, known)
    assert "missing in row 1 of base; give" in refusal(unknown, some)


def test_answers_that_were_drawn_in_different_ways_are_refused() -> None:
    cold, hot, unsaid = (score("a", decoding=decoding) for decoding in ("temperature 0.1", "temperature 1", None))
    assert pair([cold], [cold])
    assert pair([cold], [unsaid])
    assert 'is "temperature 0.1" in all rows of base and "temperature 1" in all rows of tuned' in refusal([cold], [hot])
    mixed = [score(name, decoding="temperature 1") for name in "bcdefgh"]
    found = refusal([cold, *mixed], [cold, *mixed])
    assert 'base is not drawn in one way: decoding is "temperature 0.1" in row 1 and "temperature 1"' in found
    assert "in rows 2, 3, 4, 5, 6, and 2 more" in found
    assert "decoding is not given in row 1" in refusal([score("a"), mixed[0]], [score("a"), mixed[0]])


def test_a_hostile_identity_is_named_so_that_it_commands_no_terminal() -> None:
    found = refusal([score("a"), score("\x1b]0;invadido\x07\n" + "b" * 10_000)], [score("a")])
    assert "\x1b" not in found
    assert "\n" not in found
    assert len(found) < 300


@pytest.mark.parametrize(("base", "tuned", "sentence"), CASES["REFUSED"])
def test_rows_that_have_no_partner_are_named(base: list[Any], tuned: list[Any], sentence: str) -> None:
    """Each row is a prompt, or a prompt, a task and a seed."""

    def scores(rows: list[Any]) -> list[PairedScore]:
        named = ([row] if isinstance(row, str) else row for row in rows)
        return [score(prompt, **dict(zip(("task", "seed"), more, strict=False))) for prompt, *more in named]

    with pytest.raises(InputError, match=sentence):
        pair(scores(base), scores(tuned))
