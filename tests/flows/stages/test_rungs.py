"""Rungs: which answers each asks for, and what is left when one of them fails."""

import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flows.runtime.stores import open_recorder, open_store
from flows.stages import answers, child_pool, stage_child
from flows.stages.answers import Answering, Rungs, answer_rungs, rung_makers
from flows.stages.child_pool import ChildPool, do_all
from flows.stages.runner import Session, StageResult
from schemas.artifact import ArtifactKind
from schemas.config.config import AUDIT_FOLDER, Config
from schemas.config.profiles import load_config
from schemas.errors import Interrupted, TucanoError
from tasks.evaluate.answers.answer import AnswerRequest, main
from tasks.policy.child import Channel
from tests.flows.prefect_state import prefect_state
from tests.prompt_tables import write_prompts
from tests.small_base import save_base
from tests.tasks.curate.prompt_rows import prompt_row
from tests.tasks.policy.test_adapters import save_adapter

pytestmark = pytest.mark.integration


@dataclass(frozen=True)
class World:
    """A state folder with a base, a policy, a plan, a store and a dataset."""

    root: Path
    base: StageResult
    tuned: Answering
    plan: StageResult
    prompts: StageResult
    dataset: StageResult


@pytest.fixture(scope="module")
def world(prefect_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    root = tmp_path_factory.mktemp("state")
    config = load_config("local", [f"state.root={root}"])

    def made(kind: ArtifactKind, fill: Any) -> StageResult:
        store = open_store(config)
        with store.draft() as draft:
            fill(draft)
            record = store.commit(draft, kind=kind, stage=kind, code_version="", config_digest="", inputs={})
        return StageResult(record, store.path(record.sha256), 0.0, reused=False)

    def dataset(folder: Path) -> None:
        for split in ("train", "validation", "test"):
            rows = [prompt_row("push", f"{split} {number}") for number in range(3)]
            write_prompts(rows, folder / "data" / f"{split}.parquet")

    def prompts(folder: Path) -> None:
        (folder / "store").mkdir()
        for file in (AUDIT_FOLDER / "store").iterdir():
            (folder / "store" / file.name).write_bytes(file.read_bytes())

    with prefect_state(prefect_server, root):
        base = made("base", save_base)
        policy = made("policy", lambda folder: save_adapter(base.path, folder / "adapter", 2))
        plan = made("plan", lambda folder: (folder / "plan.json").write_text("{}", encoding="utf-8"))
        tuned = Answering("tuned", base.record, policy.record, general=True)
        yield World(root, base, tuned, plan, made("prompts", prompts), made("dataset", dataset))


class _Children:
    """Runs the children's work in this process, fails where it is set to, and knows what was asked."""

    def __init__(self) -> None:
        self.requests: list[AnswerRequest] = []
        self.fails: Exception | None = None

    def run(self, module: str, request: AnswerRequest, folder: Path, **_: Any) -> None:
        assert module == "tasks.evaluate.answers.answer"
        self.requests.append(request)
        if self.fails:
            raise self.fails
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "answer.request.json"
        file.write_text(request.model_dump_json(), encoding="utf-8")
        main(file, Channel(io.StringIO()))


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> _Children:
    children = _Children()
    monkeypatch.setattr(stage_child, "run_child", children.run)
    monkeypatch.setattr(child_pool, "run_child", children.run)
    return children


def climb(
    world: World, *rungs: str, seed: int, overrides: tuple[str, ...] = (), pool: ChildPool | None = None
) -> Rungs:
    from prefect import flow

    names = ", ".join(f'"{rung}"' for rung in rungs)
    config: Config = load_config(
        "local",
        [
            "train.max_completion_tokens=16",
            f"evaluate.rungs=[{names}]",
            f"state.root={world.root}",
            f"seed={seed}",
            *overrides,
        ],
    )

    @flow(name="climbs", validate_parameters=False)
    def climbs() -> Rungs:
        with open_recorder(config).pipeline("climbs", {}) as run:
            session = Session(config, run, pool=pool)
            made = do_all(pool, rung_makers(session, world.dataset, world.base))
            return answer_rungs(session, world.dataset, world.plan, world.base, made)

    return climbs()


@pytest.mark.parametrize("pooled", [False, True])
def test_a_rung_that_fails_is_left_out_with_its_reason_and_the_others_answer(
    world: World, children: _Children, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], pooled: bool
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise TucanoError(f"unexpected ValueError; the traceback is in {world.root}/work/sft/warm_start.log")

    monkeypatch.setattr(answers, "tuned_on_references", fail)
    found = climb(world, "sft", "base-guided", seed=3 + 10 * pooled, pool=ChildPool(2) if pooled else None)
    assert {rung: each.record.stage for rung, each in found.answered.items()} == {"base-guided": "answer-base-guided"}
    (asked,) = children.requests
    assert (asked.policy, asked.general) == (None, False)
    assert asked.grammars
    assert found.left_out == {
        "sft": "unexpected ValueError; the traceback is in the state folder/work/sft/warm_start.log"
    }
    assert "the evaluation continues without sft" in capsys.readouterr().err


@pytest.mark.parametrize("pool", [None, ChildPool(2)])
def test_an_interruption_leaves_nothing_out_but_ends_the_evaluation(
    world: World, children: _Children, pool: ChildPool | None
) -> None:
    children.fails = Interrupted("killed")
    with pytest.raises(Interrupted):
        climb(world, "base-guided", seed=6, pool=pool)
