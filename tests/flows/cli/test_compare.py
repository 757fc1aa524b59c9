"""`tucano compare` and `score` as a person uses them: exit codes, sentences, tables, and files."""

import json
import random
from pathlib import Path
from typing import Any

import pytest

from schemas.source import REPOSITORY
from tasks.evaluate.compare import REPORT_FILE
from tasks.lineage.store.artifacts import RECORD_FILE
from tests.flows.command import in_a_process, in_this_process

pytestmark = pytest.mark.slow

Row = dict[str, Any]

AUDIT = REPOSITORY / "data" / "audit"


def write_scores(path: Path, gain: float = 0.0) -> Path:
    """Write the scores of one model: the same prompts are hard for each, and noise is its own."""
    noise = random.Random(f"{gain} 0")
    rows = []
    for task in ("extraction", "push"):
        for number in range(30):
            difficulty = random.Random(f"{task} {number}").uniform(0.2, 0.7)
            score = min(1.0, max(0.0, difficulty + gain + noise.gauss(0, 0.05)))
            rows.append({"prompt_id": f"{number:03}", "task": task, "seed": 0, "sample": 0, "score": score})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_a_better_model_is_promoted_and_the_report_written(tmp_path: Path) -> None:
    files = write_scores(tmp_path / "base.jsonl"), write_scores(tmp_path / "tuned.jsonl", 0.1)
    report = tmp_path / "new" / "report"
    ended = in_a_process("compare", *files, "--report", report, "--json")
    document = ended.document()
    lines = ended.stderr.splitlines()
    assert lines[0].startswith("promote: The tuned model is better than the base and may be promoted")
    assert any(line.startswith("- overall the score rose by 0.1") for line in lines)
    assert any(line.startswith("│ extraction") and "better" in line for line in lines)
    assert {path.name for path in report.iterdir()} == {"report.html", "report.json", "report.md"}
    assert document == json.loads((report / "report.json").read_text(encoding="utf-8"))
    assert document["gate"]["verdict"] == "promote"
    assert "<html" in (report / "report.html").read_text(encoding="utf-8")
    assert "extraction" in (report / "report.md").read_text(encoding="utf-8")
    assert "are the same file" in in_this_process("compare", files[0], files[0]).refusal()


def test_files_of_an_evaluation_are_refused_since_scores_alone_may_promote_a_held_model(tmp_path: Path) -> None:
    content = tmp_path / "artifacts" / "evaluation" / "f0" / "content"
    content.mkdir(parents=True)
    (content.parent / RECORD_FILE).touch()
    files = write_scores(content / "base.jsonl"), write_scores(content / "tuned.jsonl", 0.1)
    refused = in_this_process("compare", *files).refusal()
    assert f"base.jsonl is of an evaluation, whose {REPORT_FILE} beside it has the decision" in refused


def test_scored_rollouts_are_written_and_the_page_has_the_documents_figures(tmp_path: Path) -> None:
    lines = (AUDIT / "rollouts.jsonl").read_text(encoding="utf-8").splitlines()
    scored = tmp_path / "scored.jsonl"
    options = ("--store", AUDIT / "store", "--metrics", "--out", scored, "--json")
    document = in_this_process("score", AUDIT / "rollouts.jsonl", *options).document()
    page = (REPOSITORY / "docs" / "rewards.md").read_text(encoding="utf-8")
    assert f"reward version {document['reward_version'][:12]}\n" in page
    for task, of_task in document["tasks"].items():
        parts = "  ".join(f"{name} {share:.3f}" for name, share in of_task["components"].items())
        assert f"│ {task:<10} │ {of_task['n']:>8} │  {of_task['reward']:.3f} │ {parts} " in page
    assert document["rollouts"] == len(lines) == len(scored.read_text(encoding="utf-8").splitlines())
    (tmp_path / "rollouts.jsonl").write_text(f"{lines[0]}\n{{}}\n", encoding="utf-8")
    refused = in_this_process("score", tmp_path / "rollouts.jsonl", "--out", tmp_path / "new.jsonl").refusal()
    assert "line 2" in refused
    assert not (tmp_path / "new.jsonl").exists()
