"""The choice of the checkpoint: the best of those validated, kept whole, and its state survives a checkpoint."""

import json
import math
import shutil
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from schemas.prompts import PromptRow
from tasks.commerce import registry
from tasks.commerce.sandbox import Databases
from tasks.policy.generate import Completion, StopReason
from tasks.train import validation
from tasks.train.validation import BEST_FOLDER, CHOSEN_FILE, Selection, Validation, validate
from tests.tasks.train.small_training import prompt_rows, tiny_policy


class Killed(BaseException):
    """Stands for the end of the process."""


class Adapter:
    """Stands for a policy: it is all that it writes."""

    def __init__(self, weights: str, value: float = 0.0) -> None:
        self._weights = weights
        self._value = value

    def parameters(self) -> list[torch.Tensor]:
        return [torch.full((2,), math.nan), torch.tensor([self._value], requires_grad=True)]

    def save_pretrained(self, folder: Path) -> None:
        folder.mkdir()
        (folder / "weights").write_text(self._weights, encoding="utf-8")


def _train(selection: Selection, steps: range, last: int) -> int:
    """Walk through the steps as the Trainer does, and return the one after which it stopped."""
    control = SimpleNamespace(should_training_stop=False)
    selection.on_train_begin(None, SimpleNamespace(global_step=steps.start - 1), control)
    for step in steps:
        state = SimpleNamespace(global_step=step, max_steps=last)
        selection.on_step_end(None, state, control, model=Adapter(f"step {step}"))
        if control.should_training_stop:
            return step
    return steps.stop - 1


def _selection(rewards: dict[int, float], folder: Path, patience: int = 2) -> Selection:
    folder.mkdir(exist_ok=True)

    def score(step: int) -> Validation:
        return Validation(
            step=step,
            mean_reward=rewards[step],
            by_task={"push": rewards[step]},
            # What is not chosen by: it says the opposite.
            ground_truth={"push": {"all_kept": 1 - rewards[step]}},
        )

    return Selection(score, folder, every=2, patience=patience)


def _weights(selection: Selection) -> str:
    return (selection.best_adapter / "weights").read_text(encoding="utf-8")


def test_the_best_step_is_kept_not_the_last(tmp_path: Path) -> None:
    selection = _selection({0: 0.9, 2: 0.3, 4: 0.6, 6: 0.5}, tmp_path / "work")
    assert _train(selection, range(1, 7), 6) == 6
    assert selection.best is not None
    assert selection.best.step == 4
    assert _weights(selection) == "step 4"


def test_step_0_is_in_the_curve_and_never_chosen(tmp_path: Path) -> None:
    selection = _selection({0: 0.9, 2: 0.1}, tmp_path / "work")
    _train(selection, range(1, 3), 2)
    assert [validation.step for validation in selection.history] == [0, 2]
    assert _weights(selection) == "step 2"


def test_training_stops_when_patience_runs_out(tmp_path: Path) -> None:
    selection = _selection({0: 0.1, 2: 0.6, 4: 0.5, 6: 0.6, 8: 0.9}, tmp_path / "work")
    assert _train(selection, range(1, 9), 8) == 6
    assert selection.exhausted
    assert _weights(selection) == "step 2"


def test_weights_that_are_no_numbers_are_not_validated(tmp_path: Path) -> None:
    """Nothing can be sampled from them: the alarm must come first, and not an exception."""
    selection = _selection({0: 0.1}, tmp_path / "work")
    selection.on_train_begin(None, SimpleNamespace(global_step=0), SimpleNamespace())
    state = SimpleNamespace(global_step=2, max_steps=4)
    selection.on_step_end(None, state, SimpleNamespace(), model=Adapter("broken", math.inf))
    assert [each.step for each in selection.history] == [0]
    assert not selection.best_adapter.exists()


def test_the_last_step_is_evaluated_wherever_it_falls(tmp_path: Path) -> None:
    selection = _selection({0: 0.1, 2: 0.2, 3: 0.4}, tmp_path / "work")
    _train(selection, range(1, 4), 3)
    assert _weights(selection) == "step 3"


@pytest.mark.parametrize("cut", [1, 2, 3, 5])
def test_resumed_equals_uninterrupted(cut: int, tmp_path: Path) -> None:
    rewards = {0: 0.1, 2: 0.4, 4: 0.3, 6: 0.35, 8: 0.9}
    whole = _selection(rewards, tmp_path / "whole")
    stopped = _train(whole, range(1, 9), 8)

    before = _selection(rewards, tmp_path / "before")
    _train(before, range(1, cut + 1), 8)
    (tmp_path / "checkpoint").mkdir()
    before.save(tmp_path / "checkpoint")
    after = _selection(rewards, tmp_path / "after")
    after.restore(tmp_path / "checkpoint")

    assert _train(after, range(cut + 1, 9), 8) == stopped
    assert after.history == whole.history
    assert after.best == whole.best
    assert _weights(after) == _weights(whole)


def _best(folder: Path) -> tuple[str, dict[str, Any]]:
    """Read the best checkpoint as somebody does who finds the folder."""
    best = folder / BEST_FOLDER
    return (best / "weights").read_text(encoding="utf-8"), json.loads((best / CHOSEN_FILE).read_text(encoding="utf-8"))


def test_the_best_checkpoint_has_the_step_and_the_scores_that_it_was_chosen_by(tmp_path: Path) -> None:
    _train(_selection({0: 0.9, 2: 0.3, 4: 0.6, 6: 0.5}, tmp_path / "work"), range(1, 7), 6)
    assert _best(tmp_path / "work") == (
        "step 4",
        {"step": 4, "mean_reward": 0.6, "by_task": {"push": 0.6}, "ground_truth": {"push": {"all_kept": 0.4}}},
    )


@pytest.mark.parametrize(
    ("dies_in", "step"),
    [
        ((Adapter, "save_pretrained"), 2),
        ((validation, "_make_neutral"), 2),
        ((Path, "write_text"), 2),
        ((Path, "symlink_to"), 2),
        ((Path, "replace"), 2),
        # The new one is there, and what is left is to remove the old one.
        ((shutil, "rmtree"), 4),
    ],
)
def test_a_kill_at_any_moment_leaves_a_whole_best_checkpoint(
    dies_in: tuple[Any, str], step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    selection = _selection({0: 0.1, 2: 0.3, 4: 0.6, 6: 0.9}, tmp_path / "work")
    _train(selection, range(1, 4), 8)

    def die(*_: Any, **named: Any) -> None:
        if not named.get("ignore_errors"):
            raise Killed

    with monkeypatch.context() as patched, pytest.raises(Killed):
        patched.setattr(*dies_in, die)
        _train(selection, range(4, 5), 8)
    weights, chosen = _best(tmp_path / "work")
    assert (weights, chosen["step"]) == (f"step {step}", step)
    # And whoever goes on in that folder is not disturbed by what was left there.
    after = _selection({0: 0.1, 2: 0.3, 4: 0.6, 6: 0.9}, tmp_path / "work")
    _train(after, range(1, 7), 8)
    assert _best(tmp_path / "work")[0] == "step 6"
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == [BEST_FOLDER, f"{BEST_FOLDER}-000006"]


def _answering(monkeypatch: pytest.MonkeyPatch, answer: Any) -> dict[str, Any]:
    """Let the policy answer each row as told, and return what generation was asked for."""
    asked: dict[str, Any] = {}

    def generate(model: Any, tokenizer: Any, conversations: Sequence[Any], **named: Any) -> list[Completion]:
        asked.update(named, training=model.training, conversations=conversations)
        return [Completion(answer(place), 3, StopReason.END_OF_TURN) for place in range(len(conversations))]

    monkeypatch.setattr(validation, "generate", generate)
    return asked


def _validate(model: Any, rows: list[PromptRow], tokenizer: Any = None) -> Validation:
    return validate(
        model,
        tokenizer,
        rows,
        Databases(()),
        "grounded",
        step=40,
        temperature=0.1,
        max_tokens=8,
        batch_size=4,
        seed=7,
    )


def test_reward_and_ground_truth_are_of_each_task_and_the_tasks_count_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    # Three times as many pushes, all left unanswered; every polarity right but one.
    rows = prompt_rows("push", each=6) + prompt_rows("sentiment", each=2)
    texts = [""] * 6 + ['{"polarity": "positive", "score": 5}', '{"polarity": "negative", "score": 1}']
    asked = _answering(monkeypatch, lambda place: texts[place])
    model = torch.nn.Linear(1, 1).train()
    found = _validate(model, rows)
    rewards = [
        registry.score_rollout(Completion(text, 3, StopReason.END_OF_TURN).as_rollout(row), None).reward
        for row, text in zip(rows, texts, strict=True)
    ]
    assert rewards[6] == 1.0
    assert found.by_task == {"push": sum(rewards[:6]) / 6, "sentiment": (rewards[6] + rewards[7]) / 2}
    assert found.mean_reward == pytest.approx((found.by_task["push"] + found.by_task["sentiment"]) / 2)
    assert found.ground_truth["sentiment"]["accuracy"] == 0.5
    assert found.ground_truth["push"]["all_kept"] == 0.0
    assert (asked["temperature"], asked["seed"], asked["training"]) == (0.1, 47, False)
    assert model.training


@pytest.mark.parametrize("training", [True, False])
def test_a_real_policy_is_validated_without_a_trace(training: bool) -> None:
    model, tokenizer = tiny_policy()
    model.train(training)
    before = torch.random.get_rng_state()
    rows = prompt_rows(each=3)
    first, again = _validate(model, rows, tokenizer), _validate(model, rows, tokenizer)
    assert first == again
    assert list(first.by_task) == ["push", "sentiment"]
    assert torch.equal(torch.random.get_rng_state(), before)
    assert model.training is training
