"""The registered model: what a version is, and who may serve when something is moved, taken back or killed between."""

from collections.abc import Callable
from typing import Any

import pytest

from schemas.artifact import ArtifactRecord
from schemas.errors import InputError
from tasks.lineage.mlflow.recorder import Recorder
from tasks.lineage.mlflow.registry import Registry
from tests.tasks.lineage.made import register_policy
from tests.tasks.lineage.mlflow.records import EVALUATION, POLICY, artifact

pytestmark = [pytest.mark.integration, pytest.mark.usefixtures("mlflow_tables")]

CHAMPION, PREVIOUS = "champion", "previous"
PROMOTION = "9" * 64
Register = Callable[..., str]


@pytest.fixture(scope="module")
def registry(recorder: Recorder) -> Registry:
    return Registry(recorder._uri)


@pytest.fixture(scope="module")
def register(recorder: Recorder, registry: Registry) -> Register:
    def make(name: str, evaluation: ArtifactRecord = EVALUATION, policy: ArtifactRecord = POLICY, **how: Any) -> str:
        with recorder.pipeline("p", {}) as pipeline, recorder.stage(pipeline, "promote", {}, {}) as stage:
            known = {"metrics": {"mean_tuned": 0.75}, **how}
            return register_policy(registry, stage.run_id, name, policy, evaluation, **known).version

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


def test_registered_version_names_its_policy_and_gate(registry: Registry, client: Any, register: Register) -> None:
    number = register("tells", base_model="Polygl0t/Tucano2-qwen-0.5B-Instruct", load_in_4bit=True)
    # Registered again after an interruption, it is the same version.
    assert register("tells", base_model="Polygl0t/Tucano2-qwen-0.5B-Instruct", load_in_4bit=True) == number
    assert registry.version("tells", None).version == number
    (known,) = registry.versions("tells")
    assert (known.version, known.policy, known.evaluation) == (number, POLICY.sha256, EVALUATION.sha256)
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


def test_rollback_moves_the_alias_and_marks_versions(registry: Registry, register: Register, client: Any) -> None:
    first, second = several(register, "back", 2)
    move(registry, "back", first)
    move(registry, "back", second)
    assert registry.aliases("back") == aliases(client, "back") == {CHAMPION: second, PREVIOUS: first}
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


@pytest.mark.parametrize(("rolls_back", "writes"), [(False, 2), (False, 4), (True, 1), (True, 3)])
def test_a_change_killed_at_a_write_leaves_a_champion_and_the_same_call_finishes(
    registry: Registry, register: Register, client: Any, rolls_back: bool, writes: int
) -> None:
    name = f"killed-{rolls_back}-{writes}"
    old, new = several(register, name, 2)
    move(registry, name, old)

    def change() -> None:
        if rolls_back:
            assert registry.roll_back(name, CHAMPION, PREVIOUS).back.version == old
        else:
            move(registry, name, new, forced="um motivo")

    if rolls_back:
        move(registry, name, new)
    with pytest.MonkeyPatch.context() as patch, pytest.raises(KeyboardInterrupt):
        dying(registry._client, patch, writes)
        change()
    # The alias moves with the third write of a rollback, and with the fourth of a promotion.
    moved = writes > 2 if rolls_back else writes > 3
    assert aliases(client, name)[CHAMPION] == (new if moved is not rolls_back else old)
    if not (rolls_back and moved):
        change()
    assert aliases(client, name)[CHAMPION] == (old if rolls_back else new)
    if rolls_back:
        assert registry.version(name, new).rolled_back_at is not None
    else:
        assert aliases(client, name)[PREVIOUS] == old
        assert registry.version(name, new).promoted_at is not None
