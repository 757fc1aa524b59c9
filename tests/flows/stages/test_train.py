"""What decides a policy, what only decides how it is made, and which of several may be promoted."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from flows.stages import train as module
from flows.stages.runner import Stage, StageResult, stage_key
from flows.stages.train import key_inputs
from schemas.artifact import ArtifactRecord
from schemas.config.profiles import load_config
from schemas.errors import InputError
from tests.cases import cases_of


@pytest.mark.parametrize(
    ("override", "policy", "checkpoints"),
    cases_of(__file__)["settings_make_another_policy_or_checkpoints"],
)
def test_settings_make_another_policy_or_checkpoints_only_where_they_decide(
    override: str, policy: str, checkpoints: str
) -> None:
    before, after = load_config("local"), load_config("local", [override])
    assert (key_inputs(before, 42) == key_inputs(after, 42)) is (policy == "same")
    assert (key_inputs(before, 42, of_checkpoints=True) == key_inputs(after, 42, of_checkpoints=True)) is (
        checkpoints == "same"
    )
    assert key_inputs(before, 42) != key_inputs(before, 43)


def test_checkpoints_of_another_sampler_are_left_alone() -> None:
    """Between two updates of a batch they hold vLLM's probabilities, or hold none: a KeyError after the change."""
    config, without = load_config("l4-next"), load_config("l4-next", ["train.vllm.enabled=false"])
    assert config.train.vllm.enabled
    assert key_inputs(config, 42, of_checkpoints=True) != key_inputs(without, 42, of_checkpoints=True)
    unguided, guided = load_config("local", ["train.guided=none"]), load_config("local")
    assert key_inputs(unguided, 42, of_checkpoints=True) != key_inputs(guided, 42, of_checkpoints=True)


def _stage(name: str, cache_name: str | None) -> Stage:
    return Stage(name, "policy", ("schemas",), "config", {}, lambda *_: None, lambda _: {}, cache_name=cache_name)


def test_a_seed_has_the_same_key_alone_as_among_others() -> None:
    alone = _stage(module.stage_name(42, [42]), module.STAGE)
    among = _stage(module.stage_name(42, [42, 123]), module.STAGE)
    assert (alone.name, among.name) == ("train", "train-seed42")
    assert among.key == alone.key == stage_key(module.STAGE, ("schemas",), "config", {})
    assert _stage(among.name, None).key != among.key


def _policy(folder: Path, rewards: dict[int, float], chosen: int) -> StageResult:
    validation = [{"step": step, "mean_reward": reward} for step, reward in rewards.items()]
    folder.mkdir()
    summary: dict[str, Any] = {"validation": validation, "chosen_step": chosen}
    (folder / "training.json").write_text(json.dumps(summary), encoding="utf-8")
    record = ArtifactRecord(
        kind="policy",
        sha256=folder.name,
        files={},
        stage="train",
        code_version="",
        config_digest="",
        inputs={},
        created_at=datetime.now(UTC),
        machine="",
    )
    return StageResult(record, folder, 1.0, reused=False)


def test_the_policy_with_the_best_validation_at_its_chosen_step_may_be_promoted(tmp_path: Path) -> None:
    policies = {
        42: _policy(tmp_path / "a", {0: 0.1, 10: 0.6, 20: 0.5}, 10),
        123: _policy(tmp_path / "b", {0: 0.1, 10: 0.7, 20: 0.2}, 10),
        # Its best validation was not chosen, so it does not count.
        456: _policy(tmp_path / "c", {0: 0.9, 10: 0.3, 20: 0.1}, 10),
    }
    assert module.best_seed(policies) == 123
    assert module.best_seed({seed: policies[seed] for seed in (456, 42)}) == 42
    # Of equal ones the first.
    assert module.best_seed({7: policies[42], 42: policies[42]}) == 7


def test_files_of_an_earlier_process_are_removed_but_for_its_checkpoints(tmp_path: Path) -> None:
    checkpoint = tmp_path / "checkpoints" / "checkpoint-00000002-00000001" / "manifest.json"
    for file in (checkpoint, tmp_path / "work" / "rollouts" / "a.parquet", tmp_path / "grpo.log"):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    module._remove_all_but_checkpoints(tmp_path)
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [checkpoint]
    assert [path.name for path in tmp_path.iterdir()] == ["checkpoints"]
    module._remove_all_but_checkpoints(tmp_path / "absent")


class Store:
    """Stands for the stage's run in MLflow: takes nothing so many times."""

    def __init__(self, failures: int) -> None:
        self.failures, self.steps = failures, list[int]()

    def log_steps(self, steps: Any) -> None:
        if steps and self.failures:
            self.failures -= 1
            raise RuntimeError("database is locked")
        self.steps += [step for step, _ in steps]


def test_metrics_that_mlflow_does_not_take_are_kept_in_order_and_said_once(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "SECONDS_BETWEEN_TRIES", 0.0)
    run: Any = Store(failures=2)
    with module.step_log(run, "train-seed5") as log_step:
        for step in (1, 2, 3):
            log_step(step, {})
        assert run.steps == [1, 2, 3]
        monkeypatch.setattr(module, "SECONDS_BETWEEN_TRIES", 600.0)
        run.failures = 1
        for step in (4, 5):
            log_step(step, {})
        assert run.steps == [1, 2, 3]
    assert run.steps == [1, 2, 3, 4, 5]
    assert capsys.readouterr().err.count("MLflow cannot record metrics now (database is locked)") == 1


def test_metrics_that_mlflow_never_takes_fail_the_stage_but_hide_no_other_failure(
    capsys: pytest.CaptureFixture[str],
) -> None:
    run: Any = Store(failures=10**9)
    with pytest.raises(RuntimeError, match="database is locked"), module.step_log(run, "train") as log_step:
        log_step(1, {})
    with pytest.raises(InputError, match="out of memory"), module.step_log(run, "train") as log_step:
        log_step(1, {})
        raise InputError("out of memory")
    assert "MLflow could not record the last metrics: database is locked" in " ".join(capsys.readouterr().err.split())
