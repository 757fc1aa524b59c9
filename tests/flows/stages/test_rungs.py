"""Rungs: which answers each asks for, and what is left when one of them fails."""

import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from flows.runtime.stores import open_recorder, open_store
from flows.stages import child_pool, prompt_search, stage_child
from flows.stages import rungs as rungs_module
from flows.stages.answers import Answering
from flows.stages.child_pool import ChildPool, do_all
from flows.stages.rungs import Rungs, answer_rungs, rung_makers
from flows.stages.runner import StageResult
from schemas.artifact import ArtifactKind
from schemas.config.config import AUDIT_FOLDER, Config
from schemas.config.profiles import load_config
from schemas.errors import InputError, Interrupted, TucanoError
from tasks.commerce.registry import TASKS
from tasks.evaluate.answers.answer import AnswerRequest, Reworded, main
from tasks.evaluate.answers.files import read_answers
from tasks.evaluate.prompts.search import Answer, read_choice
from tasks.policy.child import Channel
from tests.flows.prefect_state import prefect_state
from tests.prompt_tables import write_prompts
from tests.small_base import save_base
from tests.tasks.curate.prompt_rows import prompt_row
from tests.tasks.policy.test_adapters import save_adapter

pytestmark = pytest.mark.integration

ALL = ("base-majority", "base-best-of-4", "base-best-of-8", "base-guided", "base-prompt", "sft", "tuned-guided")


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
        self.fails_where: Mapping[str, Any] = {}
        """Fields of the request that fails."""

    def run(self, module: str, request: AnswerRequest, folder: Path, **_: Any) -> None:
        assert module == "tasks.evaluate.answers.answer"
        self.requests.append(request)
        if self.fails and all(getattr(request, name) == value for name, value in self.fails_where.items()):
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
    world: World,
    *rungs: str,
    seed: int,
    overrides: tuple[str, ...] = (),
    fresh: bool = False,
    pool: ChildPool | None = None,
) -> Rungs:
    from prefect import flow

    names = ", ".join(f'"{rung}"' for rung in rungs)
    config: Config = load_config(
        "local",
        [
            "train.max_completion_tokens=16",
            "evaluate.prompt_search.budget=12",
            f"evaluate.rungs=[{names}]",
            f"state.root={world.root}",
            f"seed={seed}",
            *overrides,
        ],
    )

    @flow(name="climbs", validate_parameters=False)
    def climbs() -> Rungs:
        with open_recorder(config).pipeline("climbs", {}) as run:
            given = (config, run, world.prompts, world.dataset, world.base)
            made = do_all(pool, rung_makers(*given, pool, fresh=fresh))
            return answer_rungs(
                config, run, world.dataset, world.plan, world.base, world.tuned, made, pool, fresh=fresh
            )

    return climbs()


def test_the_tuned_model_answers_under_the_grammars_and_without_the_general_instructions(
    world: World, children: _Children
) -> None:
    found = climb(world, "base-guided", "tuned-guided", seed=1)
    base, tuned = children.requests
    assert base.policy is None
    assert tuned.policy is not None
    assert tuned.grammars == base.grammars != {}
    assert not tuned.general
    assert {rung: each.name for rung, each in found.answered.items()} == {
        "base-guided": "base-guided",
        "tuned-guided": "tuned-guided",
    }


def test_the_base_answers_the_test_split_under_the_prompt_that_validation_chose(
    world: World, children: _Children
) -> None:
    found = climb(world, "base-prompt", seed=2)
    rung = found.answered["base-prompt"]
    search = rung.made["prompt-search"]
    (chosen,) = read_choice(search.path)["tasks"].values()
    *rounds, last = children.requests
    assert {request.split for request in rounds} == {"data/validation.parquet"}
    assert last.split == "data/test.parquet"
    assert [each.system for each in last.reworded] == [chosen["system"]]
    # What rewards read of a prompt is as it was.
    own = {row.prompt_id for row in (prompt_row("push", f"test {number}") for number in range(3))}
    assert {rollout.prompt_id for rollout in read_answers(rung.result.path)} == own
    assert set(search.record.inputs) == {"base", "dataset", "prompts"}

    asked = len(children.requests)
    again = climb(world, "base-prompt", seed=2, overrides=("evaluate.margin=0.2",))
    assert again.answered["base-prompt"].made["prompt-search"].reused
    assert len(children.requests) == asked


@pytest.mark.parametrize("pooled", [False, True])
def test_a_rung_that_fails_is_left_out_with_its_reason_and_the_others_answer(
    world: World,
    children: _Children,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    pooled: bool,
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise TucanoError(f"unexpected ValueError; the traceback is in {world.root}/work/sft/warm_start.log")

    monkeypatch.setattr(rungs_module, "tuned_on_references", fail)
    children.fails, children.fails_where = InputError("the memory is full"), {"samples": 8}
    found = climb(world, *ALL, seed=3 + 10 * pooled, pool=ChildPool(2) if pooled else None)
    assert list(found.answered) == ["base-guided", "base-prompt", "tuned-guided"]
    assert found.left_out == {
        "base-majority": "the memory is full",
        "base-best-of-4": "the memory is full",
        "base-best-of-8": "the memory is full",
        "sft": "unexpected ValueError; the traceback is in the state folder/work/sft/warm_start.log",
    }
    said = capsys.readouterr().err
    assert "the memory is full; the evaluation continues without base-majority, base-best-of-4, base-best-of-8" in said


def test_a_grammar_that_nothing_satisfies_costs_its_own_rung_alone(
    world: World, children: _Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    import dataclasses

    impossible = dataclasses.replace(TASKS["push"], grammar="start: /a/ & /b/\n")
    monkeypatch.setattr("tasks.commerce.registry.TASKS", {**TASKS, "push": impossible})
    found = climb(world, "base-guided", "base-prompt", seed=4)
    assert list(found.answered) == ["base-prompt"]
    assert set(found.left_out) == {"base-guided"}
    assert "grammar" in found.left_out["base-guided"]


def test_a_search_that_fails_half_way_costs_its_own_rung_alone(world: World, children: _Children) -> None:
    answered = 0

    class _SecondRound:
        def __eq__(self, other: object) -> bool:
            nonlocal answered
            answered += other == "data/validation.parquet"
            return other == "data/validation.parquet" and answered == 2

        __hash__ = None  # type: ignore[assignment]

    children.fails, children.fails_where = InputError("the disk is full"), {"split": _SecondRound()}
    found = climb(world, "base-guided", "base-prompt", seed=5)
    assert list(found.answered) == ["base-guided"]
    assert found.left_out == {"base-prompt": "the disk is full"}
    # The same command again resumes: the first round is not drawn again.
    children.fails = None
    assert list(climb(world, "base-guided", "base-prompt", seed=5).answered) == ["base-guided", "base-prompt"]


def test_a_search_that_resumes_with_other_proposals_takes_no_answer_to_another_prompt(
    world: World, children: _Children, monkeypatch: pytest.MonkeyPatch
) -> None:
    rounds: list[tuple[Reworded, ...]] = [
        (Reworded(task="push", system="a", rows=(0,)),),
        (Reworded(task="push", system="b", rows=(1, 2)),),
    ]
    answered: list[list[str]] = []

    def search(*_: Any, answer: Answer, **__: Any) -> None:
        folder = answer(1, rounds[len(answered)])
        answered.append([rollout.prompt for rollout in read_answers(folder)])
        raise InputError("the disk is full")

    monkeypatch.setattr(prompt_search, "search", search)
    for _ in rounds:
        climb(world, "base-prompt", seed=7)
    own = [prompt_row("push", f"validation {number}").prompt for number in range(3)]
    assert answered == [own[:1], own[1:]]


@pytest.mark.parametrize("fresh", [False, True])
def test_a_search_that_is_made_again_takes_no_other_machines_earlier_answers(
    world: World, children: _Children, monkeypatch: pytest.MonkeyPatch, fresh: bool
) -> None:
    asked: list[bool] = []
    real = stage_child.run_stage_child

    def run(*arguments: Any, **named: Any) -> Any:
        asked.append(named.get("fresh", False))
        return real(*arguments, **named)

    monkeypatch.setattr(prompt_search, "run_stage_child", run)
    climb(world, "base-prompt", seed=8, fresh=fresh)
    assert children.requests
    assert set(asked) == {fresh}


@pytest.mark.parametrize("pool", [None, ChildPool(2)])
def test_an_interruption_leaves_nothing_out_but_ends_the_evaluation(
    world: World, children: _Children, pool: ChildPool | None
) -> None:
    children.fails = Interrupted("killed")
    with pytest.raises(Interrupted):
        climb(world, "base-guided", seed=6, pool=pool)
