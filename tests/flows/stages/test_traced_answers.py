"""Sample of answers for MLflow: base and tuned to the same prompts, each task's first by their ids."""

from pathlib import Path

from flows.stages.traced_answers import MOST_A_TASK, traced_answers
from tasks.evaluate.completions.rows import ShownAnswers, as_document
from tests.tasks.curate.prompt_rows import prompt_row
from tests.tasks.evaluate.completions.logged import scored
from tests.tasks.evaluate.completions.test_rows import document


def test_both_models_answers_to_the_first_prompts_of_each_task_are_taken() -> None:
    rows = [prompt_row("sentiment", f"Avaliação {number}") for number in range(MOST_A_TASK + 3)]
    models = {
        name: ShownAnswers([scored(row, f"{name} {row.prompt}", 0.25) for row in rows], [1.0] * len(rows))
        for name in ("base", "tuned", "sft")
    }
    found = list(traced_answers(as_document([], [], models, lambda texts: [(text, None) for text in texts])))
    first = sorted(row.prompt_id for row in rows)[:MOST_A_TASK]
    assert [(each.prompt_id, each.model) for each in found] == [
        (prompt, name) for prompt in first for name in ("base", "tuned")
    ]
    assert found[0].completion == f"base {found[0].prompt}"
    assert found[0].scores == {"reward": 0.25, "reward.polarity": 0.25, "ground truth": 1.0}
    assert '"polarity": "positive"' in (found[0].reference or "")


def test_an_unknown_truth_is_no_score(tmp_path: Path) -> None:
    base = [each for each in traced_answers(document(tmp_path, [])) if each.model == "base"]
    assert sorted("ground truth" in each.scores for each in base) == [False, True]
