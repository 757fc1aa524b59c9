"""The evaluate flow: who answers by which weights, and what a model that decides nothing may spoil."""

import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from flows.runtime.session import open_recorder
from flows.stages import child_pool
from flows.stages.evaluate import champion_for, evaluate, logged_training
from flows.stages.runner import Results, Session, StageResult
from schemas.artifact import ArtifactKind, ArtifactRecord
from schemas.config.config import AUDIT_FOLDER, Config
from schemas.config.profiles import load_config
from schemas.errors import InputError
from schemas.tables.prompts import KNOWN_TO_BASE, TEST_FILE, TRAIN_FILE, VALIDATION_FILE, read_prompts
from tasks.evaluate.answers.files import Answer, Batch, as_decoding, write_answers
from tasks.lineage.store.artifacts import ArtifactStore
from tasks.policy.generate import StopReason
from tasks.policy.merge import CHECK_FILE, MergeCheck
from tests.chat_server import Reply, in_turn, says, serve
from tests.flows.prefect_state import prefect_state
from tests.flows.promotable import made, store_of
from tests.prompt_tables import write_prompts
from tests.summaries import DATASET_SUMMARY
from tests.tasks.curate.prompt_rows import prompt_row
from tests.tasks.lineage.made import commit

SECONDS = count(1)
RIGHT, WRONG = '{"polarity": "positive", "score": 5}', "gostei"
COMMIT = "c0ffee"
"""Of the base on its hub: what was published is fetched as it was then."""
ROWS = [prompt_row("sentiment", f"Avaliação {name}") for name in "abcdef"]
KNOWN = {"sentiment": 2, "sql_qa": 5}
"""Held-out prompts that the base was trained on, by task, of which the dataset's summary tells."""
CHECK = MergeCheck(
    prompts=6, tokens=48, tokens_same_as_written=48, merged_difference=0.0, written_difference=0.0, dtype="float32"
)


@dataclass
class Children:
    """Stands in for the children that load weights, and keeps who was asked to answer."""

    answered: list[Any] = field(default_factory=list)

    def run_child(self, module: str, request: Any, folder: Path, **_: object) -> str:
        if module == "tasks.train.sft.warm_start":
            assert request.warm_start.steps == 0
            assert request.policy.revision == COMMIT
            (request.output / "config.json").write_text('{"published": true}', encoding="utf-8")
            return "cpu"
        if module == "tasks.policy.merge":
            (request.output / "model.safetensors").write_bytes((request.adapter / "adapter_config.json").read_bytes())
            (request.output / CHECK_FILE).write_text(CHECK.model_dump_json(), encoding="utf-8")
            return "cpu"
        assert module == "tasks.evaluate.answers.answer"
        self.answered.append(request)
        tuned = request.policy is not None or (request.base / CHECK_FILE).exists()
        given = [
            Answer(index=index, text=RIGHT if tuned else WRONG, tokens=7, stop_reason=StopReason.END_OF_TURN)
            for index in range(len(ROWS))
        ]
        # No two answerings take the same time, so that each is an artifact of its own.
        batch = Batch(sample=0, number=0, seconds=float(next(SECONDS)), answers=tuple(given))
        rows = read_prompts(request.dataset / TEST_FILE)
        write_answers(request.output, rows, [batch], as_decoding(request.temperature, request.max_tokens), ours=True)
        return "cpu"


@dataclass(frozen=True)
class World:
    """A state folder with all that is evaluated."""

    root: Path
    prompts: StageResult
    dataset: StageResult
    base: StageResult
    audit: StageResult

    def policy(self, name: str, adapters: str = "adapter", **others: Any) -> StageResult:
        def fill(folder: Path) -> None:
            (folder / adapters).mkdir(parents=True)
            (folder / adapters / "adapter_config.json").write_text(name, encoding="utf-8")
            validation = [{"step": step, "mean_reward": 0.5, "by_task": {"push": 0.5}} for step in (0, 4)]
            summary = {"chosen_step": 4, "steps": 4, "validation": validation, **others}
            (folder / "training.json").write_text(json.dumps(summary), encoding="utf-8")

        return made(self.root, "policy", fill, {"base": self.base.record.sha256})

    def evaluate(self, policy: StageResult, *overrides: str) -> Results:
        alone = ("evaluate.against_champion=false", "evaluate.rungs=[]", "warm_start.steps=0", "train.max_steps=1")
        fixed = [f"state.root={self.root}", "evaluate.resamples=1000", *alone]
        config: Config = load_config("local", [*fixed, *overrides])
        with open_recorder(config).pipeline("evaluates", {}) as run:
            given = {"prompts": self.prompts, "dataset": self.dataset, "base": self.base, "audit": self.audit}
            return evaluate(Session(config, run), given, {42: policy}, for_rungs={})


@pytest.fixture(scope="module")
def world(prefect_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    root = tmp_path_factory.mktemp("state")

    def dataset(folder: Path) -> None:
        write_prompts(ROWS, folder / TEST_FILE)
        write_prompts(ROWS, folder / TRAIN_FILE)
        write_prompts(ROWS, folder / VALIDATION_FILE)
        DATASET_SUMMARY.model_copy(update={"reasons": {KNOWN_TO_BASE: KNOWN}}).write(folder)

    def text(folder: Path) -> None:
        (folder / "config.json").write_text("{}", encoding="utf-8")
        (folder / "published.json").write_text(json.dumps({"commit": COMMIT}), encoding="utf-8")

    with prefect_state(prefect_server, root):
        yield World(
            root,
            made(root, "prompts", lambda folder: shutil.copytree(AUDIT_FOLDER / "store", folder / "store")),
            made(root, "dataset", dataset),
            made(root, "base", text),
            made(root, "audit", lambda folder: (folder / "audit.json").write_text("{}", encoding="utf-8")),
        )


@pytest.fixture
def children(monkeypatch: pytest.MonkeyPatch) -> Children:
    children = Children()
    monkeypatch.setattr(child_pool, "run_child", children.run_child)
    return children


def report(stages: Results) -> Any:
    return json.loads((stages["evaluate"].path / "report.json").read_text(encoding="utf-8"))


@pytest.mark.integration
def test_the_merged_policy_is_compared_with_the_base_as_served(world: World, children: Children) -> None:
    policy = world.policy("quantized")
    stages = world.evaluate(policy, "train.load_in_4bit=true")
    assert list(stages) == ["plan", "merge-tuned", "answer-base", "answer-tuned", "evaluate"]
    base, merged = world.base.path, stages["merge-tuned"].path
    assert [(each.base, each.policy, each.load_in_4bit) for each in children.answered] == [
        (base, None, False),
        (merged, None, False),
    ]
    found = report(stages)
    assert found["known_to_base"] == KNOWN
    assert found["overall"]["mean_difference"] > 0
    assert stages["evaluate"].record.inputs["merge-tuned"] == stages["merge-tuned"].record.sha256


@pytest.mark.integration
def test_a_warm_start_is_the_rung_sft_and_the_model_before_it_is_the_base(world: World, children: Children) -> None:
    """A second training on references was made for the rung, and the base of the comparison was warm already."""
    named = ("policy.stand_in=false", f"policy.name={world.base.path}", "train.load_in_4bit=false")
    warm = (*named, "warm_start.steps=2", 'evaluate.rungs=["sft"]')
    stages = world.evaluate(world.policy("named"), *warm)
    assert "model-sft" not in stages
    inputs = stages["evaluate"].record.inputs
    assert inputs["base"] == stages["published"].record.sha256
    assert stages["published"].path in [each.base for each in children.answered]
    assert store_of(world.root).record(inputs["answers-sft"]).inputs["base"] == world.base.record.sha256
    assert report(stages)["ladder"].keys() == {"sft"}
    assert "answer-sft" not in world.evaluate(world.policy("untrained", steps=0), *warm)


@pytest.mark.integration
def test_adapters_of_their_own_answer_beside_the_base_that_serves_them(world: World, children: Children) -> None:
    policy = world.policy("of tasks", "adapters/sentiment")
    stages = world.evaluate(policy, "train.load_in_4bit=true", "train.adapter_per_task=true")
    asked = [(each.policy, each.load_in_4bit) for each in children.answered if each.policy is not None]
    assert asked == [(policy.path, False)]
    assert not [name for name in stages if name.startswith("merge")]


@pytest.mark.integration
def test_a_rival_that_gives_only_thoughts_stops_neither_the_evaluation_nor_another_rival(
    world: World, children: Children, capsys: pytest.CaptureFixture[str]
) -> None:
    thought = Reply(json.dumps({"choices": [{"message": {"content": None}, "finish_reason": "length"}]}).encode())
    with serve(in_turn([thought])) as thinking, serve(in_turn([says(RIGHT, "stop", (20, 4))])) as answering:
        rivals = [
            f'{{ name = "{name}", model = "m", url = "{server.url}", price_output = 10.0 }}'
            for name, server in (("thinker", thinking), ("talker", answering))
        ]
        stages = world.evaluate(
            world.policy("rivalled"), "train.load_in_4bit=false", f"evaluate.rivals=[{', '.join(rivals)}]"
        )
        assert (len(thinking.requests), len(answering.requests)) == (3, len(ROWS))
    assert "evaluate: warning: the rival thinker's endpoint" in capsys.readouterr().err
    assert "answer-rival-talker" in stages
    found = report(stages)
    assert list(found["others"]) == ["talker"]
    costs = {each["model"]: each["cost_per_analysis"] for each in found["serving"]}
    assert costs["talker"] == pytest.approx(4e-5)


@pytest.mark.integration
def test_another_language_makes_the_report_again_and_no_answer(world: World, children: Children) -> None:
    policy = world.policy("spoken")
    english = world.evaluate(policy, "train.load_in_4bit=false")
    asked = len(children.answered)
    portuguese = world.evaluate(policy, "train.load_in_4bit=false", 'report.language="pt"')
    assert len(children.answered) == asked
    assert not portuguese["evaluate"].reused
    assert portuguese["plan"].record.sha256 == english["plan"].record.sha256
    assert report(portuguese)["looks"] == report(english)["looks"]
    assert report(portuguese)["overall"] == report(english)["overall"]
    text = (portuguese["evaluate"].path / "report.md").read_text(encoding="utf-8")
    assert "com as mesmas palavras: 7 (sentiment 2, sql_qa 5)." in text
    assert world.evaluate(policy, "train.load_in_4bit=false", 'report.language="pt"')["evaluate"].reused


class Shop:
    """A store of policies and evaluations, and a registry in memory: stands for the run's session."""

    def __init__(self, folder: Path) -> None:
        self.store, self.registry, self.config = ArtifactStore(folder), self, load_config("local")
        self.registered: list[Any] = []
        self.champion: Any = None

    def holder(self, _model: str, _alias: str) -> Any:
        return self.champion

    def versions(self, _model: str) -> list[Any]:
        return self.registered

    def commit(self, kind: ArtifactKind, text: str, **inputs: str) -> ArtifactRecord:
        return commit(self.store, kind, {"content": text}, inputs)

    def judge(self, policy: ArtifactRecord, *, promoted: bool = True, **against: str) -> None:
        """Register a policy with its evaluation, and give it the alias."""
        evaluation = self.commit("evaluation", f"of {policy.sha256}", **against)
        version = SimpleNamespace(version="1", policy=policy.sha256, evaluation=evaluation.sha256)
        self.registered.append(version)
        self.champion = version if promoted else self.champion


def champion(shop: Any, challenger: ArtifactRecord) -> ArtifactRecord | None:
    return champion_for(shop, challenger)


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path)


def test_a_challenger_is_compared_with_the_champion_also_after_it_took_its_place(shop: Shop) -> None:
    first, second = shop.commit("policy", "first"), shop.commit("policy", "second")
    assert champion(shop, first) is None
    shop.judge(first)
    # Itself it is not compared with.
    assert champion(shop, first) is None
    assert champion(shop, second) == first
    shop.judge(second, champion=first.sha256)
    assert champion(shop, second) == first


def test_a_challenger_that_was_held_before_there_was_a_champion_is_compared_with_it_now(shop: Shop) -> None:
    held, later = shop.commit("policy", "held"), shop.commit("policy", "later")
    shop.judge(held, promoted=False)
    shop.judge(later)
    assert champion(shop, held) == later


def test_a_champion_whose_artifact_is_damaged_is_named_with_the_way_out(shop: Shop) -> None:
    first, second = shop.commit("policy", "first"), shop.commit("policy", "second")
    shop.judge(first)
    file = shop.store.path(first.sha256) / "content"
    file.chmod(0o644)
    file.write_text("altered", encoding="utf-8")
    with pytest.raises(InputError, match=r"was altered; .*evaluate\.against_champion=false"):
        champion(shop, second)


VALIDATION = [
    {"step": 0, "mean_reward": 0.5, "by_task": {"push": 0.5}, "ground_truth": {}},
    {"step": 2, "mean_reward": 0.75, "by_task": {"push": 0.75}, "ground_truth": {}},
]


def write_training(folder: Path, zero_variance: float) -> None:
    (folder / "rollouts").mkdir(parents=True)
    for name in ("step-000021-000040.parquet", "step-000001-000020.parquet"):
        (folder / "rollouts" / name).touch()
    log = [{"step": step, "loss": 0.1, "zero_variance": zero_variance} for step in (1, 2)]
    (folder / "training.json").write_text(json.dumps({"validation": VALIDATION, "log": log}), encoding="utf-8")


def result(path: Path, **alarms: Any) -> StageResult:
    record = SimpleNamespace(config={"train": {"alarms": alarms}})
    return cast("StageResult", SimpleNamespace(path=path, record=record))


@pytest.mark.parametrize(("patience", "steps"), [(1, [1]), (2, [2]), (3, [])])
def test_alarms_follow_the_limits_that_the_training_ran_under(tmp_path: Path, patience: int, steps: list[int]) -> None:
    write_training(tmp_path, 1.0)
    found = logged_training(7, result(tmp_path, patience=patience))
    assert [alarm.step for alarm in found.alarms] == steps
    assert [log.name for log in found.logs] == ["step-000001-000020.parquet", "step-000021-000040.parquet"]
    assert found.validation == {0: {"push": 0.5}, 2: {"push": 0.75}}
