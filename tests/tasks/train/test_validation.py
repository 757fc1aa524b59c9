"""The choice of the checkpoint: the best of those evaluated, kept whole, and its state survives a checkpoint."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from tasks.train.validation import Selection


class Adapter:
    """Stands for a policy: it is all that it writes."""

    def __init__(self, weights: str) -> None:
        self._weights = weights

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
    return Selection(lambda step: {"push": rewards[step], "churn": rewards[step]}, folder, every=2, patience=patience)


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
