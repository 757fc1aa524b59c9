"""`tucano score` writes the scored rollouts and one document, and finds the store of an artifact's own prompts."""

import json
from pathlib import Path

from flows.cli.score import store_of
from schemas.source import REPOSITORY
from tasks.lineage.store.artifacts import ArtifactStore
from tests.flows.command import in_this_process
from tests.tasks.lineage.small_world import commit, documents, fill_prompts

AUDIT = REPOSITORY / "data" / "audit"


def test_the_document_and_the_scored_rollouts_are_written(tmp_path: Path) -> None:
    lines = (AUDIT / "rollouts.jsonl").read_text(encoding="utf-8").splitlines()[:30]
    (tmp_path / "rollouts.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    scored = tmp_path / "scored.jsonl"
    ended = in_this_process(
        "score", tmp_path / "rollouts.jsonl", "--store", AUDIT / "store", "--metrics", "--out", scored, "--json"
    )
    assert ended.returncode == 0, ended.text
    document = json.loads(ended.stdout)
    assert document["rollouts"] == len(lines) == len(scored.read_text(encoding="utf-8").splitlines())
    (tmp_path / "rollouts.jsonl").write_text(f"{lines[0]}\n{{}}\n", encoding="utf-8")
    ended = in_this_process("score", tmp_path / "rollouts.jsonl", "--out", tmp_path / "new.jsonl")
    assert (ended.returncode, ended.stdout, (tmp_path / "new.jsonl").exists()) == (2, "", False)
    assert "line 2" in ended.text


def test_answers_of_a_model_that_learned_from_another_store_are_about_their_own_prompts(tmp_path: Path) -> None:
    """A champion answers the prompts of a later store than the one that it learned from."""
    learned_from = commit(tmp_path, "prompts", fill_prompts, "synthesize", {})
    asked = commit(tmp_path, "prompts", fill_other_prompts, "synthesize", {})
    policy = commit(tmp_path, "policy", documents({"a.json": 1}), "train", {"prompts": learned_from.sha256})
    dataset = commit(tmp_path, "dataset", documents({"b.json": 1}), "curate", {"prompts": asked.sha256})
    made_from = {"dataset": dataset.sha256, "policy": policy.sha256}
    answers = commit(tmp_path, "answers", documents({"rollouts.jsonl": {}}), "evaluate", made_from)
    store = ArtifactStore(tmp_path)
    assert store_of(store.path(answers.sha256) / "rollouts.jsonl") == store.path(asked.sha256) / "store"
    assert store_of(AUDIT / "rollouts.jsonl") is None


def fill_other_prompts(folder: Path) -> None:
    """Write the same questions, beside which one file has another line."""
    fill_prompts(folder)
    with (folder / "store" / "olist_orders_dataset.csv").open("a", encoding="utf-8") as lines:
        lines.write("\n")
