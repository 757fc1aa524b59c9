"""The choice of the checkpoint: the best of those validated, kept whole, and its state survives a checkpoint."""

import json
import math
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from safetensors.torch import load_file

from tasks.commerce import registry
from tasks.commerce.sql_qa.sandbox import Databases
from tasks.policy.generate import Completion, StopReason
from tasks.train.resume.adapter_files import CONFIG_FILE, WEIGHTS_FILE
from tasks.train.watch import validation
from tasks.train.watch.alarms import Validation
from tasks.train.watch.validation import CHOSEN_FILE, Selection, validate
from tests.tasks.train.small_training import prompt_rows

NO_DATABASES = Databases(())


class Adapter(torch.nn.Module):
    """Stands for a policy: its adapter is one number, and its base is none."""

    def __init__(self, value: float) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.tensor([value]))
        self.base = torch.nn.Parameter(torch.full((2,), math.nan), requires_grad=False)


@pytest.fixture(autouse=True)
def adapter_of_one_number(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(validation, "adapter_weights", lambda model: {"weight": model.weight.detach().clone()})


def _train(selection: Selection, steps: range, last: int) -> int:
    """Walk through the steps as the Trainer does, and return the one after which it stopped."""
    control = SimpleNamespace(should_training_stop=False)
    model = Adapter(0.0)
    selection.on_train_begin(None, SimpleNamespace(global_step=steps.start - 1), control, model=model)
    for step in steps:
        # In place, as an optimizer does.
        model.weight.data.fill_(step)
        selection.on_step_end(None, SimpleNamespace(global_step=step, max_steps=last), control, model=model)
        if control.should_training_stop:
            return step
    return steps.stop - 1


def _selection(rewards: dict[int, float], patience: int = 2) -> Selection:
    def score(step: int) -> Validation:
        return Validation(
            step=step,
            mean_reward=rewards[step],
            by_task={"push": rewards[step]},
            # What is not chosen by: it says the opposite.
            ground_truth={"push": {"all_kept": 1 - rewards[step]}},
        )

    return Selection(score, every=2, patience=patience)


def _step_of_the_best(selection: Selection, folder: Path) -> float:
    """Write the best adapter, and read it as somebody does who finds the folder."""
    selection.write_best(folder, {"r": 4})
    assert json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8")) == {"r": 4}
    weight: float = load_file(folder / WEIGHTS_FILE)["weight"].item()
    assert weight == json.loads((folder / CHOSEN_FILE).read_text(encoding="utf-8"))["step"]
    return weight


@pytest.mark.parametrize(("at_start", "best"), [(0.2, 4), (0.6, 0)])
def test_the_best_step_is_kept_though_it_is_the_start(at_start: float, best: int, tmp_path: Path) -> None:
    """A training that never rose above its start gave its least bad step to the evaluation."""
    selection = _selection({0: at_start, 2: 0.3, 4: 0.6, 6: 0.5}, patience=3)
    assert _train(selection, range(1, 7), 6) == 6
    assert _step_of_the_best(selection, tmp_path) == best


def test_training_stops_when_patience_runs_out(tmp_path: Path) -> None:
    selection = _selection({0: 0.1, 2: 0.6, 4: 0.5, 6: 0.6, 8: 0.9})
    assert _train(selection, range(1, 9), 8) == 6
    assert selection.exhausted
    assert _step_of_the_best(selection, tmp_path) == 2
    # A better step gives all of the patience back.
    better = _selection({0: 0.1, 2: 0.3, 4: 0.2, 6: 0.5, 8: 0.4})
    assert _train(better, range(1, 9), 8) == 8
    assert not better.exhausted


def test_reward_and_ground_truth_are_of_each_task_and_the_tasks_count_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    # Three times as many pushes, all left unanswered; every polarity right but one.
    rows = prompt_rows("push", each=6) + prompt_rows("sentiment", each=2)
    texts = [""] * 6 + ['{"polarity": "positive", "score": 5}', '{"polarity": "negative", "score": 1}']
    completions = [Completion(text, 3, StopReason.END_OF_TURN) for text in texts]
    asked: dict[str, Any] = {}

    def generate(model: Any, *_: Any, **named: Any) -> list[Completion]:
        asked.update(named, training=model.training)
        return completions

    monkeypatch.setattr(validation, "generate", generate)
    model = torch.nn.Linear(1, 1).train()
    settings: dict[str, Any] = {"step": 40, "temperature": 0.1, "max_tokens": 8, "batch_size": 4, "seed": 7}
    found = validate(model, None, rows, NO_DATABASES, "grounded", **settings)
    rewards = [
        registry.score_rollout(completion.as_rollout(row), None).reward
        for row, completion in zip(rows, completions, strict=True)
    ]
    assert rewards[6] == 1.0
    assert found.by_task == {"push": sum(rewards[:6]) / 6, "sentiment": (rewards[6] + rewards[7]) / 2}
    assert found.mean_reward == pytest.approx((found.by_task["push"] + found.by_task["sentiment"]) / 2)
    assert found.ground_truth["sentiment"]["accuracy"] == 0.5
    assert found.ground_truth["push"]["all_kept"] == 0.0
    assert found.variety.keys() == {"push", "sentiment"}
    assert (asked["temperature"], asked["seed"], asked["training"]) == (0.1, 47, False)
    assert model.training
