"""Lessons and training of the stand-in: right answers first and imperfect ones at the end, and equal bytes."""

import json
import random
import sys
from pathlib import Path

import pytest

from schemas.disk import file_sha256
from schemas.documents import Rollout
from schemas.tasks import TaskName
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import TASKS, score_rollout
from tasks.policy.published import CARD_FILE
from tasks.stand_in.__main__ import main, make
from tasks.stand_in.lessons import SHARES, Recipe, demonstrate, lessons
from tasks.stand_in.model import StandInShape
from tasks.synthesize.simulated import simulate_store

SMALL = Recipe(steps=24, demonstrated_steps=6, batch_size=8, orders=120, prompts=dict.fromkeys(TASKS, 12))
SHAPE = StandInShape(vocabulary_size=600, hidden_size=64, layers=2, heads=4, key_value_heads=2, feed_forward_size=96)


def test_answers_have_faults_at_the_end_alone() -> None:
    as_it_is = list(lessons(SMALL))
    right = list(lessons(SMALL.model_copy(update={"steps": 30, "demonstrated_steps": 0})))
    differ = [lesson.answer != other.answer for lesson, other in zip(as_it_is, right, strict=True)]
    first = SMALL.steps * SMALL.batch_size
    assert not any(differ[:first])
    assert 0.3 < sum(differ[first:]) / len(differ[first:]) < 0.9


@pytest.mark.parametrize("task", SHARES)
def test_faults_cost_reward(task: TaskName) -> None:
    store = simulate_store(600, random.Random("demonstrations:store"))
    generator, lost = random.Random(1), []
    for example in EXAMPLE_MAKERS[task](store, random.Random(f"demonstrations:{task}"), 60):
        right, shown = TASKS[task].answer(example.reference), demonstrate(TASKS[task], example, generator)
        asked = {"prompt_id": "p", "task": task, "prompt": example.prompt, "reference": dict(example.reference)}
        earned, less = (score_rollout(Rollout(**asked, completion=each), None).reward for each in (right, shown))
        lost += [earned - less] if shown != right else []
    assert min(lost) >= 0
    assert sum(lost) / len(lost) > 0.3


def test_a_folder_of_something_else_is_not_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    monkeypatch.setattr(sys, "argv", ["tasks.stand_in", "--output", str(tmp_path)])
    assert main() == 2
    assert capsys.readouterr().err == f"{tmp_path} is not empty and holds no stand-in; give another folder\n"
    assert (tmp_path / "mine.txt").exists()


def test_equal_recipes_write_the_bytes_that_both_cards_promise(tmp_path: Path) -> None:
    # What a training that was killed has left is in nobody's way.
    (tmp_path / "second.draft").mkdir()
    short = SMALL.model_copy(update={"steps": 2, "demonstrated_steps": 1, "batch_size": 4, "shape": SHAPE})
    promised = []
    for folder in (tmp_path / "first", tmp_path / "second"):
        make(short, folder)
        promised.append(json.loads((folder / CARD_FILE).read_text(encoding="utf-8"))["files"])
        assert promised[-1] == {file.name: file_sha256(file) for file in folder.iterdir() if file.name != CARD_FILE}
    assert promised[0] == promised[1]
