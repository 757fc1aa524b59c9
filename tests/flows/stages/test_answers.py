"""Answers are drawn once for a model, test split and decoding, and an interrupted drawing resumes from its batches."""

import io
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from flows.runtime.session import open_recorder
from flows.stages import answers, child_pool
from flows.stages.answers import Answering, answer, answer_rival, answer_rungs, rung_makers
from flows.stages.child_pool import ChildPool, do_all
from flows.stages.runner import Session, StageResult
from schemas.artifact import ArtifactRecord
from schemas.config.config import Config
from schemas.config.evaluate import RivalConfig
from schemas.config.profiles import load_config
from schemas.errors import Interrupted, TucanoError
from tasks.evaluate.answers.answer import AnswerRequest
from tasks.evaluate.answers.files import FINISHED_FILE, ROLLOUTS_FILE
from tests.chat_server import in_turn, says, serve
from tests.flows.children import run_here
from tests.flows.prefect_state import prefect_state
from tests.flows.promotable import made
from tests.prompt_tables import write_prompts
from tests.small_base import save_base
from tests.tasks.curate.prompt_rows import prompt_row
from tests.tasks.policy.test_adapters import save_adapter

pytestmark = pytest.mark.integration

TEST = [prompt_row("push", f"Pedido {number} " + "de novo " * number) for number in range(4)]


class _Dying(io.StringIO):
    """A child's way to speak that ends once so many batches are reported."""

    def __init__(self, batches: int | None) -> None:
        super().__init__()
        self._left = batches

    def write(self, text: str) -> int:
        if self._left is not None and json.loads(text)["progress"][2] == "answers":
            self._left -= 1
            if not self._left:
                raise Interrupted("killed")
        return len(text)


@dataclass
class _Children:
    """Runs the child's work in this process, which has torch already, and knows what was asked of it."""

    requests: list[AnswerRequest] = field(default_factory=list)
    batches_left: int | None = None
    found: list[int] = field(default_factory=list)
    """Batches that each child found finished."""
    fails: Exception | None = None

    def run(self, module: str, request: AnswerRequest, folder: Path, **_: Any) -> None:
        assert module == "tasks.evaluate.answers.answer"
        self.requests.append(request)
        if self.fails:
            raise self.fails
        finished = request.work / FINISHED_FILE
        self.found.append(finished.read_bytes().count(b"\n") if finished.exists() else 0)
        run_here(module, request, folder, speak=_Dying(self.batches_left))


@dataclass(frozen=True)
class World:
    """A state folder with a base, a policy, a plan and datasets."""

    root: Path
    base: ArtifactRecord
    policy: ArtifactRecord
    plan: StageResult
    dataset: StageResult
    retrained: StageResult
    """The same test split with another training split."""
    retested: StageResult
    """Another test split."""

    def config(self, *overrides: str) -> Config:
        fixed = ["train.max_completion_tokens=16", "train.max_steps=1", "evaluate.batch_size=2"]
        fixed.append(f"state.root={self.root}")
        return load_config("local", [*fixed, *overrides])


@pytest.fixture(scope="module")
def world(prefect_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    root = tmp_path_factory.mktemp("state")
    with prefect_state(prefect_server, root):
        yield _make_world(root)


def _make_world(root: Path) -> World:
    def dataset(train: str, test: str) -> StageResult:
        def fill(folder: Path) -> None:
            write_prompts([prompt_row("push", train)], folder / "data" / "train.parquet")
            write_prompts([prompt_row("push", "Validação")], folder / "data" / "validation.parquet")
            write_prompts([*TEST, prompt_row("push", test)], folder / "data" / "test.parquet")

        return made(root, "dataset", fill)

    base = made(root, "base", save_base)
    policy = made(root, "policy", lambda folder: save_adapter(base.path, folder / "adapter", 2))
    plan = made(root, "plan", lambda folder: (folder / "plan.json").write_text("{}", encoding="utf-8"))
    return World(
        root,
        base.record,
        policy.record,
        plan,
        dataset("Treino", "Teste"),
        dataset("Outro treino", "Teste"),
        dataset("Treino", "Outro teste"),
    )


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> _Children:
    children = _Children()
    monkeypatch.setattr(child_pool, "run_child", children.run)
    return children


def ask(
    world: World, *overrides: str, who: Answering | RivalConfig, dataset: StageResult | None = None, fresh: bool = False
) -> StageResult:
    """Let a model answer in a run of its own, as another command would."""
    config = world.config(*overrides)
    with open_recorder(config).pipeline("asks", {}) as run:
        session = Session(config, run, fresh=uuid4().hex if fresh else None)
        if isinstance(who, RivalConfig):
            return answer_rival(session, dataset or world.dataset, world.plan, who)
        return answer(session, dataset or world.dataset, world.plan, who)


def rollouts(result: StageResult) -> bytes:
    return (result.path / ROLLOUTS_FILE).read_bytes()


def left_behind(root: Path) -> Sequence[Path]:
    return list((root / "work").glob("*"))


def test_a_model_answers_a_test_split_once_with_one_decoding(world: World, children: _Children) -> None:
    base, tuned = Answering("base", world.base), Answering("tuned", world.base, world.policy)
    first = ask(world, who=base)
    assert first.record.kind == "answers"
    assert first.record.inputs == {
        "base": world.base.sha256,
        "dataset": world.dataset.record.sha256,
        "plan": world.plan.record.sha256,
    }
    known = {first.record.sha256}

    def is_drawn(dataset: StageResult | None = None, *overrides: str, who: Answering = base) -> bool:
        before = len(children.requests)
        result = ask(world, *overrides, who=who, dataset=dataset)
        drawn = result.record.sha256 not in known
        assert drawn is not result.reused
        assert len(children.requests) - before == int(drawn)
        known.add(result.record.sha256)
        return drawn

    assert not is_drawn()
    assert not is_drawn(world.retrained)
    assert not is_drawn(None, "evaluate.margin=0.1", "evaluate.cost.price_per_hour=3", "train.max_steps=9")
    assert is_drawn(world.retested)
    assert is_drawn(None, "evaluate.temperature=0.7")
    assert is_drawn(None, "evaluate.samples=2")
    assert is_drawn(None, "train.max_completion_tokens=17")
    assert is_drawn(None, "seed=7")
    assert is_drawn(who=tuned)
    # Who is the champion was a challenger once.
    assert not is_drawn(who=Answering("champion", world.base, world.policy))
    assert left_behind(world.root) == []


def test_an_interrupted_drawing_goes_on_and_another_decoding_does_not(world: World, children: _Children) -> None:
    base = Answering("base", world.base, None)
    warm = ("seed=11", "evaluate.temperature=0.9")
    whole = rollouts(ask(world, *warm, who=base))
    children.batches_left = 2
    with pytest.raises(Interrupted):
        ask(world, *warm, who=base, fresh=True)
    with pytest.raises(Interrupted):
        ask(world, "seed=11", "evaluate.samples=2", who=base)
    children.batches_left = None
    ask(world, "seed=11", "evaluate.samples=2", "evaluate.temperature=0.3", who=base)
    ask(world, "seed=11", "evaluate.samples=2", who=base)
    # A run that makes all again does not resume from what another one began.
    again = ask(world, *warm, who=base, fresh=True)
    # Two batches, of which both samples were drawn together.
    assert children.found == [0, 0, 0, 0, 4, 0]
    assert not again.reused
    assert rollouts(again) == whole
    assert left_behind(world.root) == []


def test_a_rival_is_asked_once_whatever_it_costs_and_however_it_is_reached(world: World) -> None:
    with serve(in_turn([says("Compre.", "stop", (20, 4))])) as server:
        rival = RivalConfig(name="large", url=server.url, model="large")
        first = ask(world, who=rival)
        assert len(server.requests) == len(TEST) + 1
        reached = {"price_input": 2.0, "concurrency": 1, "timeout_seconds": 9.0, "max_attempts": 1, "name": "other"}
        for name, value in reached.items():
            again = ask(world, who=rival.model_copy(update={name: value}), dataset=world.retrained)
            assert (again.reused, again.record.sha256) == (True, first.record.sha256)
        assert not ask(world, who=rival.model_copy(update={"model": "larger"})).reused
        assert not ask(world, "evaluate.temperature=0.7", who=rival).reused
        assert not ask(world, who=rival.model_copy(update={"body": {"reasoning_effort": "low"}})).reused
        assert not ask(world, who=rival.model_copy(update={"max_tokens": 99})).reused
        assert len(server.requests) == 5 * (len(TEST) + 1)
    assert left_behind(world.root) == []


def climb(world: World, *rungs: str, seed: int, pool: ChildPool) -> Any:
    names = ", ".join(f'"{rung}"' for rung in rungs)
    config = world.config(f"evaluate.rungs=[{names}]", f"seed={seed}", "warm_start.steps=0")
    with open_recorder(config).pipeline("climbs", {}) as run:
        session = Session(config, run, pool=pool)
        base = session.result(world.base)
        made = do_all(pool, rung_makers(session, world.dataset, base))
        return answer_rungs(session, world.dataset, world.plan, base, made)


def test_a_rung_that_fails_is_left_out_with_its_reason_and_the_others_answer(
    world: World, children: _Children, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise TucanoError(f"unexpected ValueError; the traceback is in {world.root}/work/sft/warm_start.log")

    monkeypatch.setattr(answers, "tuned_on_references", fail)
    answered, left_out = climb(world, "sft", "base-guided", seed=13, pool=ChildPool(2))
    assert {rung: each.record.stage for rung, each in answered.items()} == {"base-guided": "answer-base-guided"}
    (asked,) = children.requests
    assert (asked.policy, asked.general) == (None, False)
    assert asked.grammars
    assert left_out == {"sft": "unexpected ValueError; the traceback is in the state folder/work/sft/warm_start.log"}
    assert "the evaluation continues without sft" in capsys.readouterr().err


def test_an_interruption_leaves_nothing_out_but_ends_the_evaluation(world: World, children: _Children) -> None:
    children.fails = Interrupted("killed")
    with pytest.raises(Interrupted):
        climb(world, "base-guided", seed=6, pool=ChildPool(2))
