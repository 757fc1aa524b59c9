"""Scoring of a rollout file: rewards, optionally written to another file, and a summary with ground truth."""

import json
from collections.abc import Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

import orjson

from schemas.disk import replace_whole
from schemas.documents import Rollout, ScoredRollout
from schemas.errors import InputError
from schemas.json_lines import read_json_lines
from schemas.progress import Progress
from schemas.tasks import TASK_NAMES, SpecName
from tasks.commerce.registry import TASKS, joint_version, reward_of, reward_versions, score_rollout
from tasks.commerce.sql_qa.sandbox import Databases


def score_file(
    rollouts: Path, spec: SpecName, store: Path | None, output: Path | None, progress: Progress, *, metrics: bool
) -> dict[str, Any]:
    """Score every rollout of a file and return a summary; InputError, and nothing written, unless all can be scored."""
    read = read_json_lines(rollouts, Rollout, "rollouts")
    executed = sum(rollout.task == "sql_qa" for rollout in read)
    if executed and store is None and (metrics or spec != "v4.2"):
        raise InputError(
            f"rollouts {rollouts}: {executed} of them are of sql_qa, whose queries are executed; give the folder of "
            "the store that they ask about with --store"
        )
    databases = None if store is None else Databases.open(store)
    scored = []
    for number, rollout in enumerate(read, start=1):
        try:
            scored.append(score_rollout(rollout, databases, spec))
        except InputError as error:
            raise InputError(f"rollouts {rollouts}: line {number}: {error}") from None
        progress(number, len(read), "rollouts scored")
    if output is not None:
        _write(scored, output)
    by_task = {name: [each for each in scored if each.task == name] for name in TASK_NAMES}
    return {
        "rollouts": len(scored),
        "spec": spec,
        "reward_version": joint_version(spec),
        "reward_versions": reward_versions((name for name, found in by_task.items() if found), spec),
        "tasks": {
            name: {
                "n": len(found),
                "reward": fmean(each.reward for each in found),
                "components": {
                    part: fmean(each.components[part] for each in found) for part in reward_of(name, spec).weights
                },
                **({"metrics": TASKS[name].metric(found, databases)} if metrics else {}),
            }
            for name, found in by_task.items()
            if found
        },
    }


def _write(scored: Sequence[ScoredRollout], output: Path) -> None:
    def line(document: dict[str, Any]) -> bytes:
        try:
            return orjson.dumps(document) + b"\n"
        except TypeError:
            # Other keys of a rollout may hold an integer beyond 64 bits.
            return json.dumps(document, ensure_ascii=False).encode() + b"\n"

    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        replace_whole(output, b"".join(line(each.model_dump()) for each in scored))
    except OSError as error:
        raise InputError(
            f"--out {output} cannot be written ({error.strerror}); give a file in a folder that you may write"
        ) from None
