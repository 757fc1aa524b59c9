"""A training that has ended is not run again; one that was stopped starts again, alone."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.scaling import trainings
from benchmarks.scaling.trainings import OURS, STOCK, Outcome, outcome_of
from schemas.config.train import TrainConfig
from schemas.errors import InputError, Interrupted
from tasks.train.request import TrainRequest


@pytest.fixture
def request_of(tmp_path: Path) -> Callable[..., TrainRequest]:
    def made(seed: int = 1, **recipe: Any) -> TrainRequest:
        names: dict[str, Any] = {
            name: tmp_path / name / "content" for name in ("base", "dataset", "store", "audit", "output")
        }
        return TrainRequest.model_construct(config=TrainConfig(**recipe), seed=seed, base_sha256="ab", **names)

    return made


class Child:
    """Stands in for the training's process."""

    def __init__(self, drawn_by: str = "ours") -> None:
        self.ran = 0
        self.drawn_by = drawn_by
        self.stopped = False

    def __call__(
        self,
        module: str,
        request: TrainRequest,
        folder: Path,
        *,
        metrics: Callable[[int, Mapping[str, float]], None],
        **_: Any,
    ) -> None:
        self.ran += 1
        assert not folder.exists()
        request.output.mkdir(parents=True)
        if self.stopped:
            raise Interrupted("stopped")
        for step in (1, 2):
            metrics(step, {})
        validation = [{"step": step, "mean_reward": 0.25 * step} for step in (0, 2)]
        summary = {"rollouts_drawn_by": self.drawn_by, "validation": validation}
        (request.output / "training.json").write_text(json.dumps(summary), encoding="utf-8")


def test_a_finished_training_is_kept_for_its_seed_and_recipe(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request_of: Callable[..., TrainRequest]
) -> None:
    child = Child()
    monkeypatch.setattr(trainings, "run_child", child)
    first = outcome_of(OURS, request_of(), tmp_path)
    assert (first.before, [(point.step, point.reward) for point in first.curve]) == (0.0, [(2, 0.5)])
    assert outcome_of(OURS, request_of(), tmp_path) == first
    assert child.ran == 1
    outcome_of(OURS, request_of(2), tmp_path)
    outcome_of(OURS, request_of(max_steps=9), tmp_path)
    assert child.ran == 3


def test_one_that_was_stopped_leaves_nothing_and_starts_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request_of: Callable[..., TrainRequest]
) -> None:
    child = Child()
    monkeypatch.setattr(trainings, "run_child", child)
    child.stopped = True
    with pytest.raises(Interrupted):
        outcome_of(OURS, request_of(), tmp_path)
    child.stopped = False
    assert isinstance(outcome_of(OURS, request_of(), tmp_path), Outcome)
    assert child.ran == 2


def test_rollouts_of_the_wrong_engine_are_no_outcome(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request_of: Callable[..., TrainRequest]
) -> None:
    monkeypatch.setattr(trainings, "run_child", Child("ours"))
    with pytest.raises(InputError, match="ours drew the rollouts of stock, where transformers is to draw"):
        outcome_of(STOCK, request_of(), tmp_path)
    assert not list(tmp_path.glob("*.json"))
