"""The registered model: what a version is, and who may serve when something is moved, taken back or killed between."""

from collections.abc import Callable
from typing import Any

import pytest

from schemas.artifact import ArtifactRecord
from schemas.errors import InputError
from tasks.lineage.mlflow.recorder import Recorder
from tasks.lineage.mlflow.registry import Registry
from tests.tasks.lineage.mlflow.records import artifact

pytestmark = pytest.mark.integration

CHAMPION, PREVIOUS = "champion", "previous"
PROMOTION = "9" * 64
Register = Callable[..., str]


POLICY, EVALUATION = artifact("policy", "3"), artifact("evaluation", "4")


@pytest.fixture(scope="module")
def recorder(tmp_path_factory: pytest.TempPathFactory, mlflow_tables: None) -> Recorder:
    folder = tmp_path_factory.mktemp("mlflow")
    return Recorder(f"sqlite:///{folder / 'mlflow.db'}", folder / "artifacts", "tucano2-commerce")


@pytest.fixture(scope="module")
def registry(recorder: Recorder) -> Registry:
    return Registry(recorder._uri)


@pytest.fixture(scope="module")
def client(recorder: Recorder) -> Any:
    """MLflow's own view of what the registry holds."""
    from mlflow import MlflowClient

    return MlflowClient(recorder._uri, registry_uri=recorder._uri)


@pytest.fixture(scope="module")
def register(recorder: Recorder, registry: Registry) -> Register:
    def make(
        name: str,
        evaluation: ArtifactRecord = EVALUATION,
        policy: ArtifactRecord = POLICY,
        base_model: str | None = None,
        load_in_4bit: bool = False,
    ) -> str:
        with recorder.pipeline("p", {}) as pipeline, recorder.stage(pipeline, "promote", {}, {}) as stage:
            model: Any = {"base_model": base_model, "load_in_4bit": load_in_4bit, "metrics": {"mean_tuned": 0.75}}
            return registry.register(
                stage.run_id, name, policy=policy, evaluation=evaluation, verdict="promote", **model
            ).version

    return make


def several(register: Register, name: str, count: int) -> list[str]:
    """Register as many policies, each with an evaluation of its own."""
    return [
        register(name, artifact("evaluation", letter), policy=artifact("policy", letter)) for letter in "abcdef"[:count]
    ]


def move(registry: Registry, name: str, version: str, forced: str | None = None) -> str | None:
    before = registry.promote(name, CHAMPION, PREVIOUS, version, promotion=PROMOTION, forced=forced)
    return before.version if before else None


def aliases(client: Any, name: str) -> dict[str, str]:
    return {alias: str(version) for alias, version in client.get_registered_model(name).aliases.items()}


def test_a_registered_policy_tells_what_it_is_and_who_judged_it(
    registry: Registry, client: Any, register: Register
) -> None:
    number = register("tells", base_model="Polygl0t/Tucano2-qwen-0.5B-Instruct", load_in_4bit=True)
    # Registered again after an interruption, it is the same version.
    assert register("tells", base_model="Polygl0t/Tucano2-qwen-0.5B-Instruct", load_in_4bit=True) == number
    assert registry.version("tells", None).version == number
    assert registry.knows("tells", number, POLICY.sha256, EVALUATION.sha256)
    assert not registry.knows("tells", number, POLICY.sha256, PROMOTION)
    with pytest.raises(InputError, match="has no version 99"):
        registry.version("tells", "99")
    version = client.get_model_version("tells", number)
    assert version.tags == {
        "policy_sha256": POLICY.sha256,
        "evaluation_sha256": EVALUATION.sha256,
        "verdict": "promote",
        "base_model": "Polygl0t/Tucano2-qwen-0.5B-Instruct",
        "load_in_4bit": "True",
    }
    assert version.status == "READY"
    model = client.get_logged_model(version.source.removeprefix("models:/"))
    assert {metric.key: metric.value for metric in model.metrics} == {"mean_tuned": 0.75}
    assert model.status == "READY"
    assert [file.path for file in client.list_logged_model_artifacts(model.model_id)] == ["record.json"]


def test_a_rollback_gives_the_alias_back_and_marks_what_it_left(
    registry: Registry, register: Register, client: Any
) -> None:
    first, second = several(register, "back", 2)
    move(registry, "back", first)
    move(registry, "back", second)
    assert aliases(client, "back") == {CHAMPION: second, PREVIOUS: first}
    assert client.get_model_version("back", second).tags["promotion_sha256"] == PROMOTION
    before = registry.version("back", first).promoted_at
    done = registry.roll_back("back", CHAMPION, PREVIOUS)
    assert (done.left.version, done.back.version) == (second, first)
    assert (done.left, done.back) == (registry.version("back", second), registry.version("back", first))
    assert before is not None
    assert done.back.promoted_at is not None
    assert done.back.promoted_at > before
    assert aliases(client, "back") == {CHAMPION: first}
    assert registry.version("back", second).rolled_back_at is not None
    assert registry.version("back", first).rolled_back_at is None
    move(registry, "back", second)
    assert registry.version("back", second).rolled_back_at is None
    assert aliases(client, "back") == {CHAMPION: second, PREVIOUS: first}


def dying(client: Any, patch: pytest.MonkeyPatch, writes_left: int) -> None:
    """Let a client die, as a killed process does, once it has written so often."""
    writes = iter(range(writes_left))

    def dies_at_last(write: Callable[..., None]) -> Callable[..., None]:
        def written(*arguments: object) -> None:
            if next(writes, None) is None:
                raise KeyboardInterrupt
            write(*arguments)

        return written

    for part in ("model_version_tag", "registered_model_alias"):
        for name in (f"set_{part}", f"delete_{part}"):
            patch.setattr(client, name, dies_at_last(getattr(client, name)))


@pytest.mark.parametrize("writes", [2, 4])
def test_a_promotion_killed_at_a_write_leaves_a_champion_and_the_same_call_finishes(
    registry: Registry, register: Register, client: Any, writes: int
) -> None:
    name = f"killed-{writes}"
    old, new = several(register, name, 2)
    move(registry, name, old)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        dying(registry._client, patch, writes)
        move(registry, name, new, forced="um motivo")
    assert aliases(client, name)[CHAMPION] == (new if writes > 3 else old)
    move(registry, name, new, forced="um motivo")
    assert aliases(client, name) == {CHAMPION: new, PREVIOUS: old}
    assert registry.version(name, new).promoted_at is not None


@pytest.mark.parametrize("writes", [1, 3])
def test_a_rollback_killed_at_a_write_leaves_a_champion_and_is_never_half_believed(
    registry: Registry, register: Register, client: Any, writes: int
) -> None:
    name = f"half-{writes}"
    old, new = several(register, name, 2)
    move(registry, name, old)
    move(registry, name, new)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        dying(registry._client, patch, writes)
        registry.roll_back(name, CHAMPION, PREVIOUS)
    if writes < 3:
        assert aliases(client, name)[CHAMPION] == new
        assert registry.roll_back(name, CHAMPION, PREVIOUS).back.version == old
    assert aliases(client, name)[CHAMPION] == old
    assert registry.version(name, new).rolled_back_at is not None
