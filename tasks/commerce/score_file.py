"""Scoring of a rollout file: rewards, optionally written to another file, and a summary with ground truth."""

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import IO, Any

import orjson

from schemas.documents import Rollout, ScoredRollout
from schemas.errors import InputError
from schemas.json_lines import stream_json_lines
from schemas.progress import Progress
from schemas.tasks import TASK_NAMES, SpecName, TaskName
from tasks.commerce.registry import TASKS, joint_version, reward_versions, score_rollout
from tasks.commerce.sql_qa.sandbox import Databases


@dataclass
class TaskScores:
    """Summary of one task's rollouts."""

    rewards: list[float] = field(default_factory=list)
    components: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    rollouts: list[Rollout] = field(default_factory=list)
    """Kept for the ground truth, if requested."""


def score_file(
    rollouts: Path,
    spec: SpecName,
    store: Path | None,
    output: Path | None,
    progress: Progress,
    *,
    metrics: bool,
) -> dict[str, Any]:
    """Score every rollout of a file; nothing is written unless all of it could be scored.

    Returns:
        `rollouts`, `spec`, `reward_version` of all tasks together, `reward_versions` by task, and by task its number of
        rollouts, mean reward and mean components, and its metrics if requested.

    Raises:
        InputError: The file or the store cannot be read, the output cannot be written, a line is no rollout, sql_qa
            rollouts come without a store, or a reference query does not run on it.
    """
    if rollouts.exists() and not rollouts.is_file():
        raise InputError(f"rollouts {rollouts} is no regular file, and it is read twice; give the name of a file")
    by_task: defaultdict[TaskName, TaskScores] = defaultdict(TaskScores)
    with _replacing(output, rollouts) as lines:
        total = _check(rollouts, spec, store, metrics=metrics)
        databases = None if store is None else Databases.open(store)
        for number, rollout in enumerate(stream_json_lines(rollouts, Rollout, "rollouts"), start=1):
            try:
                scored = score_rollout(rollout, databases, spec)
            except InputError as error:
                raise InputError(f"rollouts {rollouts}: line {number}: {error}") from None
            if lines is not None:
                lines.write(_as_line(scored))
            scores = by_task[rollout.task]
            scores.rewards.append(scored.reward)
            for name, value in scored.components.items():
                scores.components[name].append(value)
            if metrics:
                scores.rollouts.append(rollout)
            progress(number, total, "rollouts scored")
    return {
        "rollouts": total,
        "spec": spec,
        "reward_version": joint_version(spec),
        "reward_versions": reward_versions(by_task, spec),
        "tasks": {
            name: {
                "n": len(scores.rewards),
                "reward": fmean(scores.rewards),
                "components": {part: fmean(values) for part, values in scores.components.items()},
                **({"metrics": TASKS[name].metric(scores.rollouts, databases)} if metrics else {}),
            }
            for name, scores in sorted(by_task.items(), key=lambda each: TASK_NAMES.index(each[0]))
        },
    }


def _check(rollouts: Path, spec: SpecName, store: Path | None, *, metrics: bool) -> int:
    """Read the whole file once, so that a fault at its end is reported before any work; return the number of lines."""
    total, executed = 0, 0
    for rollout in stream_json_lines(rollouts, Rollout, "rollouts"):
        total += 1
        executed += rollout.task == "sql_qa"
    if executed and store is None and (metrics or spec != "v4.2"):
        raise InputError(
            f"rollouts {rollouts}: {executed} of them are of sql_qa, whose queries are executed; give the folder of "
            "the store that they ask about with --store"
        )
    return total


@contextmanager
def _replacing(output: Path | None, rollouts: Path) -> Iterator[IO[bytes] | None]:
    """Open a file for writing that replaces the output once complete; a block that fails leaves nothing."""
    if output is None:
        yield None
        return
    if output.is_dir() or output.resolve() == rollouts.resolve():
        what = "is a folder" if output.is_dir() else "is the file of rollouts itself"
        raise InputError(f"--out {output} {what}; give the name of another file")
    draft = output.with_name(f".{output.name}.{os.getpid()}.draft")
    missing = [folder for folder in output.resolve().parents if not folder.exists()]
    try:
        try:
            output.parent.mkdir(parents=True, exist_ok=True)
            lines = draft.open("wb")
        except OSError as error:
            raise InputError(
                f"--out {output} cannot be written ({error.strerror}); give a file in a folder that you may write"
            ) from None
        with lines:
            yield lines
        draft.replace(output)
    except BaseException:
        with suppress(OSError):
            draft.unlink(missing_ok=True)
            for folder in missing:
                folder.rmdir()
        raise


def _as_line(scored: ScoredRollout) -> bytes:
    document = scored.model_dump()
    try:
        return orjson.dumps(document) + b"\n"
    except TypeError:
        # Other keys of a rollout may hold an integer beyond 64 bits.
        return json.dumps(document, ensure_ascii=False).encode() + b"\n"
