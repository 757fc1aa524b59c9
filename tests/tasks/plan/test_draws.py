"""A model's answers to validation prompts are scored as they would be served, and drawn without the test split."""

import io
from pathlib import Path
from typing import Any

import pytest

from schemas.source import REPOSITORY
from schemas.tables.prompts import TRAIN_FILE, VALIDATION_FILE
from schemas.tasks import TaskName
from tasks.commerce.text.lexicons import read_wording
from tasks.plan.draws import DrawRequest, main
from tasks.plan.scores import FILE, CheapScores, read_scores
from tasks.plan.scoring import score_without_model
from tasks.policy.child import Channel
from tests.prompt_tables import write_prompts
from tests.small_base import save_base
from tests.tasks.curate.prompt_rows import prompt_row

pytestmark = pytest.mark.slow

STORE = REPOSITORY / "data" / "audit" / "store"
TASKS: tuple[TaskName, ...] = ("push", "sentiment", "push", "sentiment")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A base, and a dataset without a test split."""
    folder = tmp_path_factory.mktemp("world")
    save_base(folder / "base")
    asked = {"push": read_wording("push").instructions[1], "sentiment": "Qual é o sentimento?"}
    rows = [prompt_row(task, f"{asked[task]}\nPedido {number}") for number, task in enumerate(TASKS)]
    write_prompts(rows, folder / VALIDATION_FILE)
    write_prompts(rows, folder / TRAIN_FILE)
    return folder


def draw(world: Path, folder: Path, **values: Any) -> CheapScores:
    folder.mkdir()
    how = {"seed": 5, "temperature": 0.1, "max_tokens": 8, "batch_size": 4, "spec": "grounded", "output": folder}
    groups = {"group_prompts": 1, "group_size": 3, "group_temperature": 1.0, "group_guided": "none"}
    where = {"model": world / "base", "dataset": world, "store": STORE}
    request = DrawRequest.model_validate({"name": "base", **how, **groups, **where, **values})
    file = folder / "draws.request.json"
    file.write_text(request.model_dump_json(), encoding="utf-8")
    main(file, Channel(io.StringIO()))
    return read_scores([folder])


def test_each_prompt_is_answered_once_and_some_in_groups(world: Path, tmp_path: Path) -> None:
    found = draw(world, tmp_path / "one", guided="base-guided", wording_prompts=1)
    assert found.models == ["base", "base-guided", "base-wording"]
    assert {rung: len(found.of(rung)) for rung in found.models} == dict.fromkeys(found.models, 4)
    # Neither task has a grammar that is not used where it is served.
    assert found.of("base-guided") == found.of("base")
    assert [(group.task, len(group.scores)) for group in found.groups] == [("push", 3), ("sentiment", 3)]
    assert {group.prompt_id for group in found.groups} <= set(found.of("base"))
    assert found.tokens > 0


def test_equal_requests_give_equal_bytes(world: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        draw(world, tmp_path / name)
    assert (tmp_path / "one" / FILE).read_bytes() == (tmp_path / "two" / FILE).read_bytes()


def test_baselines_are_scored_without_a_model_and_without_queries(world: Path, tmp_path: Path) -> None:
    score_without_model(world, STORE, "grounded", 5, tmp_path)
    found = read_scores([tmp_path])
    assert found.models == []
    assert found.tokens == 0
    assert set(found.of("constant", "sentiment").values()) == {1.0}
