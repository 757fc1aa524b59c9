"""Rungs of several draws: one answer to each prompt, chosen among a model's draws."""

import json
from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Final

from schemas.config.evaluate import DRAWS, DRAWS_OF, Rung
from schemas.documents import Rollout
from schemas.tasks import TaskName
from tasks.commerce.registry import TASKS
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.commerce.sql_qa.truth import query_of
from tasks.commerce.text.parser import parse_object

MAJORITY: Final[Rung] = "base-majority"


def choose(
    rung: Rung, draws: Sequence[Rollout], reward: Callable[[Rollout], float], databases: Databases
) -> list[Rollout]:
    """Return a rung's answers: to each prompt one of every `DRAWS` draws, numbered as samples from 0.

    Args:
        rung: Says how many of the draws it reads, and how it chooses.
        draws: A model's, each with its `sample`.
        reward: Returns what a draw earns.
        databases: Copies of the store, on which queries are executed.
    """
    groups: dict[tuple[TaskName, str, int], list[Rollout]] = defaultdict(list)
    for draw in sorted(draws, key=lambda draw: (draw.model_extra or {})["sample"]):
        groups[draw.task, draw.prompt_id, (draw.model_extra or {})["sample"] // DRAWS].append(draw)
    chosen = []
    for (task, _, sample), group in groups.items():
        read = group[: DRAWS_OF[rung]]
        if rung == MAJORITY:
            answer = read[0].model_copy(
                update={"completion": most_frequent(task, [draw.completion for draw in read], databases)}
            )
        else:
            answer = max(read, key=reward)
        chosen.append(answer.model_copy(update={"sample": sample}))
    return chosen


def most_frequent(task: TaskName, completions: Sequence[str], databases: Databases) -> str:
    """Return the most frequent answer, the first of equals; the first completion where a task has no one answer.

    Objects are compared field by field, queries by their rows; what holds no object, or does not run, has no vote.
    """
    if TASKS[task].answers_in_json:
        objects = [value for text in completions if (value := parse_object(text).value) is not None]
        return most_frequent_fields(objects) if objects else completions[0]
    if task != "sql_qa":
        return completions[0]
    rows = {text: _rows(text, databases) for text in dict.fromkeys(completions)}
    votes = Counter(rows[text] for text in completions if rows[text] is not None)
    return next(text for text in completions if rows[text] == votes.most_common(1)[0][0]) if votes else completions[0]


def most_frequent_fields(objects: Sequence[Mapping[str, Any]]) -> str:
    """Return the object of each field's most frequent value, of the fields that at least half of the objects have."""
    values: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for each in objects:
        for name, value in each.items():
            values[name][json.dumps(value, ensure_ascii=False)] += 1
    fields = {
        name: json.loads(found.most_common(1)[0][0])
        for name, found in values.items()
        if 2 * found.total() >= len(objects)
    }
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def _rows(completion: str, databases: Databases) -> Hashable:
    """Return a query's rows on every copy; None where it has none."""
    executions = databases.run(query_of(completion))
    return None if any(each.refusal is not None for each in executions) else tuple(each.rows for each in executions)
