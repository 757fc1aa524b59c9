"""The promote flow: who becomes the champion, when that is cached, taken back, lost or killed between."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from flows.runtime.session import EXPERIMENT, mlflow_store
from flows.stages import child_pool
from flows.stages import promote as flow
from flows.stages.runner import Session, StageResult
from schemas.artifact import ArtifactRecord
from schemas.config.config import StateConfig
from schemas.errors import GateRefused, Interrupted
from schemas.tasks import TASK_NAMES
from tasks.lineage.mlflow.recorder import Recorder
from tasks.lineage.mlflow.registry import PolicyVersion, Registry
from tasks.policy.merge import MergeRequest
from tests.flows.children import run_here
from tests.flows.prefect_state import prefect_state
from tests.flows.promotable import WHY_HELD, Promotable, make_promotable, store_of

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def world(prefect_server: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Promotable]:
    root = tmp_path_factory.mktemp("state")
    with prefect_state(prefect_server, root):
        yield make_promotable(root)


class Children:
    """Runs the merge in this process, which has torch already, and counts how often."""

    def __init__(self) -> None:
        self.runs = 0
        self.error: Exception | None = None

    def run_merge(self, module: str, request: MergeRequest, folder: Path, **_: object) -> None:
        assert module == "tasks.policy.merge"
        self.runs += 1
        if self.error is not None:
            raise self.error
        run_here(module, request, folder)


@pytest.fixture(autouse=True)
def children(monkeypatch: pytest.MonkeyPatch) -> Children:
    made = Children()
    monkeypatch.setattr(child_pool, "run_child", made.run_merge)
    monkeypatch.setattr(flow, "run_child", run_here)
    return made


class Model:
    """One registered model, that nobody else's test moves."""

    def __init__(self, world: Promotable, name: str) -> None:
        self.world, self.name = world, name
        self.config = world.config(f"promote.model_name={name}")

    def promote(
        self, policy: ArtifactRecord, evaluation: ArtifactRecord, *, fresh: bool = False, **how: Any
    ) -> StageResult:
        recorder = Recorder(*mlflow_store(StateConfig(root=self.world.root)), EXPERIMENT)
        records = {"policy": policy, "evaluation": evaluation, "base": self.world.base, "dataset": self.world.dataset}
        parts = {role: self._result(record) for role, record in records.items()}
        with recorder.pipeline("p", {}) as run:
            session = Session(self.config, run, fresh=uuid4().hex if fresh else None)
            result: StageResult = flow.promote(session, parts, **how)
        return result

    def _result(self, record: ArtifactRecord) -> StageResult:
        return StageResult(record, store_of(self.world.root).path(record.sha256), 0.0, reused=True)

    @property
    def aliases(self) -> dict[str, str]:
        return self.world.aliases(self.name)

    @property
    def client(self) -> Any:
        return self.world.registry._client


@pytest.fixture
def model(world: Promotable, request: pytest.FixtureRequest) -> Model:
    return Model(world, request.node.name.replace("[", "-").replace("]", ""))


@pytest.fixture(scope="module")
def policy(world: Promotable) -> ArtifactRecord:
    return world.policy(1)


def test_on_the_gates_word_the_model_is_written_described_and_made_champion_that_mlflow_loads(
    world: Promotable, model: Model, policy: ArtifactRecord, monkeypatch: pytest.MonkeyPatch
) -> None:
    import mlflow
    from transformers import GenerationConfig

    result = model.promote(policy, world.evaluation("promote"))
    decision = flow.read_decision(result.path)
    assert (decision["version"], decision["verdict"], decision["forced"]) == ("1", "promote", None)
    assert decision["version_before"] is None
    assert model.aliases == {"champion": "1"}
    version = model.client.get_model_version(model.name, "1")
    assert version.tags["promotion_sha256"] == result.record.sha256
    assert version.description.startswith(f"# {model.name}")
    assert set(result.record.inputs) == {"policy", "evaluation", "base", "dataset", "merged"}
    merged = store_of(world.root).path(result.record.inputs["merged"])
    assert (result.path / "merged/model.safetensors").read_bytes() == (merged / "model.safetensors").read_bytes()
    assert not (result.path / "merged/merge.json").exists()
    card = (result.path / "README.md").read_text(encoding="utf-8")
    assert policy.sha256 in card
    assert "These very weights answered" not in card
    decoding = GenerationConfig.from_pretrained(result.path / "merged")
    evaluated = (model.config.evaluate.temperature, model.config.train.max_completion_tokens)
    assert (decoding.temperature, decoding.max_new_tokens) == evaluated

    address, _ = mlflow_store(StateConfig(root=world.root))
    monkeypatch.setenv("MLFLOW_TRACKING_URI", address)
    monkeypatch.setenv("MLFLOW_REGISTRY_URI", address)
    mlflow.set_tracking_uri(address)
    loaded = mlflow.pyfunc.load_model(f"models:/{model.name}@champion")
    (answer,) = loaded.predict({**loaded.input_example, "max_tokens": 4})
    assert answer["usage"]["completion_tokens"] <= 4
    assert loaded.metadata.metadata["policy"] == policy.sha256
    assert set(loaded.metadata.metadata["systems"]) == set(TASK_NAMES)


def test_a_held_version_is_registered_and_described_and_no_alias_moves(
    world: Promotable, model: Model, children: Children
) -> None:
    policy = world.policy(11)
    model.promote(policy, world.evaluation("promote"))
    result = model.promote(policy, world.evaluation("hold"))
    assert flow.read_decision(result.path)["reasons"] == [WHY_HELD]
    assert children.runs == 1
    assert not (result.path / "merged").exists()
    assert "This version is held" in (result.path / "README.md").read_text(encoding="utf-8")
    assert model.aliases == {"champion": "1"}
    assert world.registry.version(model.name, "2").verdict == "hold"
    assert "models:/NAME@ALIAS" in world.registry._client.get_registered_model(model.name).description
    held = world.registry._client.get_model_version(model.name, "2")
    assert "This version is held" in held.description


def known(version: int, policy: str, promoted: str | None = None, rolled_back: str | None = None) -> PolicyVersion:
    return PolicyVersion(
        version=str(version),
        policy=policy,
        evaluation="e",
        verdict="promote",
        base_model=None,
        load_in_4bit=False,
        forced=None,
        promoted_at=promoted,
        rolled_back_at=rolled_back,
    )


FIRST, SECOND = known(1, "a", promoted="2026-01"), known(2, "b", promoted="2026-02")
TAKEN_BACK = known(2, "b", rolled_back="2026-03")


@pytest.mark.parametrize(
    ("version", "champion", "others", "why"),
    [
        (known(3, "c"), SECOND, [FIRST], None),
        (FIRST, None, [], None),
        # Evaluated again, the champion takes its own place; an older version of it does not.
        (known(3, "b"), SECOND, [FIRST], None),
        (SECOND, known(3, "b", promoted="2026-04"), [FIRST], "is `champion` already, as version 3"),
        (TAKEN_BACK, FIRST, [], "was rolled back at 2026-03"),
        (known(3, "b"), FIRST, [TAKEN_BACK], "was rolled back at 2026-03"),
        (TAKEN_BACK, None, [FIRST], "was rolled back at 2026-03"),
        (FIRST, SECOND, [], "was `champion` already, and version 2 came after it"),
        (known(3, "a"), SECOND, [FIRST], "was `champion` already, and version 2 came after it"),
        # Also where nobody holds the alias since.
        (known(3, "a"), None, [FIRST, SECOND], "was `champion` already, and version 2 came after it"),
    ],
)
def test_the_gates_word_moves_the_alias_once_for_each_policy(
    version: PolicyVersion, champion: PolicyVersion | None, others: list[PolicyVersion], why: str | None
) -> None:
    versions = [*others, version, *([champion] if champion else [])]
    found = flow._why_not(version, champion, versions, "champion")
    assert (found is None) if why is None else why in str(found)


def test_a_decision_is_carried_out_again_where_the_alias_or_the_registry_was_lost(
    world: Promotable, model: Model, policy: ArtifactRecord
) -> None:
    evaluation = world.evaluation("promote")
    model.promote(policy, evaluation)
    model.client.delete_registered_model_alias(model.name, "champion")
    assert model.promote(policy, evaluation).reused
    assert model.aliases == {"champion": "1"}
    model.client.delete_registered_model(model.name)
    assert not model.promote(policy, evaluation).reused
    assert world.registry.version(model.name, None).evaluation == evaluation.sha256
    assert model.aliases == {"champion": "1"}


def test_a_kill_or_a_refused_merge_leaves_the_champion_and_the_same_command_finishes(
    world: Promotable, model: Model, children: Children
) -> None:
    policy, newer, evaluation = world.policy(14), world.policy(15), world.evaluation("promote")
    model.promote(policy, evaluation)
    children.error = GateRefused("it answers with other words")
    with pytest.raises(GateRefused):
        model.promote(newer, evaluation)
    children.error = None

    def killed(*arguments: object, **named: object) -> None:
        raise Interrupted("killed")

    with pytest.MonkeyPatch.context() as patch, pytest.raises(Interrupted):
        patch.setattr(Registry, "promote", killed)
        model.promote(newer, evaluation)
    assert model.aliases == {"champion": "1"}
    assert model.promote(newer, evaluation).reused
    assert model.aliases == {"champion": "2", "previous": "1"}
    assert children.runs == 3
    assert len(model.client.search_model_versions(f"name = '{model.name}'")) == 2


def test_a_model_whose_merged_weights_answered_the_test_is_served_as_those(
    world: Promotable, model: Model, policy: ArtifactRecord, children: Children
) -> None:
    merged = model.promote(policy, world.evaluation("promote")).record.inputs["merged"]
    tested = world.evaluation("promote", tested=merged)
    runs = children.runs
    result = model.promote(policy, tested)
    assert (children.runs, result.record.inputs["merged"]) == (runs, merged)
    assert "These very weights answered" in (result.path / "README.md").read_text(encoding="utf-8")


def test_adapters_of_their_own_are_not_merged(world: Promotable, model: Model, children: Children) -> None:
    result = model.promote(world.policy(2, tasks=("push", "churn")), world.evaluation("promote"))
    assert model.aliases == {"champion": "1"}
    assert children.runs == 0
    assert flow.read_decision(result.path)["merged"] is None
    assert "Serve the base" in (result.path / "README.md").read_text(encoding="utf-8")
