"""A package of the audit's prompts, and the audit's answers to them with the pipeline's rewards."""

import json
from pathlib import Path
from typing import Any, Final

from schemas.documents import Rollout
from schemas.source import REPOSITORY
from schemas.tables.prompts import TEST_FILE, TRAIN_FILE, VALIDATION_FILE, PromptRow, content_id
from schemas.tasks import TASK_NAMES
from tasks.commerce.registry import TASKS, score_rollout
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.environment.write import write_environment
from tests.prompt_tables import write_prompts

AUDIT: Final = REPOSITORY / "data" / "audit"
PERSON: Final = "a-person-of-these-tests"
TESTED: Final = "Uma pergunta do teste"


def audit_rows() -> dict[str, PromptRow]:
    """Return the prompts of the audit's rollouts by their text."""
    rows: dict[str, PromptRow] = {}
    for rollout in audit_rollouts():
        system, reference = TASKS[rollout.task].system, rollout.reference or {}
        identity = content_id(rollout.task, system, rollout.prompt, reference)
        found = PromptRow(identity, rollout.task, system, rollout.prompt, reference, "files", PERSON, PERSON, PERSON)
        rows.setdefault(rollout.prompt, found)
    return rows


def audit_rollouts() -> list[Rollout]:
    """Return the audit's answers of all tasks."""
    lines = (AUDIT / "rollouts.jsonl").read_text(encoding="utf-8").splitlines()
    return [Rollout.model_validate_json(line) for line in lines]


def write_dataset(folder: Path) -> Path:
    """Write a dataset whose validation split has a prompt of each task, and whose test split has one of its own."""
    rows = list(audit_rows().values())
    held_out = [next(row for row in rows if row.task == task) for task in TASK_NAMES]
    write_prompts([row for row in rows if row not in held_out], folder / TRAIN_FILE)
    write_prompts(held_out, folder / VALIDATION_FILE)
    identity = content_id("push", "s", TESTED, {})
    write_prompts([PromptRow(identity, "push", "s", TESTED, {}, "files", None, None, None)], folder / TEST_FILE)
    return folder


def write_package(folder: Path) -> Path:
    """Write the package of a dataset, and `expected.jsonl` beside it: prompts, answers, components and rewards."""
    package = folder / "package"
    package.mkdir()
    write_environment(write_dataset(folder / "dataset"), AUDIT / "store", "grounded", {"dataset": "d"}, package)
    rows, databases = audit_rows(), Databases.open(AUDIT / "store")
    lines: list[dict[str, Any]] = []
    for rollout in audit_rollouts():
        row = rows[rollout.prompt]
        scored = score_rollout(row.answered(rollout.completion), databases)
        known = {"components": scored.components, "reward": scored.reward, "task": row.task}
        lines.append({"prompt_id": row.prompt_id, "completion": rollout.completion, **known})
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (folder / "expected.jsonl").write_text(text, encoding="utf-8")
    return package
