"""A sheet of findings: people read and score what is rendered, and the reward reads the completion."""

import random
from pathlib import Path

from schemas.config.config import AUDIT_FOLDER, AuditConfig
from schemas.documents import Rollout
from schemas.store.files import read_store
from tasks.audit.sampling import make_sheet
from tasks.audit.sheet import read_rows, write_rows
from tasks.audit.stage import AuditFiles, read_files
from tasks.commerce.example_makers import EXAMPLE_MAKERS
from tasks.commerce.registry import TASKS

STORE = AUDIT_FOLDER / "store"


def rollouts() -> list[Rollout]:
    examples = EXAMPLE_MAKERS["insights"](read_store(STORE), random.Random(0), 5)
    right = TASKS["insights"].answer
    return [
        Rollout(prompt_id=f"p{place}", task="insights", prompt=each.prompt, completion=text, reference=each.reference)
        for place, each in enumerate(examples)
        for text in (right(each.reference), right(each.reference).replace('"valor":"', '"valor":"9', 1), "Vendeu bem.")
    ]


def test_people_score_what_is_rendered_and_the_reward_reads_the_completion(tmp_path: Path) -> None:
    answers, sheet = tmp_path / "rollouts.jsonl", tmp_path / "sheet.csv"
    answers.write_text("".join(f"{each.model_dump_json()}\n" for each in rollouts()), encoding="utf-8")
    make_sheet(answers, "grounded", STORE, 15, 0, sheet, lambda *_: None)

    rows = read_rows(sheet)
    assert len(rows) == 15
    assert not any('"achados"' in row["completion"] for row in rows)
    assert sum(row["completion"].startswith("#") for row in rows) == 10
    write_rows(sheet, [{**row, "human_score": "3", "rater": "ana", "rater_kind": "human"} for row in rows])
    read, score = read_files(AuditFiles(sheet, answers, STORE), AuditConfig(require_human=False), "grounded")
    rewards = sorted(score(item.rollout).reward for item in read.items)
    assert rewards[:5] == [0.0] * 5
    assert rewards[-5:] == [1.0] * 5
    assert all(item.rollout.completion.startswith(("{", "Vendeu")) for item in read.items)
