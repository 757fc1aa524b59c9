"""Altered answers to eight prompts a task earn what is recorded in `scores`: most slips in a reward break no bound.

Who changes a reward on purpose runs `python -m tests.tasks.audit.alterations.test_recorded`, and reads what it prints
as one reads a diff.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from schemas.documents import Rollout
from schemas.tasks import TASK_NAMES, TaskName
from tasks.audit.alterations.library import RIGHT
from tasks.audit.alterations.run import ALTERATIONS, good_answer, shipped_stores
from tests.tasks.audit.alterations.prompts import score

SCORES: Final = Path(__file__).with_name("scores")
SAME: Final = 0.0015
"""Largest difference from a recorded figure, which is rounded to three places."""

Recorded = dict[str, Any]


def read(task: TaskName) -> list[Recorded]:
    return [json.loads(line) for line in (SCORES / f"{task}.jsonl").read_text(encoding="utf-8").splitlines()]


def scores_of(task: TaskName, known: Recorded) -> dict[str, dict[str, float]]:
    good = good_answer(task, known["prompt"], known["reference"], shipped_stores(task))
    empty = Rollout(prompt_id="-", task=task, prompt=good.prompt, completion="", reference=known["reference"])
    found = {}
    for each in ALTERATIONS[task]:
        text = each.apply(good)
        if text is not None and (each.knows is None or each.name == RIGHT.name):
            # Some are text that no file holds.
            scored = score(task)(empty.model_copy(update={"completion": text}))
            figures = {"reward": scored.reward, **scored.components}
            found[each.name] = {name: round(value, 3) for name, value in figures.items()}
    return found


def changes(before: dict[str, dict[str, float]], after: dict[str, dict[str, float]]) -> Iterator[str]:
    for name in dict.fromkeys((*before, *after)):
        one, two = before.get(name, {}), after.get(name, {})
        for part in one.keys() | two.keys():
            if not abs(one.get(part, 2.0) - two.get(part, 2.0)) <= SAME:
                yield f"{name}: {part} {one.get(part)}, now {two.get(part)}"


@pytest.mark.parametrize("task", TASK_NAMES)
def test_altered_answers_earn_what_is_recorded(task: TaskName) -> None:
    assert [said for known in read(task) for said in changes(known["scores"], scores_of(task, known))] == []


if __name__ == "__main__":
    for name in TASK_NAMES:
        prompts = read(name)
        for each in prompts:
            now = scores_of(name, each)
            print(*(f"{name}: {said}" for said in changes(each["scores"], now)), sep="\n")
            each["scores"] = now
        lines = (json.dumps(each, ensure_ascii=False, separators=(",", ":")) + "\n" for each in prompts)
        (SCORES / f"{name}.jsonl").write_text("".join(lines), encoding="utf-8")
