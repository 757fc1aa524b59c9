"""`tucano score` writes the scored rollouts and one document."""

import json
from pathlib import Path

from schemas.source import REPOSITORY
from tests.flows.command import in_this_process

AUDIT = REPOSITORY / "data" / "audit"


def test_the_document_and_the_scored_rollouts_are_written(tmp_path: Path) -> None:
    lines = (AUDIT / "rollouts.jsonl").read_text(encoding="utf-8").splitlines()
    (tmp_path / "rollouts.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    scored = tmp_path / "scored.jsonl"
    ended = in_this_process(
        "score", tmp_path / "rollouts.jsonl", "--store", AUDIT / "store", "--metrics", "--out", scored, "--json"
    )
    assert ended.returncode == 0, ended.text
    document = json.loads(ended.stdout)
    page = (REPOSITORY / "docs" / "rewards.md").read_text(encoding="utf-8")
    assert f"reward version {document['reward_version'][:12]}\n" in page
    for task, of_task in document["tasks"].items():
        parts = "  ".join(f"{name} {share:.3f}" for name, share in of_task["components"].items())
        assert f"│ {task:<10} │ {of_task['n']:>8} │  {of_task['reward']:.3f} │ {parts} " in page
    assert document["rollouts"] == len(lines) == len(scored.read_text(encoding="utf-8").splitlines())
    (tmp_path / "rollouts.jsonl").write_text(f"{lines[0]}\n{{}}\n", encoding="utf-8")
    ended = in_this_process("score", tmp_path / "rollouts.jsonl", "--out", tmp_path / "new.jsonl")
    assert (ended.returncode, ended.stdout, (tmp_path / "new.jsonl").exists()) == (2, "", False)
    assert "line 2" in ended.text
