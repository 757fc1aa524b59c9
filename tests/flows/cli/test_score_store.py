"""The store of a file of rollouts is found by its artifact, or by the questions in it."""

import json
from pathlib import Path

import pytest

from flows.cli.score_store import store_of
from tests.tasks.lineage.small_world import TRAINED, World, make_world


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    return make_world(tmp_path_factory.mktemp("state") / "artifacts")


def content(world: World, stage: str) -> Path:
    record = world.made[stage]
    return world.root / record.kind / record.sha256 / "content"


def rollouts_of(prompt_id: str, file: Path) -> Path:
    row = {"prompt_id": prompt_id, "task": "sql_qa", "prompt": "Quantos?", "completion": "SELECT 1", "reference": None}
    file.write_text(json.dumps(row), encoding="utf-8")
    return file


def test_an_artifacts_rollouts_lead_to_the_store_of_its_prompts(world: World, tmp_path: Path) -> None:
    file = content(world, "answer-tuned") / "rollouts.jsonl"
    assert store_of(file, tmp_path / "no artifacts") == content(world, "synthesize") / "store"


def test_a_copy_leads_there_by_its_questions(world: World, tmp_path: Path) -> None:
    assert store_of(rollouts_of(TRAINED.prompt_id, tmp_path / "a.jsonl"), world.root) == (
        content(world, "synthesize") / "store"
    )
    assert store_of(rollouts_of("0" * 64, tmp_path / "b.jsonl"), world.root) is None
